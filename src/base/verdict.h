/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a judgement ends in. */
#ifndef DWELL_BASE_VERDICT_H
#define DWELL_BASE_VERDICT_H

#include "base/exit_code.h"

/* The worst one wins. */
enum verdict {
	VERDICT_SKIP, /* does not apply: a type without waits has no wakeups to judge */
	VERDICT_PASS,
	VERDICT_INCONCLUSIVE, /* nothing to divide by, too few samples, cut short */
	VERDICT_FAIL,
};

extern const char *const verdict_names[];

/* Of a command that ends in it. */
enum exit_code verdict_exit_code(enum verdict verdict);

#endif
