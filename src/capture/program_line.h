/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process was started as, and for whom. */
#ifndef DWELL_CAPTURE_PROGRAM_LINE_H
#define DWELL_CAPTURE_PROGRAM_LINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * "root  /usr/bin/postgres -D /data": any bytes but NUL, cut where `into` ends. Empty where it is
 * not known, or the process is gone; without arguments for a kernel thread.
 */
void program_line(uint32_t pid, char *into, size_t room);

#endif
