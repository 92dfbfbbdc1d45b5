// SPDX-License-Identifier: GPL-2.0-or-later
/* Who the waits of an interval are owed to, thread by thread. */
#include "test.h"

#include "model/made-blame.h"

CASE(targets_are_the_only_culprits_where_that_was_asked_for)
{
	struct wire_session session = {.header = {sizeof(session), WIRE_SESSION, 0, 0},
				       .source = WIRE_SOURCE_BPF,
				       .flags = WIRE_SESSION_BLAME | WIRE_SESSION_CAUSED,
				       .states = ~0U,
				       .metrics = ~0U};
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 21, 400000),
					  by_thread(WIRE_LOCK, 31, 100000),
					  by_thread(WIRE_LOCK, 99, 100000)};
	struct record of_victim;
	struct record of_target = record_of(21, END, culprits + 1, 1);
	struct intervals *intervals = intervals_new();
	struct interval *interval;

	culprits[0].flags = WIRE_CULPRIT_TARGET;
	of_victim = record_of(11, END, culprits, 3);
	feed(intervals, &session);
	for (uint64_t end = START; end <= END; end += END - START) {
		for (uint32_t tid = 11; tid <= 31; tid += 10) {
			struct wire_thread one = thread(tid, end, WIRE_LOCK);

			one.flags = tid == 21 ? 0 : WIRE_FLAG_BESIDE;
			feed(intervals, &one);
		}
		if (end == START)
			close_at(intervals, START, START);
	}
	feed(intervals, &of_victim);
	feed(intervals, &of_target);
	interval = close_at(intervals, START, END);
	assert_int_equal(interval->row_count, 1);
	assert_int_equal(interval->rows[0].tid, 21);
	assert_int_equal(interval->blame_count, 1);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 21)->total_ns, 400000);
	intervals_free(intervals);
}

CASE(what_is_counted_is_lost_and_comes_victim_by_victim)
{
	struct intervals *intervals = begin((uint32_t[]){11, 21, 31}, 3, WIRE_LOCK);
	struct interval *interval;

	intervals_keep_lost_blame(intervals);
	for (uint32_t tid = 31; tid >= 11; tid -= 10) {
		struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 98, tid),
						  by_thread(WIRE_IDLE, 97, 5000),
						  by_thread(WIRE_LOCK, 99, 10000 * tid)};
		struct record record = record_of(tid, END, culprits, 3);

		feed(intervals, &record);
	}
	interval = close_at(intervals, START, END);
	assert_int_equal(interval->blame_count, 9);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(interval->blames[i].victim.tid, 11 + i / 3 * 10);
	assert_int_equal(find(interval, 21, WIRE_CULPRIT_THREAD, 99)->total_ns, 210000);
	intervals_free(intervals);
}

/* They come in between, and are of different sizes. */
CASE(records_of_the_next_interval_wait_for_it)
{
	struct intervals *intervals = begin((uint32_t[]){11, 21, 31}, 3, WIRE_LOCK);
	struct interval *interval;

	for (uint32_t i = 0; i < 6; i++) {
		uint32_t tid = 11 + i % 3 * 10;
		struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 97, 1000 + i),
						  by_thread(WIRE_LOCK, 98, 2000 + i),
						  by_thread(WIRE_LOCK, 99, 3000 + i)};
		struct record record = record_of(tid, i % 2 ? END : END + 5, culprits, 1 + i % 3);

		feed(intervals, &record);
	}
	interval = close_at(intervals, START, END);
	assert_int_equal(find(interval, 21, WIRE_CULPRIT_THREAD, 98)->total_ns, 2001);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 97)->total_ns, 1003);
	assert_int_equal(find(interval, 31, WIRE_CULPRIT_THREAD, 99)->total_ns, 3005);
	for (uint32_t tid = 11; tid <= 31; tid += 10) {
		struct wire_thread one = thread(tid, 2 * END, WIRE_LOCK);

		feed(intervals, &one);
	}
	interval = close_at(intervals, END, 2 * END);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 97)->total_ns, 1000);
	assert_int_equal(find(interval, 31, WIRE_CULPRIT_THREAD, 99)->total_ns, 3002);
	assert_int_equal(find(interval, 21, WIRE_CULPRIT_THREAD, 98)->total_ns, 2004);
	assert_null(find(interval, 11, WIRE_CULPRIT_THREAD, 98));
	intervals_free(intervals);
}

