/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bytes for people: "12 B", "3.4 MiB". */
#ifndef DWELL_BASE_SIZE_H
#define DWELL_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* At most 10 bytes with the NUL. */
void size_format(char *into, size_t room, uint64_t bytes);

/* "4096", "64K", "16M", "2GiB": powers of 1024; more than zero. */
int size_parse(const char *text, uint64_t *ret_bytes, struct error *error) must_check;

#endif
