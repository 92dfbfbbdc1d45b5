// SPDX-License-Identifier: GPL-2.0-or-later
/* Blame summed up: by process, cgroup, group of workers, victim and culprit. */
#include "test.h"

#include "model/made-blame.h"

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

/* A process that is no target has no row, and yet it is in a cgroup. */
CASE(culprits_without_a_row_are_in_the_cgroup_that_they_were_found_in)
{
	const uint32_t tids[] = {11};
	struct intervals *intervals = begin(tids, 1, WIRE_RUNNABLE);
	struct wire_culprit culprits[] = {by_thread(WIRE_RUNNABLE, 21, 300),
					  by_thread(WIRE_RUNNABLE, 31, 200)};
	struct record record = record_of(11, END, culprits, 2);
	struct wire_member member = {
		.header = {sizeof(member), WIRE_MEMBER, 0, END}, .cgroup_id = 77, .pid = 20};
	struct wire_thread one;
	struct interval *interval;

	feed(intervals, &member);
	feed(intervals, &record);
	interval = close_at(intervals, START, END);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 21)->culprit.cgroup_id, 77);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 31)->culprit.cgroup_id, 0);
	/* of that snapshot alone */
	one = thread(11, END + 1000000, WIRE_RUNNABLE);
	feed(intervals, &one);
	record = record_of(11, END + 1000000, culprits, 2);
	feed(intervals, &record);
	interval = close_at(intervals, END, END + 1000000);
	assert_int_equal(find(interval, 11, WIRE_CULPRIT_THREAD, 21)->culprit.cgroup_id, 0);
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
		cmocka_unit_test(processes_are_summed_up_on_both_sides),
		cmocka_unit_test(culprits_of_no_known_cgroup_keep_their_names),
		cmocka_unit_test(culprits_without_a_row_are_in_the_cgroup_that_they_were_found_in),
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
