// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>

#include "model/interval.h"
#include "model/records.h"

/* A thread whose account began at `origin` and that was in `state` ever since. */
static struct wire_thread thread(uint32_t tid, uint64_t origin, uint64_t end, __u8 state)
{
	struct wire_thread record = {
		.header = {sizeof(record), WIRE_THREAD, 0, end},
		.start_ns = origin + 1000000,
		.origin_ns = origin,
		.end_ns = end,
		.since_ns = origin,
		.tid = tid,
		.pid = tid,
		.site = {.state = state, .syscall = WIRE_SYSCALL_NONE},
		.comm = "name",
		.process = "leader",
	};

	record.totals.ns[state] = end - origin;
	return record;
}

static struct interval *feed(struct intervals *intervals, const void *record)
{
	struct interval *interval = NULL;
	int result = intervals_feed(intervals, record, &interval);

	assert_true(result >= 0);
	assert_int_equal(result == 1, interval != NULL);
	return interval;
}

static struct interval *close_with(struct intervals *intervals, uint64_t start, uint64_t end,
				   bool final)
{
	struct wire_interval record = {.header = {sizeof(record), WIRE_INTERVAL, 0, end},
				       .start_ns = start,
				       .end_ns = end,
				       .final = final};

	return feed(intervals, &record);
}

static struct interval *close_at(struct intervals *intervals, uint64_t start, uint64_t end)
{
	return close_with(intervals, start, end, false);
}

static uint64_t sum(const struct row *row)
{
	uint64_t ns = 0;

	for (int i = 0; i < STATES; i++)
		ns += row->states_ns[i];
	return ns;
}

CASE(first_snapshot_is_only_the_baseline)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_IDLE);
	struct interval *interval;

	feed(intervals, &one);
	assert_null(close_at(intervals, 1000, 1000));
	one = thread(7, 100, 3000, WIRE_IDLE);
	feed(intervals, &one);
	interval = close_at(intervals, 1000, 3000);
	assert_int_equal(interval->row_count, 1);
	assert_int_equal(interval->rows[0].observed_ns, 2000);
	assert_int_equal(interval->rows[0].states_ns[STATE_IDLE], 2000);
	assert_int_equal(sum(&interval->rows[0]), 2000);
	intervals_free(intervals);
}

CASE(a_born_thread_counts_from_its_birth)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread born = thread(8, 1500, 2000, WIRE_LOCK);
	struct interval *interval;

	close_at(intervals, 1000, 1000);
	feed(intervals, &born);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->rows[0].observed_ns, 500);
	assert_int_equal(interval->rows[0].states_ns[STATE_LOCK], 500);
	intervals_free(intervals);
}

CASE(a_thread_that_lived_between_two_snapshots_is_reported)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread ended = thread(9, 1200, 1300, WIRE_SLEEP);
	struct interval *interval;

	close_at(intervals, 1000, 1000);
	ended.header.kind = WIRE_EXIT;
	feed(intervals, &ended);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->row_count, 1);
	assert_true(interval->rows[0].exited);
	assert_int_equal(interval->rows[0].observed_ns, 100);
	/* once */
	assert_int_equal(close_at(intervals, 2000, 3000)->row_count, 0);
	intervals_free(intervals);
}

CASE(an_end_after_the_snapshot_belongs_to_the_next_interval)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread at_snapshot = thread(9, 500, 2000, WIRE_SLEEP);
	struct wire_thread ended = thread(9, 500, 2100, WIRE_SLEEP);
	struct interval *interval;

	ended.header.kind = WIRE_EXIT;
	close_at(intervals, 1000, 1000);
	feed(intervals, &at_snapshot);
	feed(intervals, &ended);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->row_count, 1);
	assert_false(interval->rows[0].exited);
	interval = close_at(intervals, 2000, 3000);
	assert_int_equal(interval->row_count, 1);
	assert_true(interval->rows[0].exited);
	assert_int_equal(interval->rows[0].observed_ns, 100);
	intervals_free(intervals);
}

