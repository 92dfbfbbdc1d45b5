// SPDX-License-Identifier: GPL-2.0-or-later
/* Which waits a row's blocked time is known to be of, and counters of groups by reason. */
#include "test.h"

#include "base/duration.h"
#include "model/blame.h"
#include "model/counters.h"
#include "model/waits.h"

#define READ 0 /* x86-64's; the machine is another, so that calls are numbers everywhere */

static struct session_info session = {.wire = {.states = ~0U, .metrics = ~0U, .machine = "none"}};

static const struct reason_marks no_marks;

static struct wire_wait_site site_of(enum state state, __s16 syscall)
{
	return (struct wire_wait_site){
		.state = wire_of_state(state), .detail = WIRE_DETAIL_PIPE, .syscall = syscall};
}

/* A second in which it was blocked so long, now for so long. */
static struct row blocked(enum state state, uint64_t ns, uint64_t now_ns)
{
	struct row row = {.tid = 1, .pid = 1, .threads = 1, .observed_ns = NS_PER_S};

	row.states_ns[state] = ns;
	row.states_ns[STATE_USER] = NS_PER_S - ns;
	row.site = site_of(state, READ);
	row.in_state_ns = now_ns;
	return row;
}

CASE(the_wait_at_the_end_is_known_as_far_as_the_interval_has_it)
{
	struct row row = blocked(STATE_LOCK, NS_PER_S, 10 * NS_PER_S);
	struct wait_part parts[WAITS_MAX];

	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 1);
	assert_int_equal(parts[0].state, STATE_LOCK);
	assert_int_equal(parts[0].ns, NS_PER_S);
	row = blocked(STATE_LOCK, 600, 200);
	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 1);
	assert_int_equal(parts[0].ns, 200);
	/* the end of the dead is not known */
	row.exited = true;
	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 0);
}

CASE(the_wait_at_the_beginning_is_known_if_no_other_ended)
{
	struct row row = blocked(STATE_LOCK, 600, 200);
	struct wait_part parts[WAITS_MAX];

	row.began = site_of(STATE_LOCK, READ + 1);
	row.woken = 1;
	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 2);
	assert_int_equal(parts[1].ns, 400);
	assert_int_equal(parts[1].site.syscall, READ + 1);
	row.woken = 2;
	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 1);
	/* of another state, and the thread has ended since */
	row.began = site_of(STATE_IDLE, READ);
	row.states_ns[STATE_IDLE] = 50;
	row.woken = 1;
	row.exited = true;
	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 1);
	assert_int_equal(parts[0].state, STATE_IDLE);
	assert_int_equal(parts[0].ns, 50);
}

CASE(who_runs_or_is_stopped_waits_for_nothing)
{
	struct row row = blocked(STATE_STOPPED, NS_PER_S, NS_PER_S);
	struct wait_part parts[WAITS_MAX];

	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 0);
	row = blocked(STATE_RUNNABLE, NS_PER_S, NS_PER_S);
	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 0);
	row = blocked(STATE_LOCK, 0, NS_PER_S);
	assert_int_equal(waits_of(parts, &no_marks, &row, &session), 0);
}

static struct wire_reason ended_of(const struct row *row, struct wire_wait_site site, uint64_t ns)
{
	return (struct wire_reason){.tid = row->tid,
				    .pid = row->pid,
				    .origin_ns = row->origin_ns,
				    .site = site,
				    .total_ns = ns,
				    .count = 1};
}

static void turn(struct reason_marks *marks, struct wire_reason *reasons, size_t count)
{
	struct interval interval = {.reasons = reasons, .reason_count = count};

	assert_int_equal(reason_marks_turn(marks, &interval), 0);
}

static uint64_t ns_of(const struct wait_part *parts, size_t count, struct wire_wait_site site)
{
	for (size_t i = 0; i < count; i++)
		if (!memcmp(&parts[i].site, &site, sizeof(site)))
			return parts[i].ns;
	return 0;
}

