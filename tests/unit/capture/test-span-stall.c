// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <asm/unistd.h>

#include "base/duration.h"
#include "capture/span_stall.h"

#define TID   7U
#define BEGIN 1000U

static struct span_evidences evidences;

static struct span_stack stack_of(enum span_stack_of of, __u8 state)
{
	struct span_stack stack;

	memset(&stack, 0, sizeof(stack));
	stack.of = of;
	stack.tid = stack.worker_tid = TID;
	stack.span_ns = BEGIN;
	stack.site = (struct wire_wait_site){.state = state, .syscall = __NR_futex};
	return stack;
}

/* It has waited in vain for 400 ns of 1,000, and computed. */
static struct span_end end_of(__u64 cookie, __u8 state)
{
	struct span_end end = {.header = {.time_ns = BEGIN + 1000}, .start_ns = BEGIN, .tid = TID};

	end.cookie = cookie;
	end.states_ns[WIRE_ON_CPU] = 600;
	end.states_ns[state] = 400;
	end.waits[0].ns = 400;
	end.waits[0].site = (struct wire_wait_site){.state = state, .syscall = __NR_futex};
	return end;
}

static int empty(void **state)
{
	(void)state;
	memset(&evidences, 0, sizeof(evidences));
	return 0;
}

CASE(stacks_of_a_wait_reach_the_stall)
{
	const struct span_stack block = stack_of(SPAN_STACK_BLOCK, WIRE_LOCK);
	const struct span_stack waker = stack_of(SPAN_STACK_WAKER, WIRE_LOCK);
	const struct span_end end = end_of(0, WIRE_LOCK);
	const struct span_signs signs = {.complete = 1};
	struct span_evidence *kept = span_evidences_of(&evidences, TID, BEGIN), evidence;
	struct wire_stall stall;

	span_evidence_note_wait(kept, &block, &signs, 11);
	span_evidence_note_wait(kept, &waker, &signs, 12);
	evidence = span_evidences_remove(&evidences, &end);
	assert_true(span_stall_fill(&stall, &end, &evidence, 100));
	assert_int_equal(stall.stack, 11);
	assert_int_equal(stall.waker_stack, 12);
	assert_int_equal(stall.longest_ns, 400);
	assert_int_equal(stall.duration_ns, 1000);
	assert_int_equal(span_evidences_remove(&evidences, &end).tid, 0);
}

CASE(stacks_of_a_span_whose_end_was_lost_are_not_the_next_ones)
{
	const struct span_stack block = stack_of(SPAN_STACK_BLOCK, WIRE_LOCK);
	const struct span_signs signs = {.complete = 1};
	struct span_end end = end_of(0, WIRE_LOCK);
	struct span_evidence evidence;
	struct wire_stall stall;

	span_evidence_note_wait(span_evidences_of(&evidences, TID, BEGIN), &block, &signs, 11);
	end.start_ns = BEGIN + 100;
	evidence = span_evidences_remove(&evidences, &end);
	assert_true(span_stall_fill(&stall, &end, &evidence, 100));
	assert_int_equal(stall.stack, 0);
	span_evidence_note_wait(span_evidences_of(&evidences, TID, BEGIN), &block, &signs, 11);
	assert_int_equal(span_evidences_of(&evidences, TID, BEGIN + 100)->blocks[WIRE_LOCK], 0);
}

CASE(without_probes_what_was_in_no_poll_is_no_stall)
{
	const struct span_signs outside = {.complete = 1, .pool = 1};
	const struct span_signs poll = {.complete = 1, .worker = 1, .polls = 2};
	const struct span_signs nameless = {.polls = 2};
	const struct span_end end = end_of(SPAN_COOKIE_WAIT, WIRE_LOCK);
	const struct span_end idle = end_of(SPAN_COOKIE_WAIT, WIRE_IDLE);
	struct span_end framed = idle;
	struct span_evidence evidence;
	struct wire_stall stall;

	span_evidence_note_stack(span_evidences_of(&evidences, TID, BEGIN), &outside);
	evidence = span_evidences_remove(&evidences, &end);
	assert_false(span_stall_fill(&stall, &end, &evidence, 100));

	/* one stack of a poll is enough */
	span_evidence_note_stack(span_evidences_of(&evidences, TID, BEGIN), &poll);
	span_evidence_note_stack(span_evidences_of(&evidences, TID, BEGIN), &outside);
	evidence = span_evidences_remove(&evidences, &idle);
	assert_true(span_stall_fill(&stall, &idle, &evidence, 100));

	/* without names only what a loop never does is one */
	span_evidence_note_stack(span_evidences_of(&evidences, TID, BEGIN), &nameless);
	evidence = span_evidences_remove(&evidences, &end);
	assert_true(span_stall_fill(&stall, &end, &evidence, 100));
	assert_false(span_stall_fill(&stall, &idle, &evidence, 100));
	/* or what was on the stack, by its addresses */
	framed.in_poll = 1;
	assert_true(span_stall_fill(&stall, &framed, &evidence, 100));
}

CASE(a_launch_leaves_what_is_not_known_open)
{
	const struct span_launch launch = {
		.header = {.time_ns = BEGIN + 1}, .tid = TID, .span_ns = BEGIN};
	const struct span_end end = end_of(SPAN_COOKIE_RUN, WIRE_LOCK);
	struct span_evidence evidence;
	struct wire_stall stall;

	span_evidences_note_launch(&evidences, &launch);
	evidence = span_evidences_remove(&evidences, &end);
	assert_true(span_stall_fill(&stall, &end, &evidence, 100));
	assert_true(stall.flags & WIRE_STALL_IN_PLACE);
	assert_true(span_evidences_launched(&evidences, &end));
}

