// SPDX-License-Identifier: GPL-2.0-or-later
/* When the counters that OpenTelemetry gets began. */
#define _GNU_SOURCE /* memmem */
#include "test.h"

#include <stdbool.h>

#include "base/duration.h"
#include "view/metrics.h"
#include "view/otlp.h"

#define BEGIN_NS (1700000000 * NS_PER_S) /* since 1970 */

static const struct session_info session = {.wire = {.states = ~0U, .metrics = ~0U}};

/* The second that ends at `end_s`, in which processes of these names computed. */
static void add_second(struct counters *counters, uint64_t end_s, const char *const *names,
		       size_t count)
{
	struct row rows[4] = {0};
	struct interval interval = {
		.start_ns = (end_s - 1) * NS_PER_S,
		.end_ns = end_s * NS_PER_S,
		.start_realtime_ns = BEGIN_NS + (end_s - 1) * NS_PER_S,
		.rows = rows,
		.row_count = count,
		.session = &session,
	};

	for (size_t i = 0; i < count; i++) {
		rows[i].tid = (uint32_t)i + 1;
		rows[i].states_ns[STATE_USER] = NS_PER_S;
		snprintf(rows[i].process, sizeof(rows[i].process), "%s", names[i]);
	}
	counters_add(counters, &interval);
}

/* How many points have counts since then. */
static size_t points_since(const struct counters *counters, uint64_t start_ns)
{
	const struct metrics_service service = {0};
	const struct metrics_input input = {counters, &session, &service};
	struct protobuf out = {0};
	uint8_t wanted[9] = {2 << 3 | 1}; /* start_time_unix_nano, 64 bits */
	const uint8_t *at;
	size_t found = 0;

	for (size_t i = 0; i < 8; i++)
		wanted[1 + i] = (uint8_t)(start_ns >> 8 * i);
	otlp_put(&out, &input, NULL, 0);
	assert_false(out.failed);
	at = out.bytes;
	while ((at = memmem(at, out.used - (size_t)(at - out.bytes), wanted, sizeof(wanted)))) {
		found++;
		at += sizeof(wanted);
	}
	free(out.bytes);
	return found;
}

CASE(a_group_that_was_forgotten_begins_when_it_is_back)
{
	static const char *const names[] = {"stays", "leaves"};
	uint64_t hour = LEADERS_FORGET_NS / NS_PER_S;
	uint64_t back_ns = BEGIN_NS + (2 * hour + 4) * NS_PER_S;
	struct counters counters;
	size_t all, of_group;

	assert_int_equal(counters_init(&counters, BY_PROCESS, 4, 0), 0);
	add_second(&counters, 1, names, 2);
	all = points_since(&counters, BEGIN_NS);
	/* away, and not for so long that it is forgotten */
	add_second(&counters, hour, names, 1);
	add_second(&counters, hour + 1, names, 2);
	assert_int_equal(points_since(&counters, BEGIN_NS), all);
	add_second(&counters, 2 * hour + 1, names, 1);
	of_group = all - points_since(&counters, BEGIN_NS);
	assert_true(of_group > 0);
	add_second(&counters, 2 * hour + 5, names, 2);
	assert_int_equal(points_since(&counters, back_ns), of_group);
	assert_int_equal(points_since(&counters, BEGIN_NS), all - of_group);
	/* and goes on */
	add_second(&counters, 2 * hour + 6, names, 2);
	assert_int_equal(points_since(&counters, back_ns), of_group);
	counters_release(&counters);
}

static void pass_family(void *data, const struct metric_family *family)
{
	(void)data;
	(void)family;
}

static void take_folded(void *data, const struct metric_family *family,
			const struct metric_point *point)
{
	uint64_t *folded = data;

	if (!strcmp(family->name, "dwell_groups_folded"))
		*folded = point->value;
}

CASE(names_of_all_kinds_that_found_no_room_are_counted)
{
	const struct metrics_service service = {0};
	struct counters counters;
	const struct metrics_input input = {&counters, &session, &service};
	uint64_t folded = UINT64_MAX;
	const struct metric_sink sink = {
		.data = &folded, .family = pass_family, .point = take_folded};

	assert_int_equal(counters_init(&counters, BY_PROCESS, 4, 0), 0);
	metrics_walk(&input, &sink);
	assert_int_equal(folded, 0);
	counters.groups.unnamed = 1;
	counters.reasons.unnamed = 20;
	counters.blames.unnamed = 300;
	metrics_walk(&input, &sink);
	assert_int_equal(folded, 321);
	counters_release(&counters);
}

CASE(what_was_taken_without_some_points_says_how_many)
{
	static const struct {
		const char *answer;
		size_t length;
		uint64_t rejected;
		const char *words;
	} answers[] = {
		{"", 0, 0, ""},
		{"\x0a\x00", 2, 0, ""},
		{"\x0a\x04\x12\x02hi", 6, 0, "hi"},
		{"\x0a\x07\x08\xac\x02\x12\x02hi", 9, 300, "hi"},
		/* the message comes first, or its end is missing */
		{"\x0a\x06\x12\x02hi\x08\x07", 8, 7, "hi"},
		{"\x0a\x40\x08\x05\x12\x20hi", 8, 5, "hi"},
		/* of something else, or damaged */
		{"ok", 2, 0, ""},
		{"{\"partialSuccess\":{}}", 21, 0, ""},
		{"\x0a\x03\x08\xff\xff", 5, 0, ""},
		{"\x08\x01", 2, 0, ""},
	};
	char words[16];

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		assert_int_equal(otlp_rejected((const uint8_t *)answers[i].answer,
					       answers[i].length, words, sizeof(words)),
				 answers[i].rejected);
		assert_string_equal(words, answers[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_group_that_was_forgotten_begins_when_it_is_back),
		cmocka_unit_test(names_of_all_kinds_that_found_no_room_are_counted),
		cmocka_unit_test(what_was_taken_without_some_points_says_how_many),
	};

	return RUN(cases);
}
