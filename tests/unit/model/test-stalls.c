// SPDX-License-Identifier: GPL-2.0-or-later
/* Stalls: their causes and functions, and the hotspots that they sum up to. */
#include "test.h"

#include "model/made-stalls.h"

CASE(a_stripped_function_is_shown_by_its_address)
{
	struct stalls *stalls = make();
	struct wire_stall stripped = record(WIRE_SLEEP, 20, 6),
			  exported = record(WIRE_SLEEP, 20, 7);
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &stripped.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, STRIPPED);
	/* a name says more */
	assert_int_equal(stalls_feed(stalls, &exported.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, HANDLER);
	stalls_free(stalls);
}

CASE(the_largest_state_is_the_cause)
{
	static const struct {
		uint8_t state, detail;
		enum stall_cause cause;
	} cases[] = {
		{WIRE_ON_CPU, 0, CAUSE_CPU},
		{WIRE_RUNNABLE, WIRE_DETAIL_PREEMPTED, CAUSE_RUNNABLE},
		{WIRE_DISK, 0, CAUSE_DISK},
		{WIRE_NET, 0, CAUSE_NET},
		{WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK, CAUSE_LOCK},
		{WIRE_SWAP, 0, CAUSE_SWAP},
		{WIRE_SLEEP, 0, CAUSE_SLEEP},
		{WIRE_IPC, WIRE_DETAIL_PIPE, CAUSE_IPC},
		{WIRE_STOPPED, 0, CAUSE_STOPPED},
		/* waiting for work, it would be; in a task it waits for another thread */
		{WIRE_IDLE, WIRE_DETAIL_FUTEX_COND, CAUSE_IPC},
		{WIRE_IDLE, WIRE_DETAIL_NONE, CAUSE_NET},
	};
	struct stalls *stalls = make();
	struct stall stall;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_stall one = record(cases[i].state, 1000, 1);

		one.longest.detail = cases[i].detail;
		assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
		assert_int_equal(stall.parts[0].cause, cases[i].cause);
		/* through the kernel and libraries, to the program's own */
		assert_int_equal(stall.parts[0].function, HANDLER);
		assert_false(stall.parts[0].in_place);
	}
	stalls_free(stalls);
}

CASE(what_it_ran_is_sampled)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_ON_CPU, 50000, 1);
	struct wire_sample sample = {.header = {.size = sizeof(sample), .kind = WIRE_SAMPLE},
				     .tid = 7,
				     .stack = 1,
				     .weight_ns = 100,
				     .span_ns = 900};
	struct stall stall;

	/* of the span before */
	sample.weight_ns = 1000000;
	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
	sample.span_ns = 1000;
	sample.weight_ns = 10000;
	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
	sample.stack = 2;
	sample.weight_ns = 30000;
	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, SPIN);
	assert_int_equal(stall.parts[0].stack, 2);
	/* a wait beside it is not its reason */
	one.longest.state = WIRE_DISK;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].site.state, 0);
	/* nor what it ran one of a wait whose stack is not known */
	one = record(WIRE_IDLE, 50000, 0);
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].stack, 0);
	assert_int_equal(stall.parts[0].function, TYPE);
	one = record(WIRE_ON_CPU, 50000, 1);
	/* without samples the type of the task is all there is */
	one.start_ns = 2000;
	one.stack = 0;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, TYPE);
	stalls_free(stalls);
}

static void add_sample(struct stalls *stalls, uint32_t tid, uint64_t span_ns, uint64_t time_ns,
		       uint32_t stack)
{
	struct wire_sample sample = {
		.header = {.size = sizeof(sample), .kind = WIRE_SAMPLE, .time_ns = time_ns},
		.tid = tid,
		.stack = stack,
		.weight_ns = 100,
		.span_ns = span_ns};
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
}

CASE(samples_of_spans_that_go_on_stay_when_many_threads_are_sampled)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_ON_CPU, 50000, 0);
	struct stall stall;

	/* one that goes on, and began before all others; 300 of which each ends at once */
	for (uint32_t i = 1; i <= 300; i++) {
		add_sample(stalls, 7, 1000, 2000 + 10 * i, i <= 200 ? 2 : 1);
		add_sample(stalls, 100 + i, 2001 + 10 * i, 2001 + 10 * i, 2);
	}
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, SPIN);
	/* the last of those that have ended are there, the first are not */
	one.tid = 200;
	one.start_ns = 3001;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, SPIN);
	one.tid = 101;
	one.start_ns = 2011;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, TYPE);
	stalls_free(stalls);
}

CASE(blocking_in_place_is_distinguished)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 5000, 3);
	struct stall stall;
	size_t count;

	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_true(stall.parts[0].in_place);
	/* a worker that took over has the function below the poll */
	one.stack = 1;
	one.duration_ns = one.states_ns[WIRE_SLEEP] = 1000;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_false(stall.parts[0].in_place);
	/* those to blame come first, although shorter */
	const struct hotspot *hotspots = hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);

	assert_int_equal(count, 2);
	assert_false(hotspots[0].in_place);
	assert_true(hotspots[1].in_place);
	assert_int_equal(stalls_counts(stalls).in_place, 1);
	stalls_free(stalls);
}