CASE(after_the_last_snapshot_an_end_belongs_to_it)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread first[] = {thread(8, 500, 1000, WIRE_SLEEP),
				      thread(9, 500, 1000, WIRE_SLEEP)};
	struct wire_thread met = thread(8, 500, 2000, WIRE_SLEEP);
	struct wire_thread ended[] = {thread(8, 500, 2100, WIRE_SLEEP),
				      thread(9, 500, 2100, WIRE_SLEEP)};
	struct interval *interval;

	for (int i = 0; i < 2; i++)
		feed(intervals, &first[i]);
	close_at(intervals, 1000, 1000);
	feed(intervals, &met);
	for (int i = 0; i < 2; i++) {
		ended[i].header.kind = WIRE_EXIT;
		feed(intervals, &ended[i]);
	}
	assert_int_equal(intervals_missing(intervals, false), 0);
	interval = close_with(intervals, 1000, 2000, true);
	/* the one that the snapshot did not meet, and the other once */
	assert_int_equal(interval->row_count, 2);
	assert_int_equal(interval->rows[0].tid, 9);
	assert_int_equal(interval->rows[0].observed_ns, 1100);
	assert_int_equal(interval->rows[1].tid, 8);
	assert_int_equal(interval->rows[1].observed_ns, 1000);
	intervals_free(intervals);
}

/* Dying on a busy machine, without a CPU for several intervals. */
CASE(a_late_end_continues_what_was_known)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread known = thread(9, 500, 1000, WIRE_SLEEP);
	struct wire_thread ended = thread(9, 500, 3100, WIRE_SLEEP);
	struct interval *interval;

	feed(intervals, &known);
	close_at(intervals, 1000, 1000);
	assert_int_equal(intervals_missing(intervals, false), 1);
	close_at(intervals, 1000, 2000);
	/* it has been waited for; before the last interval it is waited for again */
	assert_int_equal(intervals_missing(intervals, false), 0);
	assert_int_equal(intervals_missing(intervals, true), 1);
	close_at(intervals, 2000, 3000);
	ended.header.kind = WIRE_EXIT;
	feed(intervals, &ended);
	assert_int_equal(intervals_missing(intervals, true), 0);
	interval = close_at(intervals, 3000, 4000);
	assert_int_equal(interval->row_count, 1);
	assert_int_equal(interval->rows[0].observed_ns, 2100);
	/* nothing is left of it */
	assert_int_equal(intervals_missing(intervals, true), 0);
	assert_int_equal(close_at(intervals, 4000, 5000)->row_count, 0);
	intervals_free(intervals);
}

static void feed_reason(struct intervals *intervals, uint64_t total_ns)
{
	struct wire_reason reason = {.header = {.size = sizeof(reason), .kind = WIRE_REASON},
				     .tid = 5,
				     .total_ns = total_ns};
	struct interval *interval = NULL;

	assert_int_equal(intervals_feed(intervals, &reason.header, &interval), 0);
}

/* Reasons are cumulative: what they were at the beginning comes with the first that is shown. */
CASE(the_first_interval_has_reasons_of_its_baseline)
{
	struct intervals *intervals = intervals_new();
	const struct wire_header restart = {.size = sizeof(restart), .kind = WIRE_RESTART};
	struct interval *interval = NULL;

	for (int gap = 0; gap <= 1; gap++) {
		feed_reason(intervals, 900 + gap);
		assert_null(close_at(intervals, 1000, 1000));
		feed_reason(intervals, 950);
		interval = close_at(intervals, 1000, 2000);
		assert_true(interval->is_first);
		assert_int_equal(interval->base_reason_count, 1);
		assert_int_equal(interval->base_reasons[0].total_ns, 900 + gap);
		assert_int_equal(interval->reasons[0].total_ns, 950);
		feed_reason(intervals, 960);
		interval = close_at(intervals, 2000, 3000);
		assert_false(interval->is_first);
		assert_int_equal(interval->base_reason_count, 0);
		assert_int_equal(interval->reasons[0].total_ns, 960);
		assert_int_equal(intervals_feed(intervals, &restart, &interval), 0);
	}
	intervals_free(intervals);
}

