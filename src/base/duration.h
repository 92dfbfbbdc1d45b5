/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lengths of time: `5ms`, `1.5s`, `200us`. */
#ifndef DWELL_BASE_DURATION_H
#define DWELL_BASE_DURATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define NS_PER_US 1000ULL
#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/*
 * Reads a decimal number and a unit (ns, us, ms, s, m, h; no unit means seconds). Zero, negative,
 * more than 10,000 hours or finer than a nanosecond: -EINVAL.
 */
int duration_parse(const char *text, uint64_t *ret_ns, struct error *error) must_check;

/* At most 6 columns: `0`, `740ns`, `41us`, `8.1ms`, `2.30s`, `4m10s`, `3h05m`, `9d04h`. */
void duration_format(char *into, size_t room, uint64_t ns);

/* Three digits, at most 6 columns: `740ns`, `2.31us`, `41.2us`, `142us`; from 100 s on as above. */
void duration_format_fine(char *into, size_t room, uint64_t ns);

#endif
