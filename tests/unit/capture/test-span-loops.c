// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of what a thread does is outside of its loop: capture/span_loops.h. */
#include "test.h"

#include <string.h>

#include "capture/span_loops.h"

#define TID 7

static struct span_loops loops;

/* A letter is a function, the innermost first, a capital one of Python; `.`: made at run time. */
static struct span_way way_of(const char *functions)
{
	struct span_way way = {.count = 0};

	for (; functions[way.count]; way.count++) {
		char c = functions[way.count];

		way.functions[way.count] =
			c == '.' ? 0
				 : (uint64_t)c << 2 | 1 |
					   (c >= 'A' && c <= 'Z' ? SPAN_FUNCTION_PYTHON : 0);
	}
	return way;
}

static void note(const char *functions, bool is_answer)
{
	struct span_way way = way_of(functions);

	span_loops_note_wait(&loops, &way, TID, is_answer);
}

static void waits(const char *functions)
{
	note(functions, false);
}

static bool is_outside_of(const char *functions, uint32_t tid)
{
	struct span_way way = way_of(functions);

	return span_loops_is_outside(&loops, &way, tid);
}

static bool is_outside(const char *functions)
{
	return is_outside_of(functions, TID);
}

static void forget(void)
{
	memset(&loops, 0, sizeof(loops));
}

CASE(a_handler_is_in_the_loop)
{
	forget();
	waits("pwum");
	assert_false(is_outside("shdum"));
	assert_false(is_outside("sum"));
}

CASE(what_a_program_does_between_two_calls_is_not)
{
	forget();
	waits("1234567m");
	assert_true(is_outside("sm"));
	assert_true(is_outside("m"));
	/* as far from there as a handler would be */
	forget();
	waits("1234567m");
	assert_false(is_outside("abcdm"));
}

CASE(a_function_that_is_no_loops_stays_none)
{
	forget();
	waits("1234567fm");
	assert_true(is_outside("sfm"));
	assert_true(is_outside("abcdefm"));
	assert_true(is_outside("abcdem"));
	assert_false(is_outside("abc67fm"));
}

CASE(functions_of_python_count_for_more)
{
	forget();
	waits("1ABCDM");
	assert_true(is_outside("sM"));
	forget();
	waits("12345ABM");
	assert_false(is_outside("sABM"));
	forget();
	waits("ABM");
	assert_false(is_outside("sM"));
}

CASE(stacks_of_greenlets_say_nothing)
{
	forget();
	waits("1234567Hm");
	assert_false(is_outside("sGm"));
	assert_true(is_outside("sHm"));
}

CASE(code_made_at_run_time_says_nothing)
{
	forget();
	waits("12..567m");
	assert_false(is_outside("sm"));
	forget();
	waits("1234567.m");
	assert_false(is_outside("s.m"));
}

CASE(each_wait_of_a_thread_has_a_say)
{
	forget();
	waits("1234567m");
	waits("1m");
	assert_false(is_outside("sm"));
	/* the last two count */
	waits("1234567m");
	waits("1234567m");
	assert_true(is_outside("sm"));
}

CASE(nothing_is_known_of_another_thread)
{
	forget();
	waits("1234567m");
	assert_false(is_outside_of("sm", TID + 1));
	waits("");
	assert_false(is_outside("sm"));
	assert_false(span_loops_is_asking(&loops, TID));
}

CASE(a_thread_that_only_asks_is_known)
{
	forget();
	note("1m", true);
	assert_true(span_loops_is_asking(&loops, TID));
	assert_false(span_loops_is_asking(&loops, TID + 1));
	waits("1m");
	assert_false(span_loops_is_asking(&loops, TID));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_handler_is_in_the_loop),
		cmocka_unit_test(what_a_program_does_between_two_calls_is_not),
		cmocka_unit_test(a_function_that_is_no_loops_stays_none),
		cmocka_unit_test(functions_of_python_count_for_more),
		cmocka_unit_test(stacks_of_greenlets_say_nothing),
		cmocka_unit_test(code_made_at_run_time_says_nothing),
		cmocka_unit_test(each_wait_of_a_thread_has_a_say),
		cmocka_unit_test(nothing_is_known_of_another_thread),
		cmocka_unit_test(a_thread_that_only_asks_is_known),
	};

	return RUN(cases);
}