CASE(waits_that_have_ended_are_known_by_reason)
{
	struct wire_wait_site pipe = site_of(STATE_LOCK, READ), other = site_of(STATE_LOCK, 9),
			      idle = site_of(STATE_IDLE, 8);
	struct row row = blocked(STATE_LOCK, 600, 200);
	struct row stranger = row;
	struct wire_reason reasons[] = {ended_of(&row, other, 1000), ended_of(&row, pipe, 5000),
					ended_of(&stranger, pipe, 1 << 20),
					ended_of(&row, idle, 7)};
	struct wait_part parts[WAITS_MAX];
	struct reason_marks marks = {0};
	size_t count;

	stranger.origin_ns = 1;
	reasons[2].origin_ns = 1;
	row.woken = 9;
	/* the first interval: what has been is not of it */
	turn(&marks, reasons, 3);
	assert_int_equal(waits_of(parts, &marks, &row, &session), 1);
	/* 300 and 80 have ended, 200 of another wait go on: 20 are not known */
	reasons[0].total_ns += 300;
	reasons[1].total_ns += 80;
	turn(&marks, reasons, 3);
	count = waits_of(parts, &marks, &row, &session);
	assert_int_equal(count, 2);
	assert_int_equal(ns_of(parts, count, other), 300);
	assert_int_equal(ns_of(parts, count, pipe), 280);
	/* a reason that is new is all of this interval */
	row.states_ns[STATE_IDLE] = 7;
	turn(&marks, reasons, 4);
	count = waits_of(parts, &marks, &row, &session);
	assert_int_equal(count, 2);
	assert_int_equal(ns_of(parts, count, idle), 7);
	reason_marks_release(&marks);
}

CASE(of_a_wait_that_began_earlier_the_rest_is_of_the_interval)
{
	struct wire_wait_site first = site_of(STATE_LOCK, 9), second = site_of(STATE_LOCK, 8);
	struct row row = blocked(STATE_LOCK, 500, 0);
	struct wire_reason reasons[] = {ended_of(&row, first, 10), ended_of(&row, second, 20)};
	struct wait_part parts[WAITS_MAX];
	struct reason_marks marks = {0};
	size_t count;

	row.site = site_of(STATE_USER, WIRE_SYSCALL_NONE);
	turn(&marks, reasons, 2);
	reasons[0].total_ns += 900;
	reasons[1].total_ns += 100;
	turn(&marks, reasons, 2);
	row.began = first;
	count = waits_of(parts, &marks, &row, &session);
	assert_int_equal(ns_of(parts, count, first), 400);
	assert_int_equal(ns_of(parts, count, second), 100);
	/* it was not recognized yet then: no more than there is */
	row.began = site_of(STATE_UNKNOWN, 9);
	count = waits_of(parts, &marks, &row, &session);
	assert_int_equal(ns_of(parts, count, first) + ns_of(parts, count, second), 500);
	row.states_ns[STATE_LOCK] = 0;
	assert_int_equal(waits_of(parts, &marks, &row, &session), 0);
	reason_marks_release(&marks);
}

CASE(reasons_are_counted_from_where_a_time_began)
{
	struct wire_wait_site pipe = site_of(STATE_LOCK, READ), other = site_of(STATE_LOCK, 9);
	struct row row = blocked(STATE_LOCK, 600, 200);
	struct wire_reason reasons[] = {ended_of(&row, other, 1000), ended_of(&row, pipe, 5000)};
	struct wire_reason since[2];
	struct reason_marks marks = {0};
	struct reason_base base = {0};

	/* what was before the first is not known, and not counted */
	turn(&marks, reasons, 2);
	assert_int_equal(reason_base_begin(&base, &marks), 0);
	assert_int_equal(reason_base_since(&base, &marks, since), 0);
	reasons[1].total_ns += 70;
	reasons[1].count += 2;
	turn(&marks, reasons, 2);
	assert_int_equal(reason_base_since(&base, &marks, since), 1);
	assert_int_equal(since[0].total_ns, 70);
	assert_int_equal(since[0].count, 2);
	/* it begins again with this interval, of which that is all */
	assert_int_equal(reason_base_begin(&base, &marks), 0);
	assert_int_equal(reason_base_since(&base, &marks, since), 1);
	assert_int_equal(since[0].total_ns, 70);
	/* what was not kept for a while has begun at zero */
	turn(&marks, reasons, 0);
	assert_int_equal(reason_base_since(&base, &marks, since), 0);
	turn(&marks, reasons, 0);
	assert_int_equal(reason_base_since(&base, &marks, since), 0);
	turn(&marks, reasons, 2);
	assert_int_equal(reason_base_since(&base, &marks, since), 2);
	assert_int_equal(since[0].total_ns + since[1].total_ns, 6070);
	reason_base_release(&base);
	reason_marks_release(&marks);
}

