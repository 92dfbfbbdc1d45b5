// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "model/tasks.h"

/* Observed and probed so far. */
static void probed(struct tasks *tasks, size_t slice, uint64_t observed_ns, uint64_t probed_ns)
{
	const struct wire_runtime record = {.observed_ns = observed_ns, .probed_ns = probed_ns};

	assert_int_equal(tasks_add_runtime(tasks, slice, &record), 0);
}

/* Polls so far, of 10 ns each, and the longest since the last time. */
static void polled(struct tasks *tasks, size_t slice, uint32_t type, uint64_t polls,
		   uint64_t longest_ns)
{
	const struct wire_polls record = {.type = type,
					  .polls = polls,
					  .busy_ns = 10 * polls,
					  .longest_ns = longest_ns,
					  .stalls = polls / 100};

	/* a name's hash is not 0 */
	assert_int_equal(tasks_add(tasks, slice, &record, type), 0);
}

static struct task only(struct tasks *tasks)
{
	size_t count;
	const struct task *sorted = tasks_sorted(tasks, &count);

	assert_int_equal(count, 1);
	return sorted[0];
}

CASE(records_are_cumulative_and_the_longest_is_not)
{
	struct tasks tasks = {0};

	assert_false(tasks.is_recorded);
	probed(&tasks, 0, 1000, 1000);
	polled(&tasks, 0, 1, 200, 90);
	polled(&tasks, 0, 1, 500, 40);
	assert_true(tasks.is_recorded);
	assert_int_equal(only(&tasks).polls, 500);
	assert_int_equal(only(&tasks).busy_ns, 5000);
	assert_int_equal(only(&tasks).longest_ns, 90);
	assert_int_equal(only(&tasks).stalls, 5);
	assert_false(tasks_are_sampled(&tasks));
	/* a damaged one, or another session's */
	polled(&tasks, 0, 1, 100, 1);
	assert_int_equal(only(&tasks).polls, 500);
	tasks_release(&tasks);
}

CASE(the_busiest_come_first_and_the_rest_last)
{
	struct tasks tasks = {0};
	const struct task *sorted;
	size_t count;

	polled(&tasks, 0, 0, 1000, 1);
	polled(&tasks, 0, 1, 10, 1);
	polled(&tasks, 0, 2, 30, 1);
	/* never polled: no row */
	polled(&tasks, 0, 3, 0, 0);
	sorted = tasks_sorted(&tasks, &count);
	assert_int_equal(count, 3);
	assert_int_equal(sorted[0].type, 2);
	assert_int_equal(sorted[1].type, 1);
	assert_int_equal(sorted[2].type, 0);
	tasks_release(&tasks);
}

/* Only what was counted while the probes were on for a part of the time stands for more. */
CASE(sampled_polls_are_scaled_by_the_share_that_was_probed)
{
	struct tasks tasks = {0};

	/* before it is known at all what is observed */
	probed(&tasks, 0, 0, 0);
	polled(&tasks, 0, 1, 100, 1);
	probed(&tasks, 0, 1000, 1000);
	polled(&tasks, 0, 1, 200, 1);
	assert_false(tasks_are_sampled(&tasks));
	/* an interval without a probe, and one with many: together a fifth */
	probed(&tasks, 0, 2000, 1000);
	polled(&tasks, 0, 1, 200, 0);
	probed(&tasks, 0, 3000, 1400);
	polled(&tasks, 0, 1, 240, 1);
	assert_true(tasks_are_sampled(&tasks));
	assert_int_equal(only(&tasks).polls, 200 + 40 * 5);
	assert_int_equal(only(&tasks).busy_ns, 10 * (200 + 40 * 5));
	/* that is not scaled */
	assert_int_equal(only(&tasks).stalls, 2);
	/* all are probed again: exact from here on */
	probed(&tasks, 0, 4000, 2400);
	polled(&tasks, 0, 1, 1240, 1);
	assert_int_equal(only(&tasks).polls, 1200 + 40 * 5);
	tasks_release(&tasks);
}

CASE(a_slice_that_is_over_is_forgotten)
{
	struct tasks tasks = {.slice_count = 2};
	size_t count;

	probed(&tasks, 0, 1000, 100);
	polled(&tasks, 0, 1, 10, 70);
	polled(&tasks, 1, 1, 40, 50);
	probed(&tasks, 1, 2000, 1100);
	polled(&tasks, 1, 2, 5, 50);
	assert_true(tasks_are_sampled(&tasks));
	tasks_begin_slice(&tasks, 0);
	assert_false(tasks_are_sampled(&tasks));
	assert_int_equal(tasks_sorted(&tasks, &count)[0].longest_ns, 50);
	assert_int_equal(count, 2);
	tasks_begin_slice(&tasks, 1);
	tasks_sorted(&tasks, &count);
	assert_int_equal(count, 0);
	/* what comes then is what has been added since */
	polled(&tasks, 0, 1, 43, 20);
	assert_int_equal(only(&tasks).polls, 3);
	tasks_release(&tasks);
}

/* As many as a damaged recording likes. */
CASE(types_have_a_bound)
{
	struct tasks tasks = {0};
	size_t count;

	for (uint32_t type = 1; type <= 6000; type++)
		polled(&tasks, 0, type, type, 1);
	polled(&tasks, 0, 0, 7, 1);
	assert_int_equal(tasks_sorted(&tasks, &count)[count - 1].type, 0);
	assert_int_equal(count, 4097);
	tasks_release(&tasks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_cumulative_and_the_longest_is_not),
		cmocka_unit_test(the_busiest_come_first_and_the_rest_last),
		cmocka_unit_test(sampled_polls_are_scaled_by_the_share_that_was_probed),
		cmocka_unit_test(a_slice_that_is_over_is_forgotten),
		cmocka_unit_test(types_have_a_bound),
	};

	return RUN(tests);
}