/* The snapshot may meet a thread whose end is clipped to the snapshot's instant. */
CASE(an_end_at_the_instant_of_a_snapshot_is_one_row)
{
	for (int met = 0; met <= 1; met++) {
		struct intervals *intervals = intervals_new();
		struct wire_thread one = thread(7, 100, 1000, WIRE_IDLE);
		struct interval *interval;

		feed(intervals, &one);
		close_at(intervals, 1000, 1000);
		one = thread(7, 100, 2000, WIRE_IDLE);
		if (met)
			feed(intervals, &one);
		one.header.kind = WIRE_EXIT;
		feed(intervals, &one);
		assert_int_equal(intervals_missing(intervals, false), 0);
		interval = close_at(intervals, 1000, 2000);
		assert_int_equal(interval->row_count, 1);
		assert_true(interval->rows[0].exited);
		assert_int_equal(interval->rows[0].observed_ns, 1000);
		assert_int_equal(sum(&interval->rows[0]), 1000);
		/* it is neither waited for nor carried over */
		assert_int_equal(intervals_missing(intervals, false), 0);
		assert_int_equal(close_at(intervals, 2000, 3000)->row_count, 0);
		assert_int_equal(intervals_missing(intervals, true), 0);
		intervals_free(intervals);
	}
}

CASE(a_thread_that_leaves_the_cgroup_is_not_waited_for)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_IDLE);

	feed(intervals, &one);
	close_at(intervals, 1000, 1000);
	one = thread(7, 100, 2000, WIRE_IDLE);
	one.flags = WIRE_FLAG_LEFT;
	feed(intervals, &one);
	assert_int_equal(close_at(intervals, 1000, 2000)->rows[0].observed_ns, 1000);
	assert_int_equal(intervals_missing(intervals, false), 0);
	assert_int_equal(close_at(intervals, 2000, 3000)->row_count, 0);
	assert_int_equal(intervals_missing(intervals, true), 0);
	intervals_free(intervals);
}

CASE(two_threads_with_one_identity_both_end)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread first = thread(5, 100, 1500, WIRE_IDLE);
	struct wire_thread second = thread(5, 200, 1600, WIRE_SLEEP);

	/* exec from a thread: the leader's end, then that of the one which took over its name */
	second.start_ns = first.start_ns;
	first.header.kind = second.header.kind = WIRE_EXIT;
	close_at(intervals, 1000, 1000);
	feed(intervals, &first);
	feed(intervals, &second);
	assert_int_equal(close_at(intervals, 1000, 2000)->row_count, 2);
	intervals_free(intervals);
}

CASE(a_record_sent_twice_is_one_row)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 2000, WIRE_IDLE);

	close_at(intervals, 1000, 1000);
	feed(intervals, &one);
	feed(intervals, &one);
	assert_int_equal(close_at(intervals, 1000, 2000)->row_count, 1);
	intervals_free(intervals);
}

CASE(a_reused_tid_is_another_thread)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread old = thread(7, 100, 1000, WIRE_IDLE);
	struct wire_thread ended = thread(7, 100, 1500, WIRE_IDLE);
	struct wire_thread new = thread(7, 1600, 2000, WIRE_NET);
	struct interval *interval;

	ended.header.kind = WIRE_EXIT;
	feed(intervals, &old);
	close_at(intervals, 1000, 1000);
	feed(intervals, &ended);
	feed(intervals, &new);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->row_count, 2);
	assert_int_equal(interval->rows[0].observed_ns, 500);
	assert_int_equal(interval->rows[1].observed_ns, 400);
	intervals_free(intervals);
}

CASE(a_task_keeps_its_account_under_a_new_tid)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread before = thread(8, 100, 1000, WIRE_IDLE);
	struct wire_thread leader = thread(7, 50, 1000, WIRE_SLEEP);
	struct wire_thread after = thread(7, 100, 2000, WIRE_IDLE);
	struct interval *interval;

	before.pid = 7;
	after.start_ns = leader.start_ns;
	feed(intervals, &leader);
	feed(intervals, &before);
	close_at(intervals, 1000, 1000);
	feed(intervals, &after);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->row_count, 1);
	assert_int_equal(interval->rows[0].observed_ns, 1000);
	assert_int_equal(interval->rows[0].states_ns[STATE_IDLE], 1000);
	intervals_free(intervals);
}

