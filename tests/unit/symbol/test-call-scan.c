// SPDX-License-Identifier: GPL-2.0-or-later
/* Callers of code without unwind tables. */
#include "test.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/call_scan.h"
#include "symbol/symbolizer.h"

#if defined(__aarch64__)
#define CALL	   "bl "
#define CALL_BY	   "blr x0"
#define OF_LIBRARY "getpid"
#else
#define CALL	   "call "
#define CALL_BY	   "call *%rax"
#define OF_LIBRARY "getpid@PLT"
#endif

/* A function that calls, without unwind tables, and where that returns to. */
#define CALLER(name, call)                                                                         \
	".type " #name ", %function\n" #name ": nop; nop; nop; nop\n" call "\n"                    \
	".globl after_" #name "\n"                                                                 \
	"after_" #name ": nop; nop; nop; nop\n"                                                    \
	".size " #name ", . - " #name "\n"

__asm__(".pushsection dwell_calls, \"ax\", %progbits\n"
	".globl is_called\n" CALLER(is_called, "nop") CALLER(calls_it, CALL "is_called")
		CALLER(by_pointer, CALL_BY) CALLER(calls_by_pointer, CALL "by_pointer")
			CALLER(of_unknown, CALL_BY) CALLER(calls_library, CALL OF_LIBRARY)
				CALLER(other, CALL "of_unknown") ".popsection\n");

extern const char is_called[], after_calls_it[], after_by_pointer[], after_calls_by_pointer[],
	after_of_unknown[], after_calls_library[], after_other[];

#define STACK 0x7000000000ULL

static struct symbolizer *symbolizer;
static call_site_read read_all;

/* As of a process that has ended: its files alone. */
static size_t read_files(void *data, uint64_t address, void *into, size_t bytes)
{
	return symbolizer_mapping(symbolizer, address) ? read_all(data, address, into, bytes) : 0;
}

/* Which of the words, up to NULL, a function's return address is; -1: none is sure. */
static int scan(uintptr_t function, bool has_ended, const char *const *words)
{
	struct code_view code = symbolizer_code(symbolizer);
	struct code_calls calls = {.room = 0};
	uint64_t memory[8] = {0};
	unsigned int left = CALL_SCAN_WORDS;
	struct call_scan scan = {.address = function,
				 .stack = STACK,
				 .memory = (const uint8_t *)memory,
				 .memory_start = STACK,
				 .memory_bytes = sizeof(memory),
				 .left = &left};
	struct frame_rule rule;
	bool found;

	for (size_t i = 0; words[i]; i++)
		memory[i] = (uint64_t)(uintptr_t)words[i];
	read_all = code.read;
	if (has_ended)
		code.read = read_files;
	code.calls = &calls;
	found = call_scan(&code, &scan, &rule);
	code_calls_release(&calls);
	return found ? rule.cfa_offset / (int)sizeof(*memory) - 1 : -1;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static int attach(__attribute__((unused)) void **state)
{
	symbolizer = symbolizer_new(NULL);
	return symbolizer_attach(symbolizer, (uint32_t)getpid(), 0);
}

static int detach(__attribute__((unused)) void **state)
{
	symbolizer_free(symbolizer);
	return 0;
}

CASE(the_word_that_the_call_has_left)
{
	uintptr_t at = (uintptr_t)is_called;

	assert_int_equal(scan(at, false, WORDS(after_calls_it)), 0);
	/* others are left of calls that have returned */
	assert_int_equal(scan(at, false, WORDS(after_other, after_of_unknown, after_calls_it)), 2);
	assert_int_equal(scan(at, false, WORDS(after_other)), -1);
}

CASE(calls_by_pointer_are_confirmed_by_their_callers)
{
	uintptr_t at = (uintptr_t)is_called;

	assert_int_equal(scan(at, false, WORDS(after_by_pointer, after_calls_by_pointer)), 0);
	assert_int_equal(
		scan(at, false, WORDS(after_other, after_by_pointer, after_calls_by_pointer)), 1);
	assert_int_equal(scan(at, false, WORDS(after_by_pointer)), -1);
}

/* The first one may be the caller, too. */
CASE(no_call_by_pointer_is_taken_beyond_one_that_is_not_confirmed)
{
	uintptr_t at = (uintptr_t)is_called;

	assert_int_equal(
		scan(at, false, WORDS(after_of_unknown, after_by_pointer, after_calls_by_pointer)),
		-1);
}

CASE(entries_of_a_linkage_table_lead_where_memory_says)
{
	uintptr_t at = (uintptr_t)getpid;

	assert_int_equal(scan(at, false, WORDS(after_calls_library)), 0);
	assert_int_equal(scan((uintptr_t)is_called, false,
			      WORDS(after_calls_library, after_by_pointer, after_calls_by_pointer)),
			 1);
}

CASE(entries_of_a_linkage_table_lead_where_their_names_say_after_the_end)
{
	uintptr_t at = (uintptr_t)getpid;

	assert_int_equal(scan(at, true, WORDS(after_calls_library)), 0);
	/* another function of that file */
	assert_int_equal(scan((uintptr_t)getpagesize, true,
			      WORDS(after_calls_library, after_by_pointer, after_calls_by_pointer)),
			 1);
	/* one of another file may jump on to it */
	assert_int_equal(scan((uintptr_t)is_called, true,
			      WORDS(after_calls_library, after_by_pointer, after_calls_by_pointer)),
			 -1);
	assert_int_equal(
		scan((uintptr_t)is_called, true, WORDS(after_calls_library, after_calls_it)), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_word_that_the_call_has_left),
		cmocka_unit_test(calls_by_pointer_are_confirmed_by_their_callers),
		cmocka_unit_test(no_call_by_pointer_is_taken_beyond_one_that_is_not_confirmed),
		cmocka_unit_test(entries_of_a_linkage_table_lead_where_memory_says),
		cmocka_unit_test(
			entries_of_a_linkage_table_lead_where_their_names_say_after_the_end),
	};

	return cmocka_run_group_tests(tests, attach, detach);
}