CASE(without_types_the_stack_distinguishes_tasks_from_closures)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 5000, 4);
	struct stall stall;

	one.type = 0;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 0);
	assert_int_equal(stalls_counts(stalls).pool_stalls, 1);
	/* the same stack on a thread that waits for events: the current_thread scheduler's */
	one.flags = WIRE_STALL_OF_LOOP;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	one.flags = 0;
	one.stack = 5;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, HANDLER);
	/* the worker's own life, with polls inside */
	one.inner_ns = 2000;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 0);
	/* with a type there is no doubt */
	one.type = TYPE;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.own_ns, 3000);
	stalls_free(stalls);
}

/* Neither code nor a thread is to blame for what the hypervisor did. */
CASE(stolen_time_is_nobodys_stall)
{
	struct stalls *stalls = make();
	struct wire_runtime runtime = {.header = {.size = sizeof(runtime), .kind = WIRE_RUNTIME},
				       .threshold_ns = 1000};
	struct wire_stall one = record(WIRE_STOLEN, 3000, 1);
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &runtime.header, &stall), 0);
	one.longest = (struct wire_wait_site){.state = WIRE_RUNNABLE};
	one.culprit = (struct wire_peer){.tid = 9, .pid = 9, .comm = "other"};
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_STOLEN);
	assert_int_equal(stall.parts[0].function, 0);
	assert_int_equal(stall.parts[0].culprit.tid, 0);
	/* it computed for longer, but not for so long that it were a stall */
	one.states_ns[WIRE_ON_CPU] = 900;
	one.states_ns[WIRE_STOLEN] = 200;
	one.duration_ns = 1100;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_STOLEN);
	/* a stall in any case: its own main state */
	one.states_ns[WIRE_ON_CPU] = 2000;
	one.duration_ns = 2200;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_CPU);
	assert_int_equal(stall.parts[0].culprit.tid, 9);
	one = record(WIRE_IRQ, 1500, 1);
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_IRQ);
	struct stall_counts counts = stalls_counts(stalls);

	assert_int_equal(counts.stalls, 4);
	assert_int_equal(stall_counts_blamed(&counts), 1);
	assert_int_equal(counts.blamed_ns, 2200);
	assert_int_equal(counts.max_blamed_ns, 2200);
	stalls_free(stalls);
}

CASE(stalls_without_a_stack_are_counted)
{
	struct stalls *stalls = make();
	struct wire_stall with = record(WIRE_SLEEP, 3000, 1), without = record(WIRE_SLEEP, 3000, 0);
	struct wire_stall stolen = record(WIRE_STOLEN, 3000, 0);
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &with.header, &stall), 1);
	assert_int_equal(stalls_counts(stalls).unexplained, 0);
	assert_int_equal(stalls_feed(stalls, &without.header, &stall), 1);
	assert_int_equal(stalls_counts(stalls).unexplained, 1);
	/* no code is to blame */
	assert_int_equal(stalls_feed(stalls, &stolen.header, &stall), 1);
	assert_int_equal(stalls_counts(stalls).unexplained, 1);
	stalls_free(stalls);
}

CASE(hotspots_sum_up)
{
	struct stalls *stalls = make();
	struct stall stall;
	size_t count;

	for (uint64_t i = 1; i <= 100; i++) {
		struct wire_stall one = record(WIRE_SLEEP, i * 1000000, 1);

		assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	}
	const struct hotspot *hotspots = hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);

	assert_int_equal(count, 1);
	assert_int_equal(hotspots[0].count, 100);
	assert_int_equal(hotspots[0].total_ns, 5050000000);
	assert_int_equal(hotspots[0].max_ns, 100000000);
	assert_int_equal(hotspots[0].function, HANDLER);
	assert_string_equal(stalls_frame(stalls, HANDLER)->file, "a.rs");
	stalls_free(stalls);
}

CASE(many_functions_take_bounded_room)
{
	struct stalls *stalls = make();
	struct stall stall;
	size_t count;
	char name[32];

	for (uint32_t i = 0; i < 6000; i++) {
		struct wire_stall one = record(WIRE_SLEEP, 1000, 100 + i);
		const uint32_t frames[] = {100 + i};

		snprintf(name, sizeof(name), "app::f%u", i);
		add_frame(stalls, 100 + i, name, WIRE_FRAME_USER);
		add_stack(stalls, 100 + i, frames, 1);
		assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	}
	assert_non_null(hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count));
	assert_int_equal(count, 4096);
	assert_int_equal(stalls_counts(stalls).stalls, 6000);
	assert_int_equal(stalls_counts(stalls).hotspots_lost, 6000 - 4096);
	stalls_free(stalls);
}