CASE(a_thread_not_read_once_is_made_up_for)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_IDLE);
	struct interval *interval;

	feed(intervals, &one);
	close_at(intervals, 1000, 1000);
	assert_int_equal(intervals_missing(intervals, false), 1);
	assert_int_equal(close_at(intervals, 1000, 2000)->row_count, 0);
	assert_int_equal(intervals_missing(intervals, false), 0); /* no hope twice */
	one = thread(7, 100, 3000, WIRE_IDLE);
	feed(intervals, &one);
	interval = close_at(intervals, 2000, 3000);
	assert_int_equal(interval->rows[0].observed_ns, 2000);
	intervals_free(intervals);
}

CASE(missing_are_those_neither_seen_nor_ended)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread seen = thread(1, 100, 1000, WIRE_IDLE);
	struct wire_thread ends = thread(2, 110, 1000, WIRE_IDLE);
	struct wire_thread lost = thread(3, 120, 1000, WIRE_IDLE);

	feed(intervals, &seen);
	feed(intervals, &ends);
	feed(intervals, &lost);
	close_at(intervals, 1000, 1000);
	assert_int_equal(intervals_missing(intervals, false), 3);
	seen = thread(1, 100, 2000, WIRE_IDLE);
	feed(intervals, &seen);
	assert_int_equal(intervals_missing(intervals, false), 2);
	ends = thread(2, 110, 1800, WIRE_IDLE);
	ends.header.kind = WIRE_EXIT;
	feed(intervals, &ends);
	assert_int_equal(intervals_missing(intervals, false), 1);
	intervals_free(intervals);
}

CASE(cpu_time_splits_as_the_ticks_of_the_interval)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_ON_CPU);
	struct interval *interval;

	one.utime_ns = 4000000;
	feed(intervals, &one);
	close_at(intervals, 1000, 1000);
	one = thread(7, 100, 1001000, WIRE_ON_CPU);
	one.utime_ns = 8000000;
	one.stime_ns = 12000000;
	feed(intervals, &one);
	interval = close_at(intervals, 1000, 1001000);
	assert_int_equal(interval->rows[0].states_ns[STATE_USER], 250000);
	assert_int_equal(interval->rows[0].states_ns[STATE_KERNEL], 750000);
	/* no tick: as in its whole life */
	one = thread(7, 100, 2001000, WIRE_ON_CPU);
	one.utime_ns = 8000000;
	one.stime_ns = 12000000;
	feed(intervals, &one);
	interval = close_at(intervals, 1001000, 2001000);
	assert_int_equal(interval->rows[0].states_ns[STATE_USER], 400000);
	assert_int_equal(sum(&interval->rows[0]), 1000000);
	intervals_free(intervals);
}

CASE(cpu_time_of_a_life_without_a_tick)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread program = thread(7, 1500, 2000, WIRE_ON_CPU);
	struct wire_thread kernel = thread(8, 1600, 2000, WIRE_ON_CPU);
	struct interval *interval;

	kernel.flags = WIRE_FLAG_KERNEL_THREAD;
	close_at(intervals, 1000, 1000);
	feed(intervals, &program);
	feed(intervals, &kernel);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->rows[0].states_ns[STATE_USER], 500);
	assert_int_equal(interval->rows[1].states_ns[STATE_KERNEL], 400);
	intervals_free(intervals);
}