CASE(waits_of_a_loops_follower_are_no_part_of_its_turn)
{
	const struct span_end end = end_of(0, WIRE_IDLE);
	struct span_evidence evidence = {.parks = 1U << WIRE_IDLE};
	struct wire_stall stall;

	assert_true(span_stall_fill(&stall, &end, &evidence, 600));
	assert_int_equal(stall.duration_ns, 600);
	assert_int_equal(stall.states_ns[WIRE_IDLE], 0);
	assert_int_equal(stall.longest_ns, 0);
	assert_false(span_stall_fill(&stall, &end, &evidence, 601));
}

CASE(of_a_turn_of_several_jobs_long_waits_stay)
{
	const struct wire_stall turn = {
		.duration_ns = 60 * NS_PER_MS,
		.states_ns = {[WIRE_ON_CPU] = 25 * NS_PER_MS,
			      [WIRE_SLEEP] = 30 * NS_PER_MS,
			      [WIRE_DISK] = 4 * NS_PER_MS,
			      [WIRE_NET] = NS_PER_MS},
		.longest_ns = 30 * NS_PER_MS,
		.longest = {.state = WIRE_SLEEP},
		.stack = 7,
		.waits = {{.ns = 2 * NS_PER_MS, .site = {.state = WIRE_DISK}, .stack = 8}},
	};
	struct wire_stall stall = turn;

	(void)state;
	/* what it computed may have been for many, what is short is no matter */
	assert_true(span_stall_keep_waits(&stall, 5 * NS_PER_MS));
	assert_int_equal(stall.duration_ns, 35 * NS_PER_MS);
	assert_int_equal(stall.states_ns[WIRE_ON_CPU], 0);
	assert_int_equal(stall.states_ns[WIRE_DISK], 4 * NS_PER_MS);
	assert_int_equal(stall.stack, 7);
	/* many waits for a disk, too, one of which was the longest of all */
	stall = turn;
	stall.longest_ns = 4 * NS_PER_MS;
	stall.waits[0] =
		(struct wire_stall_wait){.ns = 20 * NS_PER_MS, .site = {.state = WIRE_DISK}};
	assert_true(span_stall_keep_waits(&stall, 3 * NS_PER_MS));
	stall = turn;
	stall.longest_ns = 4 * NS_PER_MS;
	assert_false(span_stall_keep_waits(&stall, 5 * NS_PER_MS));
}

/* It computes in block_on(), leaves it, and sleeps. */
CASE(what_a_thread_waits_for_outside_of_block_on_is_no_part_of_the_root_future)
{
	const struct span_stack block = stack_of(SPAN_STACK_BLOCK, WIRE_SLEEP);
	const struct span_signs inside = {.complete = 1, .root = 1}, outside = {.complete = 1};
	const struct span_end end = end_of(SPAN_COOKIE(SPAN_ROOT, 0), WIRE_SLEEP);
	struct span_evidence evidence = {.in_poll = SPAN_IN_POLL_UNKNOWN};
	struct wire_stall stall;

	span_evidence_note_stack(&evidence, &inside);
	span_evidence_note_wait(&evidence, &block, &outside, 11);
	assert_true(evidence.rooted);
	assert_true(span_stall_fill(&stall, &end, &evidence, 600));
	assert_int_equal(stall.duration_ns, 600);
	assert_int_equal(stall.longest_ns, 0);
	assert_false(span_stall_fill(&stall, &end, &evidence, 601));
	/* it may have slept inside, too */
	span_evidence_note_wait(&evidence, &block, &inside, 12);
	assert_true(span_stall_fill(&stall, &end, &evidence, 601));
}

CASE(names_say_what_a_futex_was_for)
{
	const struct span_end end = end_of(0, WIRE_UNKNOWN);
	struct span_evidence evidence = {.futex = SITE_LOCK};
	struct wire_stall stall;

	assert_true(span_stall_fill(&stall, &end, &evidence, 100));
	assert_int_equal(stall.longest.state, WIRE_LOCK);
	assert_int_equal(stall.states_ns[WIRE_LOCK], 400);
	assert_int_equal(stall.states_ns[WIRE_UNKNOWN], 0);
	evidence.futex = SITE_CONDITION;
	assert_true(span_stall_fill(&stall, &end, &evidence, 100));
	assert_int_equal(stall.states_ns[WIRE_IDLE], 400);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup(stacks_of_a_wait_reach_the_stall, empty),
		cmocka_unit_test_setup(stacks_of_a_span_whose_end_was_lost_are_not_the_next_ones,
				       empty),
		cmocka_unit_test_setup(without_probes_what_was_in_no_poll_is_no_stall, empty),
		cmocka_unit_test_setup(a_launch_leaves_what_is_not_known_open, empty),
		cmocka_unit_test_setup(waits_of_a_loops_follower_are_no_part_of_its_turn, empty),
		cmocka_unit_test_setup(of_a_turn_of_several_jobs_long_waits_stay, empty),
		cmocka_unit_test_setup(
			what_a_thread_waits_for_outside_of_block_on_is_no_part_of_the_root_future,
			empty),
		cmocka_unit_test_setup(names_say_what_a_futex_was_for, empty),
	};

	return RUN(cases);
}