CASE(a_thread_that_one_snapshot_has_missed_counts_from_where_it_was)
{
	struct row row = blocked(STATE_LOCK, 600, 200), missed = row;
	struct wire_wait_site pipe = site_of(STATE_LOCK, READ), other = site_of(STATE_LOCK, 9);
	struct wire_reason reasons[3], since[3];
	struct reason_marks marks = {0};
	struct reason_base base = {0}, later = {0};

	missed.tid += 1;
	reasons[0] = ended_of(&row, pipe, 5000);
	reasons[1] = ended_of(&missed, pipe, 7000);
	reasons[2] = ended_of(&missed, other, 9000);
	turn(&marks, reasons, 3);
	assert_int_equal(reason_base_begin(&base, &marks), 0);
	turn(&marks, reasons, 1);
	assert_int_equal(reason_base_since(&base, &marks, since), 0);
	/* as often as one asks */
	assert_int_equal(reason_base_since(&base, &marks, since), 0);
	for (int i = 0; i < 3; i++) {
		reasons[i].total_ns += 10;
		reasons[i].count++;
	}
	turn(&marks, reasons, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(reason_marks_ended(&marks, &marks.now[i]), 10);
	assert_int_equal(reason_base_since(&base, &marks, since), 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(since[i].total_ns, 10);
		assert_int_equal(since[i].count, 1);
	}
	/* also where the time begins with the snapshot that missed it */
	assert_int_equal(reason_base_begin(&later, &marks), 0);
	assert_int_equal(reason_base_since(&later, &marks, since), 3);
	assert_int_equal(since[0].total_ns + since[1].total_ns + since[2].total_ns, 30);
	reason_base_release(&base);
	reason_base_release(&later);
	reason_marks_release(&marks);
}

/* Of the group, all reasons of that state: what it was blocked in it. */
static uint64_t by_reason(const struct counters *counters, const struct leader *group,
			  enum state state)
{
	uint64_t sum =
		group->counts[COUNTERS_OTHER + state] + group->counts[COUNTERS_UNKNOWN + state];

	for (size_t i = 0; group->name && i < counters->reasons.count; i++) {
		const struct leader *reason = counters->reasons.items[i];
		struct wait_key key = counters_wait_key(reason);

		if (!strcmp(key.group, group->name) && key.state == state)
			sum += reason->counts[0];
	}
	return sum;
}

static void assert_sums(const struct counters *counters)
{
	for (size_t i = 0; i <= counters->groups.count; i++) {
		const struct leader *group = i < counters->groups.count ? counters->groups.items[i]
									: &counters->groups.rest;

		for (int at = 0; at < STATES; at++)
			if (state_is_blocked((enum state)at))
				assert_int_equal(by_reason(counters, group, (enum state)at),
						 group->counts[at]);
	}
}

/* Nine groups of which three lead, in turns, each with many reasons. */
CASE(reasons_of_a_group_add_up_and_never_go_back)
{
	static uint64_t before[4096];
	struct counters counters;
	uint64_t start_ns = NS_PER_S, random = 7;

	assert_int_equal(counters_init(&counters, BY_PROCESS, 3, 0), 0);
	for (int turn = 0; turn < 500; turn++) {
		struct row rows[90];
		struct interval interval = {.start_ns = start_ns,
					    .end_ns = start_ns + 60 * NS_PER_S,
					    .rows = rows,
					    .row_count = 90,
					    .session = &session};

		for (unsigned int i = 0; i < 90; i++) {
			enum state in = i % 3 ? STATE_LOCK : STATE_UNKNOWN;
			uint64_t ns;

			random = random * 6364136223846793005U + 1442695040888963407U;
			ns = (random >> 40) %
			     ((i / 10 + (unsigned int)turn / 20) % 9 ? 900 : 90000);
			rows[i] = blocked(in, ns, (random >> 33) % 2 ? ns : ns / 3);
			rows[i].site.syscall = (__s16)(random >> 50 & 15);
			rows[i].began = site_of(STATE_LOCK, (__s16)(random >> 44 & 15));
			rows[i].woken = random >> 60 & 1;
			snprintf(rows[i].process, sizeof(rows[i].process), "group %u", i / 10);
		}
		counters_add(&counters, &interval);
		assert_sums(&counters);
		assert_true(counters.reasons.leading <= 3 * COUNTERS_REASONS_EACH);
		/* all names have come by then */
		for (size_t i = 0; turn > 100 && i < counters.reasons.count; i++) {
			assert_true(counters.reasons.items[i]->counts[0] >= before[i]);
			before[i] = counters.reasons.items[i]->counts[0];
		}
		start_ns = interval.end_ns;
	}
	assert_int_equal(counters.reasons.leading, 3 * COUNTERS_REASONS_EACH);
	assert_true(counters.groups.rest.counts[COUNTERS_OTHER + STATE_LOCK] > 0);
	assert_true(counters.groups.rest.counts[COUNTERS_UNKNOWN + STATE_LOCK] > 0);
	counters_release(&counters);
}

CASE(sites_with_the_same_words_are_one_reason)
{
	struct row rows[] = {blocked(STATE_LOCK, 5, 5), blocked(STATE_LOCK, 7, 7),
			     blocked(STATE_IDLE, 3, 3)};
	struct interval interval = {
		.end_ns = NS_PER_S, .rows = rows, .row_count = 3, .session = &session};
	struct counters counters;
	struct wait_key key;

	/* both are "page fault:pipe": the second is none that this machine has */
	rows[0].site.syscall = WIRE_SYSCALL_NONE;
	rows[1].site.syscall = -9;
	rows[2].site = (struct wire_wait_site){.state = WIRE_IDLE, .syscall = -9};
	assert_int_equal(counters_init(&counters, BY_PROCESS, 3, 0), 0);
	counters_add(&counters, &interval);
	assert_sums(&counters);
	for (size_t i = 0; i < counters.reasons.count; i++)
		for (size_t j = 0; j < i; j++) {
			key = counters_wait_key(counters.reasons.items[i]);
			assert_false(key.state ==
					     counters_wait_key(counters.reasons.items[j]).state &&
				     !strcmp(key.reason,
					     counters_wait_key(counters.reasons.items[j]).reason));
		}
	counters_release(&counters);
}

/* Of two names that a terminal must not get, in the one or the other form. */
CASE(names_that_are_printed_alike_are_one_group)
{
	struct row rows[] = {blocked(STATE_LOCK, 5, 5), blocked(STATE_LOCK, 7, 7)};
	struct blame blames[] = {
		{.state = STATE_LOCK,
		 .kind = WIRE_CULPRIT_THREAD,
		 .victim = {.tid = 1},
		 .total_ns = 5},
		{.state = STATE_LOCK,
		 .kind = WIRE_CULPRIT_THREAD,
		 .victim = {.tid = 2},
		 .total_ns = 7},
	};
	struct interval interval = {.end_ns = NS_PER_S,
				    .rows = rows,
				    .row_count = 2,
				    .blames = blames,
				    .blame_count = 2,
				    .session = &session};
	static const char *const names[] = {"a\x1b\xc2\x9b", "a\r\xe2\x80\xae"};
	struct counters counters;
	struct blame_key key;

	for (int i = 0; i < 2; i++) {
		snprintf(rows[i].process, sizeof(rows[i].process), "%s", names[i]);
		snprintf(blames[i].victim.process, sizeof(blames[i].victim.process), "%s",
			 names[i]);
		snprintf(blames[i].culprit.process, sizeof(blames[i].culprit.process), "%s",
			 names[1 - i]);
	}
	assert_int_equal(counters_init(&counters, BY_PROCESS, 3, 0), 0);
	counters_add(&counters, &interval);
	assert_sums(&counters);
	assert_int_equal(counters.groups.count, 1);
	assert_string_equal(counters.groups.items[0]->name, "a??");
	assert_int_equal(counters.groups.items[0]->counts[STATE_LOCK], 12);
	assert_string_equal(counters_wait_key(counters.reasons.items[0]).group, "a??");
	assert_int_equal(counters.blames.count, 1);
	key = counters_blame_key(counters.blames.items[0]);
	assert_string_equal(key.victim, "a??");
	assert_string_equal(key.culprit, "a??");
	counters_release(&counters);
}

static struct blame owed_to(const char *comm)
{
	struct blame blame = {.state = STATE_RUNNABLE,
			      .kind = WIRE_CULPRIT_THREAD,
			      .victim = {.tid = 1, .process = "victim"},
			      .total_ns = 5};

	snprintf(blame.culprit.comm, sizeof(blame.culprit.comm), "%s", comm);
	return blame;
}

static const char *culprit_cgroup(struct interval *interval, const char *comm)
{
	static char found[64];
	struct blame blame = owed_to(comm);
	struct counters counters;

	interval->blames = &blame;
	interval->blame_count = 1;
	assert_int_equal(counters_init(&counters, BY_CGROUP, 3, 0), 0);
	counters_add(&counters, interval);
	assert_int_equal(counters.blames.count, 1);
	snprintf(found, sizeof(found), "%s", counters_blame_key(counters.blames.items[0]).culprit);
	counters_release(&counters);
	return found;
}

static void name_cgroup(struct session_info *into, uint64_t id, const char *path)
{
	union {
		struct wire_cgroup record;
		char room[sizeof(struct wire_cgroup) + 16];
	} cgroup = {.record = {.header = {.kind = WIRE_CGROUP, .size = sizeof(cgroup)}, .id = id}};

	snprintf(cgroup.record.path, 16, "%s", path);
	assert_int_equal(session_feed(into, &cgroup.record.header), 1);
}

CASE(a_name_has_a_cgroup_where_all_of_its_threads_are_in_one)
{
	struct session_info own = session;
	struct row rows[] = {
		{.tid = 1, .comm = "one", .cgroup_id = 7},
		{.tid = 2, .comm = "one", .cgroup_id = 7},
		{.tid = 3, .comm = "two", .cgroup_id = 7},
		{.tid = 4, .comm = "two", .cgroup_id = 8},
		{.tid = 5, .comm = "else", .cgroup_id = 8},
	};
	struct interval interval = {
		.end_ns = NS_PER_S, .rows = rows, .row_count = 5, .session = &own};

	name_cgroup(&own, 7, "/seven");
	name_cgroup(&own, 8, "/eight");
	assert_string_equal(culprit_cgroup(&interval, "one"), "/seven");
	assert_string_equal(culprit_cgroup(&interval, "else"), "/eight");
	assert_string_equal(culprit_cgroup(&interval, "two"), "unknown");
	assert_string_equal(culprit_cgroup(&interval, "three"), "unknown");
	assert_string_equal(culprit_cgroup(&interval, ""), "unknown");
	/* others of that name may be where nothing is measured */
	own.wire.flags |= WIRE_SESSION_TARGETED;
	assert_string_equal(culprit_cgroup(&interval, "one"), "unknown");
	session_release(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wait_at_the_end_is_known_as_far_as_the_interval_has_it),
		cmocka_unit_test(the_wait_at_the_beginning_is_known_if_no_other_ended),
		cmocka_unit_test(who_runs_or_is_stopped_waits_for_nothing),
		cmocka_unit_test(waits_that_have_ended_are_known_by_reason),
		cmocka_unit_test(of_a_wait_that_began_earlier_the_rest_is_of_the_interval),
		cmocka_unit_test(reasons_are_counted_from_where_a_time_began),
		cmocka_unit_test(a_thread_that_one_snapshot_has_missed_counts_from_where_it_was),
		cmocka_unit_test(reasons_of_a_group_add_up_and_never_go_back),
		cmocka_unit_test(sites_with_the_same_words_are_one_reason),
		cmocka_unit_test(names_that_are_printed_alike_are_one_group),
		cmocka_unit_test(a_name_has_a_cgroup_where_all_of_its_threads_are_in_one),
	};

	return RUN(tests);
}