/* What was stolen of a turn is settled when it ends: a snapshot in it may have said less. */
CASE(a_turn_settled_behind_a_snapshot_is_counted_and_not_torn)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_ON_CPU);
	struct interval *interval;

	feed(intervals, &one);
	close_at(intervals, 1000, 1000);
	one = thread(7, 100, 2000, WIRE_IDLE);
	one.totals.ns[WIRE_IDLE] = 990;
	one.totals.ns[WIRE_ON_CPU] = 860; /* 40 less than before */
	one.totals.ns[WIRE_STOLEN] = 50;
	feed(intervals, &one);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->rows[0].states_ns[STATE_USER], 0);
	assert_int_equal(interval->rows[0].states_ns[STATE_STOLEN], 50);
	assert_int_equal(interval->rows[0].states_ns[STATE_IDLE], 950);
	assert_int_equal(sum(&interval->rows[0]), interval->rows[0].observed_ns);
	assert_int_equal(interval->losses.torn, 0);
	assert_int_equal(interval->losses.clamped, 1);
	intervals_free(intervals);
}

CASE(time_moved_behind_a_snapshot_is_no_negative_time)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_IDLE);
	struct interval *interval;

	feed(intervals, &one);
	close_at(intervals, 1000, 1000);
	one = thread(7, 100, 2000, WIRE_IDLE);
	one.totals.ns[WIRE_IDLE] = 850; /* 50 less than reported before */
	one.totals.ns[WIRE_NET] = 1050;
	feed(intervals, &one);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->rows[0].states_ns[STATE_IDLE], 0);
	assert_int_equal(interval->rows[0].states_ns[STATE_NET], 1000);
	assert_int_equal(sum(&interval->rows[0]), interval->rows[0].observed_ns);
	assert_int_equal(interval->losses.torn, 1);
	intervals_free(intervals);
}

CASE(a_counter_that_jumped_is_not_measured)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_DISK);
	struct interval *interval;

	feed(intervals, &one);
	close_at(intervals, 1000, 1000);
	one = thread(7, 100, 2000, WIRE_RUNNABLE);
	one.flags = WIRE_FLAG_NO_DISK;
	feed(intervals, &one);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->rows[0].unmeasured, 1 << STATE_DISK);
	assert_int_equal(interval->rows[0].states_ns[STATE_DISK], 0);
	assert_int_equal(interval->losses.torn, 0);
	/* there again, but since when is not known */
	one = thread(7, 100, 3000, WIRE_DISK);
	feed(intervals, &one);
	interval = close_at(intervals, 2000, 3000);
	assert_int_equal(interval->rows[0].unmeasured, 1 << STATE_DISK);
	one = thread(7, 100, 4000, WIRE_DISK);
	feed(intervals, &one);
	interval = close_at(intervals, 3000, 4000);
	assert_int_equal(interval->rows[0].unmeasured, 0);
	assert_int_equal(interval->rows[0].states_ns[STATE_DISK], 1000);
	intervals_free(intervals);
}

CASE(latency_is_of_the_interval)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 100, 1000, WIRE_IDLE);
	struct interval *interval;

	one.totals.latency[10] = UINT32_MAX; /* wraps */
	one.totals.latency_max_ns = 5000;
	feed(intervals, &one);
	close_at(intervals, 1000, 1000);
	one = thread(7, 100, 2000, WIRE_IDLE);
	one.totals.latency[10] = 2;
	one.totals.latency_max_ns = 2000;
	feed(intervals, &one);
	interval = close_at(intervals, 1000, 2000);
	assert_int_equal(interval->rows[0].latency[10], 3);
	assert_int_equal(interval->rows[0].latency_count, 3);
	assert_int_equal(interval->rows[0].latency_max_ns, 2000);
	/* no wait in the interval: the old maximum is not of it */
	one.end_ns = 3000;
	one.totals.ns[WIRE_IDLE] = 2900;
	feed(intervals, &one);
	interval = close_at(intervals, 2000, 3000);
	assert_int_equal(interval->rows[0].latency_max_ns, 0);
	intervals_free(intervals);
}

CASE(a_wait_for_a_cpu_that_goes_on_counts_as_longest)
{
	struct intervals *intervals = intervals_new();
	struct wire_thread one = thread(7, 1200, 2000, WIRE_RUNNABLE);

	close_at(intervals, 1000, 1000);
	feed(intervals, &one);
	assert_int_equal(close_at(intervals, 1000, 2000)->rows[0].latency_max_ns, 800);
	intervals_free(intervals);
}

