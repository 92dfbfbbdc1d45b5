// SPDX-License-Identifier: GPL-2.0-or-later
/* Names as people write them, and parameters of work. */
#include "test.h"

#include <errno.h>
#include <math.h>

#include "base/duration.h"
#include "base/similar.h"
#include "load/spec.h"

CASE(names_are_compared_kindly)
{
	assert_true(similar_same("FutexPingPong", "futex-ping-pong"));
	assert_true(similar_same("futex_ping_pong", "futex-ping-pong"));
	assert_true(similar_same("", "-_"));
	assert_true(similar_same("-", ""));
	assert_true(similar_same("a-", "-A"));
	assert_false(similar_same("ab", "a"));
	assert_false(similar_same("a", "ab"));
	assert_false(similar_same("a b", "ab"));
}

CASE(distances_count_letters)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} known[] = {
		{"", "", 0},	     {"", "abc", 3},
		{"abc", "", 3},	     {"abc", "abc", 0},
		{"abc", "abd", 1},   {"abc", "ac", 1},
		{"abc", "abxc", 1},  {"abcd", "acbd", 1},
		{"ab", "ba", 1},     {"kitten", "sitting", 3},
		{"A-b_C", "abc", 0}, {"ca", "abc", 3},
	};
	char a[200], b[200];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		assert_int_equal(similar_distance(known[i].a, known[i].b), known[i].distance);
		assert_int_equal(similar_distance(known[i].b, known[i].a), known[i].distance);
	}
	/* of long names the beginning counts */
	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	a[199] = b[150] = '\0';
	assert_int_equal(similar_distance(a, b), 0);
	b[62] = 'y';
	assert_int_equal(similar_distance(a, b), 1);
}

CASE(choices_of_a_message_are_guessed)
{
	static const char choices[] = "tui, table, json or csv";
	char guess[16];

	similar_choice(guess, sizeof(guess), "jsn", choices);
	assert_string_equal(guess, "json");
	similar_choice(guess, sizeof(guess), "TABEL", choices);
	assert_string_equal(guess, "table");
	similar_choice(guess, sizeof(guess), "or", choices);
	assert_string_equal(guess, "");
	similar_choice(guess, sizeof(guess), "html", choices);
	assert_string_equal(guess, "");
	similar_choice(guess, sizeof(guess), "", "");
	assert_string_equal(guess, "");
	similar_choice(guess, sizeof(guess), "spin-wiat", "spin-wait futex");
	assert_string_equal(guess, "spin-wait");
}

CASE(guesses_are_near)
{
	struct similar similar = {.wanted = "duratoin"};

	similar_try(&similar, "description");
	assert_null(similar.best);
	similar_try(&similar, "curation");
	similar_try(&similar, "duration");
	assert_string_equal(similar.best, "duration");
	similar_try(&similar, "durations");
	assert_string_equal(similar.best, "duration");
	/* the first of equals */
	similar_try(&similar, "durato1n");
	assert_string_equal(similar.best, "duration");
	similar = (struct similar){.wanted = "xyz"};
	similar_try(&similar, "abc");
	similar_try(&similar, "xab");
	assert_null(similar.best);
}

CASE(what_is_far_away_is_no_guess)
{
	static const struct {
		const char *wanted, *choices, *guess;
	} cases[] = {
		{"foo", "auto, dark, light or mono", ""},
		{"foo", "auto, tokio, jvm, loop", ""},
		{"tcsh", "bash, zsh or fish", ""},
		{"zhs", "bash, zsh or fish", "zsh"},
		{"drak", "auto, dark, light or mono", "dark"},
		{"tok", "tokio, loop", "tokio"},
		{"funktoin", "function, file", "function"},
		{"fumktoin", "function, file", ""},
	};
	char guess[16];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		similar_choice(guess, sizeof(guess), cases[i].wanted, cases[i].choices);
		assert_string_equal(guess, cases[i].guess);
	}
}

struct things {
	uint64_t count, wait, pause, bytes, kind;
	double share;
	char *text, *other;
};

static const char *const kinds[] = {"plain", "inherits-priority", NULL};

static const struct param params[] = {
	PARAM(struct things, count, COUNT, "7", 2, 10, ""),
	PARAM(struct things, wait, DURATION, "1500us", 1000, 2 * NS_PER_S, ""),
	PARAM(struct things, pause, DURATION, "0", 0, 0, ""),
	PARAM(struct things, bytes, SIZE, "32K", 4096, 1 << 20, ""),
	PARAM(struct things, share, SHARE, "0.8", 0, 0, ""),
	{.name = "kind",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct things, kind),
	 .initial = "plain",
	 .choices = kinds},
	PARAM(struct things, text, TEXT, "hello", 0, 0, ""),
	PARAM(struct things, other, TEXT, NULL, 0, 0, ""),
	{.name = NULL},
};