CASE(what_no_one_is_charged_with_is_not_known)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprit = by_thread(WIRE_LOCK, 99, 400000);
	struct record record = record_of(11, END, &culprit, 1);
	struct interval *interval;

	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 99)->total_ns, 400000);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_UNKNOWN, 0)->total_ns, 600000);
	assert_int_equal(sum(interval, 11, STATE_LOCK), END - START);
	assert_string_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 99)->culprit.comm, "culprit");
	intervals_free(intervals);
}

CASE(limits_of_other_cgroups_are_other_culprits)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_RUNNABLE);
	struct wire_culprit culprits[] = {by_thread(WIRE_RUNNABLE, 77, 300000),
					  by_thread(WIRE_RUNNABLE, 77, 200000),
					  by_thread(WIRE_RUNNABLE, 0, 100000)};
	const uint64_t ids[] = {77, 77 | 1ULL << 32, 0}; /* 0: of cgroups v1 */
	struct interval *interval;
	struct record record;

	for (size_t i = 0; i < 3; i++) {
		culprits[i].kind = WIRE_CULPRIT_THROTTLE;
		culprits[i].start = i == 1;
	}
	record = record_of(11, END, culprits, 3);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	assert_int_equal(sum(interval, 11, STATE_RUNNABLE), END - START);
	for (size_t i = 0; i < 3; i++) {
		const struct blame *blame = interval->blames;

		while (blame < interval->blames + interval->blame_count &&
		       (blame->kind != WIRE_CULPRIT_THROTTLE || blame->culprit.cgroup_id != ids[i]))
			blame++;
		assert_true(blame < interval->blames + interval->blame_count);
		assert_int_equal(blame->total_ns, culprits[i].total_ns);
		assert_int_equal(blame->culprit.tid, 0);
		assert_string_equal(blame->culprit.comm, "culprit");
	}
	intervals_free(intervals);
}

CASE(what_was_folded_is_owed_to_others)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_RUNNABLE);
	struct wire_culprit culprit = by_thread(WIRE_RUNNABLE, 99, 400000);
	struct record record = record_of(11, END, &culprit, 1);

	record.blame.folded = 1U << WIRE_RUNNABLE;
	feed(intervals, &record);
	assert_non_null(find(close_at(intervals, START, END), 11, WIRE_CULPRIT_OTHERS, 0));
	intervals_free(intervals);
}

CASE(a_wait_that_goes_on_says_so)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_thread waits = thread(11, END, WIRE_LOCK);
	struct interval *interval;

	waits.since_ns = START - 500;
	waits.site.state = WIRE_LOCK;
	feed(intervals, &waits);
	interval = close_at(intervals, START, END);
	assert_int_equal(interval->blame_count, 1);
	assert_true(interval->blames[0].goes_on);
	assert_int_equal(interval->blames[0].total_ns, END - START);
	intervals_free(intervals);
}

