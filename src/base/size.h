/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes for people: "12 B", "3.4 MiB". */
#ifndef DWELL_BASE_SIZE_H
#define DWELL_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* At most 10 bytes with the NUL. */
void size_format(char *into, size_t room, uint64_t bytes);

#endif
