// SPDX-License-Identifier: GPL-2.0-or-later
/* When the counters that OpenTelemetry gets began. */
#define _GNU_SOURCE /* memmem */
#include "test.h"

#include <stdbool.h>

#include "base/duration.h"
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

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_group_that_was_forgotten_begins_when_it_is_back),
	};

	return RUN(cases);
}