/* Waits that a timer has ended and that are made again: they are owed to who ends the last. */
CASE(waits_that_are_made_again_go_on)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 99, 300),
					  {.total_ns = 200,
					   .state = WIRE_LOCK,
					   .kind = WIRE_CULPRIT_UNKNOWN,
					   .flags = WIRE_CULPRIT_OPEN}};
	struct record record = record_of(11, END, culprits, 2);
	struct wire_thread waits = thread(11, END, WIRE_LOCK);
	struct interval *interval;
	const struct blame *open;

	/* one more has begun */
	waits.since_ns = END - 50;
	waits.site.state = WIRE_LOCK;
	feed(intervals, &waits);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	for (open = interval->blames; !open->goes_on; open++)
		;
	assert_int_equal(open->kind, WIRE_CULPRIT_UNKNOWN);
	assert_int_equal(open->total_ns, 250);
	assert_int_equal(sum(interval, 11, STATE_LOCK), END - START);
	/* between two of them; they began before the interval */
	waits = thread(11, 2 * END, WIRE_LOCK);
	waits.site.state = WIRE_ON_CPU;
	culprits[1].total_ns = 3 * END;
	record = record_of(11, 2 * END, culprits + 1, 1);
	feed(intervals, &waits);
	feed(intervals, &record);
	interval = close_at(intervals, END, 2 * END);
	assert_int_equal(interval->blame_count, 1);
	assert_true(interval->blames[0].goes_on);
	assert_int_equal(interval->blames[0].total_ns, END);
	intervals_free(intervals);
}

CASE(what_lay_before_the_interval_is_apart)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 99, 300000),
					  by_thread(WIRE_LOCK, 99, END - START)};
	struct record record;
	const struct blame *blame;

	culprits[0].flags = WIRE_CULPRIT_EARLIER;
	culprits[0].count = 0;
	record = record_of(11, END, culprits, 2);
	feed(intervals, &record);
	blame = find(close_at(intervals, START, END), 11, WIRE_CULPRIT_THREAD, 99);
	assert_int_equal(blame->total_ns, END - START);
	assert_int_equal(blame->earlier_ns, 300000);
	assert_int_equal(blame->count, 1);
	intervals_free(intervals);
}

CASE(no_more_is_charged_than_was_lost)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 98, 10),
					  by_thread(WIRE_LOCK, 99, END - START)};
	struct record record = record_of(11, END, culprits, 2);
	struct interval *interval;

	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	assert_int_equal(sum(interval, 11, STATE_LOCK), END - START);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 98)->total_ns, 10);
	intervals_free(intervals);
}

CASE(stolen_time_is_the_hypervisors)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_STOLEN);
	struct interval *interval = close_at(intervals, START, END);

	assert_int_equal(interval->blame_count, 1);
	assert_int_equal(interval->blames[0].kind, WIRE_CULPRIT_STEAL);
	assert_int_equal(interval->blames[0].total_ns, END - START);
	intervals_free(intervals);
}

CASE(who_rests_needs_no_culprit)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_IDLE);

	assert_int_equal(close_at(intervals, START, END)->blame_count, 0);
	intervals_free(intervals);
}

CASE(a_record_of_later_waits_for_its_interval)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprit = by_thread(WIRE_LOCK, 99, 100);
	struct record record = record_of(11, END + 1, &culprit, 1);
	struct wire_thread next = thread(11, END + 1000, WIRE_LOCK);

	feed(intervals, &record);
	assert_null(find(close_at(intervals, START, END), 11, WIRE_CULPRIT_THREAD, 99));
	feed(intervals, &next);
	assert_int_equal(
		find(close_at(intervals, END, END + 1000), 11, WIRE_CULPRIT_THREAD, 99)->total_ns,
		100);
	intervals_free(intervals);
}

CASE(another_thread_with_the_culprits_tid_is_innocent)
{
	struct intervals *intervals = begin((uint32_t[]){11, 12}, 2, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 12, 100),
					  by_thread(WIRE_LOCK, 12, 200)};
	struct record record;
	struct interval *interval;
	size_t named = 0, gone = 0;

	culprits[1].start = 13;
	culprits[1].pad = 0;
	record = record_of(11, END, &culprits[1], 1);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	for (size_t i = 0; i < interval->blame_count; i++) {
		const struct blame *blame = &interval->blames[i];

		named += blame->kind == WIRE_CULPRIT_THREAD && blame->culprit.cgroup_id;
		gone += blame->kind == WIRE_CULPRIT_THREAD && !blame->culprit.cgroup_id;
	}
	assert_int_equal(named, 0);
	assert_int_equal(gone, 1);
	intervals_free(intervals);
}