CASE(hotspots_are_grouped)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 5000, 1), two = record(WIRE_SLEEP, 7000, 6);
	const uint32_t other[] = {KERNEL_WAIT, LIBRARY, SPIN, RUNTIME_POLL};
	struct stall stall;
	size_t count;

	add_stack(stalls, 6, other, ARRAY_SIZE(other));
	two.tid = 8;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stalls_feed(stalls, &two.header, &stall), 1);
	/* of another type of task */
	two.type = SPIN;
	assert_int_equal(stalls_feed(stalls, &two.header, &stall), 1);
	const struct hotspot *hotspots = hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);

	assert_int_equal(count, 2);
	assert_int_equal(hotspots[0].function, SPIN);
	assert_int_equal(hotspots[0].count, 2);
	assert_int_equal(hotspots[0].workers[0].tid, 8);
	assert_int_equal(hotspots[0].workers[0].count, 2);
	hotspots = hotspots_of(stalls, HOTSPOTS_BY_TASK, &count);
	assert_int_equal(count, 2);
	assert_int_equal(hotspots[0].type, TYPE);
	assert_int_equal(hotspots[0].total_ns, 12000);
	assert_int_equal(hotspots[0].workers[1].count, 1);
	/* all in a.rs */
	hotspots = hotspots_of(stalls, HOTSPOTS_BY_FILE, &count);
	assert_int_equal(count, 1);
	assert_int_equal(hotspots[0].count, 3);
	stalls_free(stalls);
}

CASE(impossible_records_are_refused)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 1000, 999);
	struct wire_stack stack = {.header = {.size = sizeof(stack), .kind = WIRE_STACK},
				   .id = 1U << 30};
	struct stall stall;

	/* a stack that was not sent */
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, TYPE);
	one.inner_ns = 2000;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), -EBADMSG);
	assert_int_equal(stalls_feed(stalls, &stack.header, &stall), -EBADMSG);
	stalls_free(stalls);
}

CASE(two_measurements_differ)
{
	/* twice as long: counts and times double where nothing has changed */
	struct compared_side a = {.duration_ns = 1000}, b = {.duration_ns = 2000};
	struct comparison comparison;

	assert_int_equal(compared_add(&a, "same", "cpu", 5, 100, 30), 0);
	assert_int_equal(compared_add(&b, "same", "cpu", 10, 210, 30), 0);
	assert_int_equal(compared_add(&a, "gone", "cpu", 1, 50, 50), 0);
	assert_int_equal(compared_add(&a, "better", "lock", 9, 90, 20), 0);
	assert_int_equal(compared_add(&b, "better", "lock", 9, 90, 20), 0);
	assert_int_equal(compared_add(&a, "worse", "disk", 1, 10, 10), 0);
	assert_int_equal(compared_add(&b, "worse", "disk", 1, 300, 300), 0);
	assert_int_equal(compared_add(&b, "worse", "disk", 1, 300, 300), 0);
	/* of another cause it is another */
	assert_int_equal(compared_add(&b, "same", "lock", 1, 20, 20), 0);
	assert_int_equal(comparison_make(&comparison, &a, &b), 0);
	assert_int_equal(comparison.count, 5);
	assert_string_equal(comparison.items[0].function, "worse");
	assert_int_equal(comparison.items[0].change, CHANGE_WORSE);
	assert_int_equal(comparison.items[0].b.count, 2);
	assert_int_equal(comparison.items[1].change, CHANGE_NEW);
	assert_int_equal(comparison.items[2].change, CHANGE_SAME);
	assert_string_equal(comparison.items[3].function, "better");
	assert_int_equal(comparison.items[3].change, CHANGE_BETTER);
	assert_int_equal(comparison.items[4].change, CHANGE_GONE);
	assert_true(comparison.share_a > 0.249 && comparison.share_a < 0.251);
	comparison_release(&comparison);
	compared_release(&a);
	compared_release(&b);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_stripped_function_is_shown_by_its_address),
		cmocka_unit_test(the_largest_state_is_the_cause),
		cmocka_unit_test(what_it_ran_is_sampled),
		cmocka_unit_test(samples_of_spans_that_go_on_stay_when_many_threads_are_sampled),
		cmocka_unit_test(blocking_in_place_is_distinguished),
		cmocka_unit_test(without_types_the_stack_distinguishes_tasks_from_closures),
		cmocka_unit_test(stolen_time_is_nobodys_stall),
		cmocka_unit_test(stalls_without_a_stack_are_counted),
		cmocka_unit_test(hotspots_sum_up),
		cmocka_unit_test(many_functions_take_bounded_room),
		cmocka_unit_test(hotspots_are_grouped),
		cmocka_unit_test(impossible_records_are_refused),
		cmocka_unit_test(two_measurements_differ),
	};

	return RUN(cases);
}
