/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of small files that the kernel writes. */
#ifndef DWELL_BASE_KERNEL_TEXT_H
#define DWELL_BASE_KERNEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first line of a file, without its end. False, and "": it cannot be read. */
bool kernel_line(const char *path, char *into, size_t room);

/* Of /proc/PID/status, also of a thread, what is behind "KEY:". False, and "": there is none. */
bool kernel_status(uint32_t pid, const char *key, char *into, size_t room);

#endif
