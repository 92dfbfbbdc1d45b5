// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/course.h"

static void merge_pairs(struct course *course)
{
	for (int i = 0; i < BATCHES_MAX / 2; i++)
		course->start_realtime_ns[i] = course->start_realtime_ns[2 * i];
	for (int state = 0; state < STATES; state++)
		series_halve(&course->states[state]);
}

void course_add(struct course *course, const struct interval *interval)
{
	struct batches *periods = &course->periods;

	if (batches_next(periods, interval->end_ns - interval->start_ns))
		merge_pairs(course);
	if (periods->inside == 1)
		course->start_realtime_ns[periods->count - 1] = interval->start_realtime_ns;
	for (size_t i = 0; i < interval->row_count; i++)
		for (int state = 0; state < STATES; state++)
			series_add(&course->states[state], periods,
				   interval->rows[i].states_ns[state]);
}

static double share(uint64_t ns, uint64_t of_ns)
{
	return of_ns ? (double)ns / (double)of_ns : 0;
}

double course_threads(const struct course *course, enum state state, unsigned int period)
{
	return share(course->states[state].ns[period], course->periods.duration_ns[period]);
}

double course_mean(const struct course *course, enum state state)
{
	return share(series_total_ns(&course->states[state]),
		     batches_duration_ns(&course->periods));
}

unsigned int course_peak(const struct course *course, enum state state)
{
	unsigned int peak = 0;

	for (unsigned int i = 1; i < course->periods.count; i++)
		if (course_threads(course, state, i) > course_threads(course, state, peak))
			peak = i;
	return peak;
}
