// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "model/blame_workers.h"
#include "model/blame_losses.h"

#define START 1000000
#define END   2000000

/* A thread that was in one state for the interval; its start is such that culprits find it. */
static struct wire_thread thread(uint32_t tid, uint64_t end, __u8 state)
{
	struct wire_thread record = {
		.header = {sizeof(record), WIRE_THREAD, 0, end},
		.start_ns = (uint64_t)tid << 20,
		.origin_ns = 5,
		.end_ns = end,
		.since_ns = end,
		.cgroup_id = tid / 10,
		.tid = tid,
		.pid = tid / 10 * 10,
		.comm = "thread",
		.process = "program",
	};

	record.totals.ns[state] = end - record.origin_ns;
	return record;
}

struct record {
	struct wire_blame blame;
	struct wire_culprit culprits[4];
};

static struct record record_of(uint32_t tid, uint64_t time, const struct wire_culprit *culprits,
			       size_t count)
{
	struct record record = {.blame = {.header = {.kind = WIRE_BLAME, .time_ns = time},
					  .origin_ns = 5,
					  .tid = tid,
					  .pid = tid / 10 * 10,
					  .count = (__u32)count}};

	record.blame.header.size = (__u32)(sizeof(record.blame) + count * sizeof(*culprits));
	memcpy(record.culprits, culprits, count * sizeof(*culprits));
	return record;
}

static struct wire_culprit by_thread(__u8 state, uint32_t tid, uint64_t ns)
{
	return (struct wire_culprit){.total_ns = ns,
				     .count = 1,
				     .tid = tid,
				     .pid = tid / 10 * 10,
				     .start = tid,
				     .state = state,
				     .kind = WIRE_CULPRIT_THREAD,
				     .comm = "culprit"};
}

static struct interval *feed(struct intervals *intervals, const void *record)
{
	struct interval *interval = NULL;

	assert_true(intervals_feed(intervals, record, &interval) >= 0);
	return interval;
}

static struct interval *close_at(struct intervals *intervals, uint64_t start, uint64_t end)
{
	struct wire_interval record = {.header = {sizeof(record), WIRE_INTERVAL, 0, end},
				       .start_ns = start,
				       .end_ns = end};

	return feed(intervals, &record);
}

/* A session with blame, and the baseline with these threads; states as in struct wire_thread. */
static struct intervals *begin(const uint32_t *tids, size_t count, __u8 state)
{
	struct wire_session session = {.header = {sizeof(session), WIRE_SESSION, 0, 0},
				       .source = WIRE_SOURCE_BPF,
				       .flags = WIRE_SESSION_BLAME,
				       .states = ~0U,
				       .metrics = ~0U};
	struct intervals *intervals = intervals_new();

	feed(intervals, &session);
	for (size_t i = 0; i < count; i++) {
		struct wire_thread one = thread(tids[i], START, state);

		feed(intervals, &one);
	}
	close_at(intervals, START, START);
	for (size_t i = 0; i < count; i++) {
		struct wire_thread one = thread(tids[i], END, state);

		feed(intervals, &one);
	}
	return intervals;
}

/* NULL: there is none. */
static const struct blame *find(const struct interval *interval, uint32_t victim,
				enum wire_culprit_kind kind, uint32_t culprit)
{
	for (size_t i = 0; i < interval->blame_count; i++) {
		const struct blame *blame = &interval->blames[i];

		if (blame->victim.tid == victim && blame->kind == kind &&
		    blame->culprit.tid == culprit)
			return blame;
	}
	return NULL;
}

static uint64_t sum(const struct interval *interval, uint32_t victim, enum state state)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < interval->blame_count; i++)
		if (interval->blames[i].victim.tid == victim && interval->blames[i].state == state)
			ns += interval->blames[i].total_ns;
	return ns;
}

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

CASE(processes_are_summed_up_on_both_sides)
{
	struct intervals *intervals = begin((uint32_t[]){11, 12, 21, 22}, 4, WIRE_LOCK);
	struct wire_culprit first = by_thread(WIRE_LOCK, 21, 100),
			    second = by_thread(WIRE_LOCK, 22, 200);
	struct record records[] = {record_of(11, END, &first, 1), record_of(12, END, &second, 1)};
	struct interval *interval;
	const struct blame *blame = NULL;

	feed(intervals, &records[0]);
	feed(intervals, &records[1]);
	interval = close_at(intervals, START, END);
	interval_group_blame(interval, BY_PROCESS);
	for (size_t i = 0; i < interval->blame_count; i++)
		if (interval->blames[i].culprit.pid == 20)
			blame = &interval->blames[i];
	assert_non_null(blame);
	assert_int_equal(blame->victim.pid, 10);
	assert_int_equal(blame->total_ns, 300);
	assert_int_equal(blame->count, 2);
	assert_string_equal(blame->culprit.comm, "program");
	intervals_free(intervals);
}

