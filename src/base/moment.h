/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Points in time as people write them: `14:05`, `2026-11-27 14:05:30`, `10m` before the end. */
#ifndef DWELL_BASE_MOMENT_H
#define DWELL_BASE_MOMENT_H

#include <stdint.h>

#include "base/error.h"

enum moment_kind {
	MOMENT_NONE,
	MOMENT_AT,	  /* a date and a time */
	MOMENT_DAILY,	  /* a time of day: the last one that is not after the end */
	MOMENT_DAILY_UTC, /* the same, whose days have no other length */
	MOMENT_BEFORE,	  /* so long before the end */
};

/* All zeros is none. */
struct moment {
	enum moment_kind kind;
	uint64_t ns; /* CLOCK_REALTIME; of a day, without daylight saving; or a length of time */
};

/* Local time, or UTC with a Z behind it, or with an offset, as of `date -Is`. -EINVAL: what it is
 * not. */
int moment_parse(const char *text, struct moment *ret_moment, struct error *error) must_check;

/* CLOCK_REALTIME; 0 for none. */
uint64_t moment_ns(const struct moment *moment, uint64_t end_ns);

#endif