CASE(losses_are_of_the_interval)
{
	struct intervals *intervals = intervals_new();
	struct wire_interval record = {.header = {sizeof(record), WIRE_INTERVAL, 0, 0},
				       .losses = {.exits = 5, .threads = 1}};
	struct interval *interval;

	feed(intervals, &record);
	record.losses.exits = 7;
	record.start_ns = 10;
	record.end_ns = 20;
	interval = feed(intervals, &record);
	assert_int_equal(interval->losses.exits, 2);
	assert_int_equal(interval->losses.threads, 0);
	intervals_free(intervals);
}

CASE(impossible_records_are_refused)
{
	struct intervals *intervals = intervals_new();
	struct wire_header header = {sizeof(header), WIRE_THREAD, 0, 0};
	struct interval *interval;

	assert_int_equal(intervals_feed(intervals, &header, &interval), -EBADMSG);
	header.kind = WIRE_EXIT;
	assert_int_equal(intervals_feed(intervals, &header, &interval), -EBADMSG);
	header.kind = WIRE_INTERVAL;
	assert_int_equal(intervals_feed(intervals, &header, &interval), -EBADMSG);
	header.kind = 4711; /* of a newer dwell */
	assert_int_equal(intervals_feed(intervals, &header, &interval), 0);
	intervals_free(intervals);
}

CASE(ten_thousand_threads)
{
	struct intervals *intervals = intervals_new();
	struct interval *interval;

	for (uint64_t end = 1000000; end <= 2000000; end += 1000000) {
		for (uint32_t tid = 1; tid <= 10000; tid++) {
			struct wire_thread one = thread(tid, tid, end, WIRE_IDLE);

			feed(intervals, &one);
		}
		assert_int_equal(intervals_missing(intervals, false), 0);
		interval = close_at(intervals, end - 1000000, end);
	}
	assert_int_equal(interval->row_count, 10000);
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(interval->rows[i].observed_ns, 1000000);
	intervals_free(intervals);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(first_snapshot_is_only_the_baseline),
		cmocka_unit_test(a_born_thread_counts_from_its_birth),
		cmocka_unit_test(a_thread_that_lived_between_two_snapshots_is_reported),
		cmocka_unit_test(an_end_after_the_snapshot_belongs_to_the_next_interval),
		cmocka_unit_test(after_the_last_snapshot_an_end_belongs_to_it),
		cmocka_unit_test(a_late_end_continues_what_was_known),
		cmocka_unit_test(the_first_interval_has_reasons_of_its_baseline),
		cmocka_unit_test(an_end_at_the_instant_of_a_snapshot_is_one_row),
		cmocka_unit_test(a_thread_that_leaves_the_cgroup_is_not_waited_for),
		cmocka_unit_test(two_threads_with_one_identity_both_end),
		cmocka_unit_test(a_record_sent_twice_is_one_row),
		cmocka_unit_test(a_reused_tid_is_another_thread),
		cmocka_unit_test(a_task_keeps_its_account_under_a_new_tid),
		cmocka_unit_test(a_thread_not_read_once_is_made_up_for),
		cmocka_unit_test(missing_are_those_neither_seen_nor_ended),
		cmocka_unit_test(cpu_time_splits_as_the_ticks_of_the_interval),
		cmocka_unit_test(cpu_time_of_a_life_without_a_tick),
		cmocka_unit_test(a_turn_settled_behind_a_snapshot_is_counted_and_not_torn),
		cmocka_unit_test(time_moved_behind_a_snapshot_is_no_negative_time),
		cmocka_unit_test(a_counter_that_jumped_is_not_measured),
		cmocka_unit_test(latency_is_of_the_interval),
		cmocka_unit_test(a_wait_for_a_cpu_that_goes_on_counts_as_longest),
		cmocka_unit_test(losses_are_of_the_interval),
		cmocka_unit_test(impossible_records_are_refused),
		cmocka_unit_test(ten_thousand_threads),
	};

	return RUN(cases);
}
