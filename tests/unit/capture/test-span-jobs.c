// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether a thread of poll() waits in a handler, or for a job: capture/span_jobs.h. */
#include "test.h"

#include "capture/span_jobs.h"

/* A letter is a function, the innermost first. */
static struct span_way way(const char *functions)
{
	struct span_way way = {.count = 0};

	while (functions[way.count]) {
		way.functions[way.count] = (uint64_t)functions[way.count];
		way.count++;
	}
	return way;
}

static bool is_handler(const char *poll, const char *wait)
{
	struct span_way polls = way(poll), waits = way(wait);

	return span_jobs_is_handler(&polls, &waits, 2);
}

CASE(a_handler_waits_far_from_where_the_loop_polls)
{
	assert_true(is_handler("pLM", "whdlM"));
	assert_true(is_handler("LM", "hdlM"));
}

CASE(a_pool_waits_for_jobs_closer_than_it_polls)
{
	assert_false(is_handler("pqjWM", "nwM"));
	assert_false(is_handler("pqjWM", "wM"));
}

CASE(about_as_far_is_no_handler)
{
	assert_false(is_handler("pLM", "hlM"));
	assert_false(is_handler("pLM", "whlM"));
	assert_false(is_handler("LM", "LM"));
}

CASE(what_is_not_known_is_no_handler)
{
	assert_false(is_handler("", "whdlM"));
	assert_false(is_handler("pLM", ""));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_handler_waits_far_from_where_the_loop_polls),
		cmocka_unit_test(a_pool_waits_for_jobs_closer_than_it_polls),
		cmocka_unit_test(about_as_far_is_no_handler),
		cmocka_unit_test(what_is_not_known_is_no_handler),
	};

	return RUN(cases);
}