CASE(culprits_of_no_known_cgroup_keep_their_names)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 98, 100),
					  by_thread(WIRE_LOCK, 99, 200),
					  by_thread(WIRE_LOCK, 97, 400)};
	struct record record;
	struct interval *interval;
	uint64_t named_ns = 0, other_ns = 0;

	memcpy(culprits[2].comm, "other", sizeof("other"));
	record = record_of(11, END, culprits, 3);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	interval_group_blame(interval, BY_CGROUP);
	for (size_t i = 0; i < interval->blame_count; i++) {
		const struct blame *blame = &interval->blames[i];

		if (blame->kind != WIRE_CULPRIT_THREAD)
			continue;
		assert_int_equal(blame->culprit.pid, 0);
		assert_false(blame_is_own(blame));
		if (!strcmp(blame->culprit.comm, "culprit"))
			named_ns += blame->total_ns;
		else if (!strcmp(blame->culprit.comm, "other"))
			other_ns += blame->total_ns;
	}
	assert_int_equal(named_ns, 300);
	assert_int_equal(other_ns, 400);
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

CASE(a_sum_has_waits_whole)
{
	struct intervals *intervals = begin((uint32_t[]){11}, 1, WIRE_LOCK);
	struct wire_culprit culprits[] = {by_thread(WIRE_LOCK, 99, END - START),
					  by_thread(WIRE_LOCK, 99, 500)};
	struct wire_thread waits = thread(11, END, WIRE_LOCK), next;
	struct blame_sum sum = {0};
	struct interval *interval;
	struct record record;
	uint64_t known = 0, all = 0;

	/* it waits for all of the first interval, and for half of the next */
	waits.since_ns = START;
	waits.site.state = WIRE_LOCK;
	feed(intervals, &waits);
	assert_int_equal(blame_sum_add(&sum, close_at(intervals, START, END)), 0);
	next = thread(11, END + 1000, WIRE_LOCK);
	next.totals.ns[WIRE_LOCK] -= 500;
	next.totals.ns[WIRE_ON_CPU] = 500;
	culprits[0].flags = WIRE_CULPRIT_EARLIER;
	record = record_of(11, END + 1000, culprits, 2);
	feed(intervals, &next);
	feed(intervals, &record);
	interval = close_at(intervals, END, END + 1000);
	assert_int_equal(blame_sum_add(&sum, interval), 0);
	blame_sum_end(&sum);
	for (size_t i = 0; i < sum.count; i++) {
		all += sum.items[i].total_ns;
		if (sum.items[i].kind == WIRE_CULPRIT_THREAD)
			known += sum.items[i].total_ns;
		assert_int_equal(sum.items[i].earlier_ns, 0);
	}
	assert_int_equal(all, END - START + 500);
	assert_int_equal(known, END - START + 500);
	blame_sum_release(&sum);
	intervals_free(intervals);
}

/* Two groups of two and one; 30 is no worker. */
static const struct group_member group_members[] = {
	{.tid = 11}, {.tid = 12}, {.tid = 20, .group = 1}};

/* Of a group and a state, because of that group (+ 1; 0: not a worker) or kind. */
static uint64_t group_share(const struct blame_sum *sum, uint32_t group,
			    enum wire_culprit_kind kind, uint32_t culprit)
{
	uint64_t share_ns = 0;

	for (size_t i = 0; i < sum->count; i++)
		if (sum->items[i].victim.group == group + 1 && sum->items[i].kind == kind &&
		    sum->items[i].culprit.group == culprit)
			share_ns += sum->items[i].total_ns;
	return share_ns;
}

CASE(workers_are_summed_up_by_group)
{
	struct intervals *intervals = begin((uint32_t[]){11, 12, 20, 30}, 4, WIRE_RUNNABLE);
	/* by a worker, a thread of a worker's process, one of its own group, and by others */
	struct wire_culprit culprits[] = {
		by_thread(WIRE_RUNNABLE, 20, 300000), by_thread(WIRE_RUNNABLE, 25, 200000),
		by_thread(WIRE_RUNNABLE, 12, 100000), by_thread(WIRE_RUNNABLE, 30, 50000)};
	struct record record = record_of(11, END, culprits, 4);
	struct interval *interval;
	struct blame_sum sum = {0};

	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	interval_blame_of_workers(interval, group_members, ARRAY_SIZE(group_members));
	assert_int_equal(blame_sum_add(&sum, interval), 0);
	blame_sum_end_workers(&sum);
	assert_int_equal(group_share(&sum, 0, WIRE_CULPRIT_THREAD, 2), 500000);
	assert_int_equal(group_share(&sum, 0, WIRE_CULPRIT_THREAD, 1), 100000);
	assert_int_equal(group_share(&sum, 0, WIRE_CULPRIT_THREAD, 0), 50000);
	assert_int_equal(group_share(&sum, 0, WIRE_CULPRIT_UNKNOWN, 0), 2 * (END - START) - 650000);
	assert_int_equal(group_share(&sum, 1, WIRE_CULPRIT_UNKNOWN, 0), END - START);
	/* group by group, the largest first; who is no worker is no victim */
	for (size_t i = 0; i < sum.count; i++) {
		assert_in_range(sum.items[i].victim.group, 1, 2);
		if (i && sum.items[i].victim.group == sum.items[i - 1].victim.group)
			assert_true(sum.items[i].total_ns <= sum.items[i - 1].total_ns);
	}
	blame_sum_release(&sum);
	intervals_free(intervals);
}

