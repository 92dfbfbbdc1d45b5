/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snappy's block format, without frames, as Prometheus' remote write has it:
 * https://github.com/google/snappy/blob/main/format_description.txt. Only packing: a hundred lines,
 * where the library would be another package of C++.
 */
#ifndef DWELL_BASE_SNAPPY_H
#define DWELL_BASE_SNAPPY_H

#include <stddef.h>

#include "base/cleanup.h"

/* At most 2^32 - 1 bytes. The caller frees *ret_packed. 0, -EFBIG or -ENOMEM. */
int snappy_pack(const void *bytes, size_t length, char **ret_packed, size_t *ret_length) must_check;

#endif
