// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <math.h>

#include "model/course.h"

#define MS 1000000ULL

/* Intervals of 100 ms: `count` of them, in which a thread is on a CPU for i / count of the time. */
static void fill(struct course *course, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct row row = {.tid = 1};
		struct interval interval = {.start_ns = i * 100 * MS,
					    .end_ns = (i + 1) * 100 * MS,
					    .start_realtime_ns = (1000 + i) * 100 * MS,
					    .rows = &row,
					    .row_count = 1};

		row.states_ns[STATE_USER] = 100 * MS * i / count;
		row.states_ns[STATE_IDLE] = 100 * MS - row.states_ns[STATE_USER];
		course_add(course, &interval);
	}
}

CASE(nothing_is_lost_where_periods_merge)
{
	static const unsigned int counts[] = {1, 2, 31, 32, 33, 64, 65, 100, 1000};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct course course = {.periods = {.count = 0}};
		unsigned int periods;
		uint64_t all_ns, start_ns = 1000 * 100 * MS;

		fill(&course, counts[i]);
		periods = course.periods.count;
		all_ns = batches_duration_ns(&course.periods);
		assert_int_equal(all_ns, counts[i] * 100 * MS);
		assert_true(periods <= BATCHES_MAX &&
			    (counts[i] < BATCHES_MAX ? periods == counts[i]
						     : periods > BATCHES_MAX / 2));
		assert_int_equal(series_total_ns(&course.states[STATE_USER]) +
					 series_total_ns(&course.states[STATE_IDLE]),
				 all_ns);
		for (unsigned int k = 0; k < periods; k++) {
			assert_int_equal(course.start_realtime_ns[k], start_ns);
			start_ns += course.periods.duration_ns[k];
		}
	}
}

CASE(the_peak_is_where_most_were_in_it)
{
	struct course course = {.periods = {.count = 0}};
	unsigned int last;

	fill(&course, 100);
	last = course.periods.count - 1;
	assert_int_equal(course_peak(&course, STATE_USER), last);
	assert_int_equal(course_peak(&course, STATE_IDLE), 0);
	assert_int_equal(course_peak(&course, STATE_DISK), 0);
	assert_true(course_threads(&course, STATE_USER, last) > course_mean(&course, STATE_USER));
	assert_true(fabs(course_mean(&course, STATE_USER) + course_mean(&course, STATE_IDLE) - 1) <
		    1e-9);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(nothing_is_lost_where_periods_merge),
		cmocka_unit_test(the_peak_is_where_most_were_in_it),
	};

	return RUN(cases);
}