CASE(parameters_have_initial_values)
{
	struct things things = {0};

	assert_int_equal(params_init(params, &things), 0);
	assert_int_equal(things.count, 7);
	assert_int_equal(things.wait, 1500000);
	assert_int_equal(things.pause, 0);
	assert_int_equal(things.bytes, 32768);
	assert_int_equal(things.kind, 0);
	assert_true(things.share == 0.8);
	assert_string_equal(things.text, "hello");
	assert_null(things.other);
	params_release(params, &things);
	assert_null(things.text);
	params_release(params, &things);
	assert_int_equal(params_init(NULL, &things), 0);
	params_release(NULL, &things);
	assert_null(params_find(NULL, "count"));
	assert_ptr_equal(params_find(params, "Co_Unt"), &params[0]);
	assert_null(params_find(params, "counts"));
}

CASE(parameters_are_set_within_their_limits)
{
	static const struct {
		const char *name, *text, *message;
	} bad[] = {
		{"count", "1", "count: 1 is too small; at least 2"},
		{"count", "11", "count: 11 is too large; at most 10"},
		{"count", "", "count: '' is not a whole number"},
		{"count", "-3", "count: '-3' is not a whole number"},
		{"count", "+3", "count: '+3' is not a whole number"},
		{"count", " 3", "count: ' 3' is not a whole number"},
		{"count", "3x", "count: '3x' is not a whole number"},
		{"count", "18446744073709551618",
		 "count: '18446744073709551618' is not a whole number"},
		{"wait", "999ns", "wait: 999ns is too small; at least 1us"},
		{"wait", "3s", "wait: 3s is too large; at most 2.00s"},
		{"wait", "5x",
		 "wait: bad duration '5x': use a number and a unit, as 200us, 5ms or 1.5s"},
		{"wait", "0", "wait: duration '0' must be more than zero"},
		{"bytes", "1K", "bytes: 1K is too small; at least 4.0 KiB"},
		{"bytes", "2M", "bytes: 2M is too large; at most 1.0 MiB"},
		{"bytes", "4k", "bytes: bad size '4k': use a number, as 4096, 64K or 16M"},
		{"share", "1.1", "share: '1.1' is not a share: use 0 to 1, or a percentage"},
		{"share", "-0.1", "share: '-0.1' is not a share: use 0 to 1, or a percentage"},
		{"share", "101%", "share: '101%' is not a share: use 0 to 1, or a percentage"},
		{"share", "nan", "share: 'nan' is not a share: use 0 to 1, or a percentage"},
		{"share", "", "share: '' is not a share: use 0 to 1, or a percentage"},
		{"share", "%", "share: '%' is not a share: use 0 to 1, or a percentage"},
		{"kind", "fancy", "kind: unknown 'fancy'; use one of plain, inherits-priority"},
	};
	struct things things = {0}, before;

	assert_int_equal(params_init(params, &things), 0);
	before = things;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error error = {""};

		assert_int_equal(
			param_set(params_find(params, bad[i].name), &things, bad[i].text, &error),
			-EINVAL);
		assert_string_equal(error.text, bad[i].message);
		assert_memory_equal(&things, &before, sizeof(things));
	}
	params_release(params, &things);
}

static const char *written(const char *name, struct things *things, const char *text)
{
	static char shown[64];
	struct output out;
	struct error error = {""};

	if (param_set(params_find(params, name), things, text, &error) < 0)
		fail_msg("%s", error.text);
	assert_int_equal(output_init(&out, -1), 0);
	param_write(&out, params_find(params, name), things);
	output_char(&out, '\0');
	snprintf(shown, sizeof(shown), "%s", out.buffer);
	output_release(&out);
	return shown;
}

CASE(parameters_are_written_as_they_are_read)
{
	static const char *const known[][3] = {
		{"count", "10", "10"},
		{"wait", "1ms", "1ms"},
		{"wait", "1234567ns", "1234567ns"},
		{"wait", "1000001ns", "1000001ns"},
		{"wait", "1.5s", "1500ms"},
		{"wait", "2", "2s"},
		{"pause", "0", "0"},
		{"pause", "250s", "250s"},
		{"pause", "10000h", "36000000s"},
		{"bytes", "4096", "4K"},
		{"bytes", "4097", "4097"},
		{"bytes", "1MiB", "1024K"},
		{"share", "25%", "0.25"},
		{"share", "100%", "1"},
		{"kind", "InheritsPriority", "inherits-priority"},
		{"text", "", ""},
		{"text", "a b", "a b"},
	};
	struct things things = {0};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char again[64];

		assert_string_equal(written(known[i][0], &things, known[i][1]), known[i][2]);
		snprintf(again, sizeof(again), "%s", known[i][2]);
		assert_string_equal(written(known[i][0], &things, again), known[i][2]);
	}
	params_release(params, &things);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(names_are_compared_kindly),
		cmocka_unit_test(distances_count_letters),
		cmocka_unit_test(choices_of_a_message_are_guessed),
		cmocka_unit_test(guesses_are_near),
		cmocka_unit_test(what_is_far_away_is_no_guess),
		cmocka_unit_test(parameters_have_initial_values),
		cmocka_unit_test(parameters_are_set_within_their_limits),
		cmocka_unit_test(parameters_are_written_as_they_are_read),
	};

	return RUN(cases);
}