CASE(what_workers_make_is_their_groups)
{
	/* 61 is made by 60, which the worker 20 made; 70 is another's */
	struct row rows[] = {{.tid = 61, .pid = 61, .parent_pid = 60},
			     {.tid = 60, .pid = 60, .parent_pid = 20},
			     {.tid = 62, .pid = 60, .parent_pid = 20},
			     {.tid = 70, .pid = 70, .parent_pid = 1}};
	struct interval interval = {.rows = rows, .row_count = ARRAY_SIZE(rows)};
	struct group_member members[3 + ARRAY_SIZE(rows)] = {group_members[0], group_members[1],
							     group_members[2]};
	size_t count = group_members_adopt(members, 3, &interval);

	assert_int_equal(count, 5);
	assert_int_equal(group_members_find(members, count, 61)->group, 1);
	assert_true(group_members_find(members, count, 60)->adopted);
	assert_false(group_members_find(members, count, 20)->adopted);
	assert_null(group_members_find(members, count, 70));
}

CASE(no_wait_of_a_group_goes_on_after_its_end)
{
	struct intervals *intervals = begin((uint32_t[]){11, 12}, 2, WIRE_RUNNABLE);
	struct wire_thread waits = thread(11, END, WIRE_RUNNABLE);
	struct blame_sum sum = {0};
	struct interval *interval;

	waits.since_ns = START;
	waits.site.state = WIRE_RUNNABLE;
	feed(intervals, &waits);
	interval = close_at(intervals, START, END);
	interval_blame_of_workers(interval, group_members, ARRAY_SIZE(group_members));
	assert_int_equal(blame_sum_add(&sum, interval), 0);
	blame_sum_end_workers(&sum);
	assert_int_equal(sum.count, 1);
	assert_false(sum.items[0].goes_on);
	assert_int_equal(sum.items[0].total_ns, 2 * (END - START));
	blame_sum_release(&sum);
	intervals_free(intervals);
}

CASE(who_holds_a_lock_is_named_in_a_process_too)
{
	struct intervals *intervals = begin((uint32_t[]){11, 12, 13}, 3, WIRE_LOCK);
	struct wire_culprit locks[] = {by_thread(WIRE_LOCK, 12, 300000),
				       by_thread(WIRE_LOCK, 13, 100000)};
	struct record record = record_of(11, END, locks, 2);
	struct blame named = {0}, other = {0};
	struct interval *interval;

	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	for (size_t i = 0; i < interval->blame_count; i++)
		if (interval->blames[i].culprit.tid == 13)
			snprintf(interval->blames[i].culprit.comm,
				 sizeof(interval->blames[i].culprit.comm), "keeper");
	interval_group_blame(interval, BY_PROCESS);
	for (size_t i = 0; i < interval->blame_count; i++) {
		if (interval->blames[i].kind != WIRE_CULPRIT_THREAD)
			continue;
		if (!strcmp(interval->blames[i].culprit.comm, "keeper"))
			named = interval->blames[i];
		else
			other = interval->blames[i];
	}
	assert_int_equal(named.total_ns, 100000);
	assert_int_equal(other.total_ns, 300000);
	assert_true(blame_has_holder(&named));
	assert_false(blame_is_own(&named));
	assert_int_equal(named.culprit.tid, 0);
	intervals_free(intervals);
}

static struct blame share_of(uint32_t pid, const char *name, uint64_t total_ns)
{
	struct blame blame = {.victim = {.pid = 10},
			      .state = STATE_RUNNABLE,
			      .kind = WIRE_CULPRIT_THREAD,
			      .culprit = {.pid = pid},
			      .total_ns = total_ns};

	snprintf(blame.culprit.comm, sizeof(blame.culprit.comm), "%s", name);
	return blame;
}