CASE(two_that_had_one_id_are_two_culprits)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 90, 100),
					  by_thread(WIRE_LOCK, 90, 200),
					  by_thread(WIRE_LOCK, 90, 300)};
	struct record record;
	struct interval *interval;
	uint64_t first = 0, second = 0;

	culprits[1].start = 91;
	memcpy(culprits[1].comm, "second", sizeof("second"));
	record = record_of(11, END, culprits, 3);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	for (size_t i = 0; i < interval->blame_count; i++) {
		if (!strcmp(interval->blames[i].culprit.comm, "culprit"))
			first += interval->blames[i].total_ns;
		if (!strcmp(interval->blames[i].culprit.comm, "second"))
			second += interval->blames[i].total_ns;
	}
	assert_int_equal(first, 400);
	assert_int_equal(second, 200);
	intervals_free(intervals);
}

CASE(a_record_that_is_too_short_is_refused)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprit = by_thread(WIRE_LOCK, 99, 100);
	struct record record = record_of(11, END, &culprit, 1);
	struct interval *interval = NULL;

	record.blame.count = 2;
	assert_true(intervals_feed(intervals, &record.blame.header, &interval) < 0);
	intervals_free(intervals);
}

CASE(the_same_shares_count_once)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprit = by_thread(WIRE_LOCK, 99, 400000);
	struct record record = record_of(11, END, &culprit, 1);
	struct interval *interval;

	feed(intervals, &record);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 99)->total_ns, 400000);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 99)->count, 1);
	intervals_free(intervals);
}

CASE(what_no_dwell_has_written_is_left_out)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 97, 1), by_thread(WIRE_LOCK, 98, 1),
					  by_thread(WIRE_LOCK, 99, 1)};
	struct record record;
	struct interval *interval;

	culprits[0].state = 200;
	culprits[1].kind = 200;
	culprits[2].flags = WIRE_CULPRIT_MEANWHILE;
	culprits[2].meanwhile.state = 200;
	record = record_of(11, END, culprits, 3);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	assert_null(find(interval, 11, WIRE_CULPRIT_THREAD, 97));
	assert_null(find(interval, 11, WIRE_CULPRIT_THREAD, 98));
	assert_false(find(interval, 11, WIRE_CULPRIT_THREAD, 99)->has_meanwhile);
	assert_int_equal(sum(interval, 11, STATE_LOCK), END - START);
	intervals_free(intervals);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(targets_are_the_only_culprits_where_that_was_asked_for),
		cmocka_unit_test(what_is_counted_is_lost_and_comes_victim_by_victim),
		cmocka_unit_test(records_of_the_next_interval_wait_for_it),
		cmocka_unit_test(what_no_one_is_charged_with_is_not_known),
		cmocka_unit_test(limits_of_other_cgroups_are_other_culprits),
		cmocka_unit_test(what_was_folded_is_owed_to_others),
		cmocka_unit_test(a_wait_that_goes_on_says_so),
		cmocka_unit_test(waits_that_are_made_again_go_on),
		cmocka_unit_test(what_lay_before_the_interval_is_apart),
		cmocka_unit_test(no_more_is_charged_than_was_lost),
		cmocka_unit_test(stolen_time_is_the_hypervisors),
		cmocka_unit_test(who_rests_needs_no_culprit),
		cmocka_unit_test(a_record_of_later_waits_for_its_interval),
		cmocka_unit_test(another_thread_with_the_culprits_tid_is_innocent),
		cmocka_unit_test(two_that_had_one_id_are_two_culprits),
		cmocka_unit_test(a_record_that_is_too_short_is_refused),
		cmocka_unit_test(the_same_shares_count_once),
		cmocka_unit_test(what_no_dwell_has_written_is_left_out),
	};

	return RUN(cases);
}
