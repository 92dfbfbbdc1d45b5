/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in a function, in the present interval of made-up shares. */
#ifndef DWELL_TESTS_CODE_TIME_H
#define DWELL_TESTS_CODE_TIME_H

#include "test.h"

#include "model/shares.h"

static inline void add_code_time(struct shares *shares, const char *process, enum state state,
				 const char *function, uint64_t ns)
{
	size_t key = shares_code_key(shares, process, state, shares_function(shares, function));
	struct series series = {0};

	series_add_back(&series, &shares->batches, ns);
	assert_int_equal(shares_add_code(shares, key, &series), 0);
}

#endif