CASE(many_culprits_of_a_name_are_one_line)
{
	struct blame blames[] = {share_of(20, "cat", 300), share_of(30, "cc", 200),
				 share_of(31, "cc", 180),  share_of(32, "cc", 10),
				 share_of(40, "dog", 100), share_of(50, "flea", 1)};
	struct interval interval = {.blames = blames, .blame_count = ARRAY_SIZE(blames)};
	cleanup_blame_losses struct blame_losses losses = {0};
	struct blame_line lines[6];
	uint64_t rest_ns;

	assert_int_equal(blame_losses_find(&losses, &interval, BLAME_SUFFERED, false), 0);
	assert_int_equal(losses.count, 1);
	/* there is room for each; the last is less than a hundredth */
	assert_int_equal(blame_loss_lines(&losses.items[0], BLAME_SUFFERED, lines, 6, &rest_ns), 5);
	assert_int_equal(rest_ns, 1);
	assert_int_equal(blame_loss_lines(&losses.items[0], BLAME_SUFFERED, lines, 2, &rest_ns), 2);
	assert_int_equal(lines[0].total_ns, 390);
	assert_int_equal(lines[0].parties, 3);
	assert_int_equal(lines[0].share->culprit.pid, 30);
	assert_int_equal(lines[1].parties, 1);
	assert_int_equal(rest_ns, 101);
}

static struct blame lost_by(unsigned int pid, enum state state, uint64_t total_ns)
{
	return (struct blame){.state = state,
			      .kind = WIRE_CULPRIT_THREAD,
			      .victim = {.pid = pid, .tid = pid},
			      .culprit = {.pid = 50, .tid = 50 + state},
			      .total_ns = total_ns};
}

CASE(victims_are_counted_once_each_whatever_they_lost)
{
	struct blame blames[] = {lost_by(1, STATE_LOCK, 300), lost_by(1, STATE_DISK, 5),
				 lost_by(1, STATE_RUNNABLE, 400), lost_by(2, STATE_LOCK, 350),
				 lost_by(3, STATE_SLEEP, 900)};
	struct interval interval = {.blames = blames, .blame_count = ARRAY_SIZE(blames)};
	static const size_t parties[] = {0, 1, 2, 2, 2};
	cleanup_blame_losses struct blame_losses losses = {0}, caused = {0};

	/* runnable of 1, lock of 2, lock and disk of 1 */
	assert_int_equal(blame_losses_find(&losses, &interval, BLAME_SUFFERED, false), 0);
	assert_int_equal(losses.count, 4);
	for (size_t i = 0; i < ARRAY_SIZE(parties); i++)
		assert_int_equal(blame_losses_parties(&losses, i), parties[i]);
	assert_int_equal(blame_losses_find(&caused, &interval, BLAME_CAUSED, false), 0);
	assert_int_equal(blame_losses_parties(&caused, caused.count), 3);
}

CASE(who_lost_most_comes_first)
{
	struct blame blames[] = {lost_by(1, STATE_LOCK, 250), lost_by(2, STATE_LOCK, 150),
				 lost_by(2, STATE_LOCK, 140), lost_by(3, STATE_SLEEP, 900),
				 lost_by(4, STATE_LOCK, 400)};
	struct interval interval = {.blames = blames, .blame_count = ARRAY_SIZE(blames)};
	cleanup_blame_losses struct blame_losses losses = {0};

	/* as it is printed: with what goes on */
	blames[2].kind = WIRE_CULPRIT_UNKNOWN;
	blames[2].goes_on = true;
	blames[4].goes_on = true;
	assert_int_equal(blame_losses_find(&losses, &interval, BLAME_SUFFERED, true), 0);
	assert_int_equal(losses.count, 4);
	assert_int_equal(losses.items[0].total_ns, 290);
	assert_int_equal(losses.items[1].total_ns, 250);
	/* which goes on, all of it */
	assert_int_equal(losses.items[2].total_ns, 400);
	/* what rests has lost nothing */
	assert_int_equal(losses.items[3].total_ns, 900);
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
		cmocka_unit_test(processes_are_summed_up_on_both_sides),
		cmocka_unit_test(culprits_of_no_known_cgroup_keep_their_names),
		cmocka_unit_test(a_record_that_is_too_short_is_refused),
		cmocka_unit_test(the_same_shares_count_once),
		cmocka_unit_test(what_no_dwell_has_written_is_left_out),
		cmocka_unit_test(a_sum_has_waits_whole),
		cmocka_unit_test(workers_are_summed_up_by_group),
		cmocka_unit_test(what_workers_make_is_their_groups),
		cmocka_unit_test(no_wait_of_a_group_goes_on_after_its_end),
		cmocka_unit_test(who_holds_a_lock_is_named_in_a_process_too),
		cmocka_unit_test(many_culprits_of_a_name_are_one_line),
		cmocka_unit_test(who_lost_most_comes_first),
		cmocka_unit_test(victims_are_counted_once_each_whatever_they_lost),
	};

	return RUN(cases);
}
