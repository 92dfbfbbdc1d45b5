// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of what a thread does is outside of its loop: capture/span_loops.h. */
#include "test.h"

#include <string.h>

#include "capture/span_loops.h"

#define TID 7

static struct span_loops loops;

/*
 * A letter is a function, the innermost first: a capital one of the program, another of a package,
 * a digit of the language's library.
 */
static struct span_calls calls_of(const char *functions)
{
	struct span_calls calls = {.count = 0};

	for (; functions[calls.count]; calls.count++) {
		char c = functions[calls.count];

		calls.functions[calls.count] = (uint64_t)c;
		calls.ranks[calls.count] = c >= 'A' && c <= 'Z'	  ? SPAN_RANK_PROGRAM
					   : c >= 'a' && c <= 'z' ? SPAN_RANK_PACKAGE
								  : SPAN_RANK_STANDARD;
	}
	return calls;
}

static void note(const char *functions, bool is_answer)
{
	struct span_calls calls = calls_of(functions);

	span_loops_note_wait(&loops, &calls, TID, is_answer);
}

static void waits(const char *functions)
{
	note(functions, false);
}

static bool is_outside_of(const char *functions, uint32_t tid)
{
	struct span_calls calls = calls_of(functions);

	return span_loops_is_outside(&loops, &calls, tid, false);
}

static bool is_outside(const char *functions)
{
	return is_outside_of(functions, TID);
}

static void forget(void)
{
	memset(&loops, 0, sizeof(loops));
}

CASE(a_librarys_loop_calls_handlers)
{
	forget();
	waits("123M");
	assert_false(is_outside("H23M"));
	assert_false(is_outside("hH23M"));
	forget();
	waits("ablM");
	assert_false(is_outside("HdclM"));
}

CASE(a_loop_of_the_programs_own_waits_in_its_own_functions)
{
	forget();
	waits("1PTM");
	assert_false(is_outside("HM"));
	assert_false(is_outside("M"));
	/* or in one that does nothing else */
	forget();
	waits("1M");
	assert_false(is_outside("HM"));
}

CASE(a_program_that_waits_in_a_library_for_an_answer_has_none)
{
	forget();
	waits("1234M");
	assert_true(is_outside("M"));
	assert_true(is_outside("abcdefSTM"));
	forget();
	waits("12paM");
	assert_true(is_outside("SM"));
	/* by a function of its own */
	forget();
	waits("1234FM");
	assert_true(is_outside("SM"));
	/* a package's is as good as the program's */
	forget();
	waits("123pM");
	assert_true(is_outside("spM"));
	assert_true(is_outside("TM"));
}

CASE(what_the_library_does_for_the_call_is_outside_too)
{
	forget();
	waits("1abM");
	assert_false(is_outside("9bM"));
	assert_true(is_outside("SM"));
	assert_true(is_outside("9bM"));
	assert_false(is_outside("H9bM"));
}

CASE(what_the_languages_library_does_by_itself_is_no_handler)
{
	const struct span_calls calls = calls_of("94M");

	forget();
	waits("1234M");
	assert_false(span_loops_is_outside(&loops, &calls, TID, true));
	assert_false(is_outside("H94M"));
	assert_false(is_outside("9h4M"));
	assert_true(is_outside("94M"));
	assert_true(is_outside("4M"));
	/* in a function of the program */
	forget();
	waits("1M");
	assert_false(is_outside("9M"));
}

CASE(a_loop_that_is_run_again_and_again_stays_one)
{
	forget();
	waits("1234M");
	assert_true(is_outside("SM"));
	assert_false(is_outside("H234M"));
	assert_false(span_loops_is_asking(&loops, TID));
}

CASE(stacks_of_greenlets_say_nothing)
{
	forget();
	waits("123h");
	assert_false(is_outside("SG"));
	assert_false(is_outside(""));
}

CASE(each_wait_of_a_thread_has_a_say)
{
	forget();
	waits("1234M");
	waits("1M");
	assert_false(is_outside("SM"));
	/* the last two count */
	waits("1234M");
	waits("1234M");
	assert_true(is_outside("SM"));
}

CASE(nothing_is_known_of_another_thread)
{
	forget();
	waits("1234M");
	assert_false(is_outside_of("SM", TID + 1));
	waits("");
	assert_false(is_outside("SM"));
	assert_false(span_loops_is_asking(&loops, TID));
}

CASE(a_thread_that_only_asks_is_known)
{
	forget();
	note("1M", true);
	assert_true(span_loops_is_asking(&loops, TID));
	assert_false(span_loops_is_asking(&loops, TID + 1));
	waits("1234M");
	assert_false(span_loops_is_asking(&loops, TID));
	/* by its stacks: also of stalls whose own are lost */
	waits("1234M");
	assert_true(is_outside("SM"));
	assert_true(span_loops_is_asking(&loops, TID));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_librarys_loop_calls_handlers),
		cmocka_unit_test(a_loop_of_the_programs_own_waits_in_its_own_functions),
		cmocka_unit_test(a_program_that_waits_in_a_library_for_an_answer_has_none),
		cmocka_unit_test(what_the_library_does_for_the_call_is_outside_too),
		cmocka_unit_test(what_the_languages_library_does_by_itself_is_no_handler),
		cmocka_unit_test(a_loop_that_is_run_again_and_again_stays_one),
		cmocka_unit_test(stacks_of_greenlets_say_nothing),
		cmocka_unit_test(each_wait_of_a_thread_has_a_say),
		cmocka_unit_test(nothing_is_known_of_another_thread),
		cmocka_unit_test(a_thread_that_only_asks_is_known),
	};

	return RUN(cases);
}
