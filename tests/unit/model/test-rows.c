// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <asm/unistd.h>

#include "model/group.h"
#include "model/history.h"
#include "model/reason.h"
#include "model/summary.h"

static struct row sample_row(uint32_t tid, uint64_t user_ns)
{
	struct row row = {.tid = tid, .pid = 1, .threads = 1, .start_ns = tid, .observed_ns = 1000};

	row.states_ns[STATE_USER] = user_ns;
	row.states_ns[STATE_IDLE] = 1000 - user_ns;
	row.woken = 2;
	return row;
}

CASE(identities_number_threads)
{
	struct identities identities = {0};

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(identities_add(&identities, i / 2, i % 2), i);
	assert_int_equal(identities_add(&identities, 3, 1), 7);
	assert_int_equal(identities_find(&identities, 499, 1), 999);
	assert_true(identities_find(&identities, 499, 2) == IDENTITY_NONE);
	/* each number goes to another, and again, and those that keep theirs are found */
	for (uint32_t i = 0; i < 5000; i++) {
		const struct identity old = identities.items[i % 999];

		assert_int_equal(identities_replace(&identities, i % 999, 1000 + i, i), 0);
		assert_true(identities_find(&identities, old.tid, old.start_ns) == IDENTITY_NONE);
		for (size_t j = 0; j < 1000; j += 37)
			assert_int_equal(identities_find(&identities, identities.items[j].tid,
							 identities.items[j].start_ns),
					 j);
	}
	assert_int_equal(identities_find(&identities, 499, 1), 999);
	identities_clear(&identities);
	assert_true(identities_find(&identities, 3, 1) == IDENTITY_NONE);
	identities_release(&identities);
}

CASE(history_sums_and_remembers)
{
	struct history history = {0};

	for (uint64_t i = 0; i < 70; i++) {
		struct row row = sample_row(5, i < 65 ? 0 : 1000);
		struct interval interval = {.rows = &row, .row_count = 1};

		assert_int_equal(history_add(&history, &interval, BY_THREAD), 0);
	}
	struct row row = sample_row(5, 0);
	const struct history_item *item = history_find(&history, &row, BY_THREAD);

	assert_non_null(item);
	assert_int_equal(item->sum.states_ns[STATE_USER], 5000);
	assert_int_equal(item->sum.woken, 140);
	assert_int_equal(item->intervals, 70);
	assert_int_equal(item->shares[69 % HISTORY_INTERVALS][STATE_USER], 255);
	assert_int_equal(item->shares[64 % HISTORY_INTERVALS][STATE_IDLE], 255);
	row.tid = 6;
	assert_null(history_find(&history, &row, BY_THREAD));
	history_release(&history);
}

CASE(history_forgets_the_long_gone)
{
	struct history history = {0};

	for (uint32_t i = 0; i < 600; i++) {
		struct row row = sample_row(i, 10); /* each lives for one interval */
		struct interval interval = {.rows = &row, .row_count = 1};

		assert_int_equal(history_add(&history, &interval, BY_THREAD), 0);
	}
	assert_true(history.identities.count <= 2 * HISTORY_INTERVALS + 2);
	history_release(&history);
}

CASE(a_summary_is_all_intervals_as_one)
{
	struct summary summary = {0};

	for (uint32_t i = 0; i < 3; i++) {
		struct row rows[2] = {sample_row(1, 100), sample_row(10 + i, 500)};
		struct session_info session = {.wire = {.source = WIRE_SOURCE_BPF}};
		struct interval interval = {.start_ns = i * 1000,
					    .end_ns = i * 1000 + 1000,
					    .session = &session,
					    .losses = {.exits = 1},
					    .rows = rows,
					    .row_count = 2};

		assert_int_equal(summary_add(&summary, &interval), 0);
	}
	assert_int_equal(summary.whole.row_count, 4);
	assert_int_equal(summary.whole.end_ns - summary.whole.start_ns, 3000);
	assert_int_equal(summary.whole.losses.exits, 3);
	assert_int_equal(summary.whole.rows[0].states_ns[STATE_USER], 300);
	assert_int_equal(summary.whole.rows[0].observed_ns, 3000);
	assert_int_equal(summary.whole.rows[3].states_ns[STATE_USER], 500);
	summary_release(&summary);
}

CASE(rows_are_summed_by_process_and_cgroup)
{
	struct row rows[] = {
		{.tid = 12,
		 .pid = 10,
		 .threads = 1,
		 .observed_ns = 5,
		 .cgroup_id = 1,
		 .comm = "worker",
		 .process = "server",
		 .start_ns = 78,
		 .exited = true,
		 .latency_max_ns = 9},
		{.tid = 20,
		 .pid = 20,
		 .threads = 1,
		 .observed_ns = 7,
		 .cgroup_id = 1,
		 .process = "other"},
		{.tid = 10,
		 .pid = 10,
		 .threads = 1,
		 .observed_ns = 6,
		 .cgroup_id = 2,
		 .comm = "server",
		 .process = "server",
		 .start_ns = 77,
		 .latency_max_ns = 3},
	};
	struct row copy[3];
	struct interval interval = {.rows = copy, .row_count = 3};

	memcpy(copy, rows, sizeof(rows));
	interval_group(&interval, BY_THREAD);
	assert_int_equal(interval.row_count, 3);
	interval_group(&interval, BY_PROCESS);
	assert_int_equal(interval.row_count, 2);
	assert_int_equal(copy[0].pid, 10);
	assert_int_equal(copy[0].tid, 0);
	assert_int_equal(copy[0].threads, 2);
	assert_int_equal(copy[0].observed_ns, 11);
	assert_int_equal(copy[0].start_ns, 77); /* the leader's */
	assert_int_equal(copy[0].latency_max_ns, 9);
	assert_false(copy[0].exited); /* one of two has ended */
	memcpy(copy, rows, sizeof(rows));
	interval.row_count = 3;
	interval_group(&interval, BY_CGROUP);
	assert_int_equal(interval.row_count, 2);
	assert_int_equal(copy[0].cgroup_id, 1);
	assert_int_equal(copy[0].observed_ns, 12);
}

CASE(a_reused_pid_is_another_process)
{
	struct row rows[] = {
		{.tid = 10, .pid = 10, .threads = 1, .start_ns = 90, .process = "new"},
		{.tid = 12, .pid = 10, .threads = 1, .start_ns = 55, .process = "old"},
		{.tid = 10, .pid = 10, .threads = 1, .start_ns = 50, .process = "old"},
		{.tid = 13, .pid = 10, .threads = 1, .start_ns = 91, .process = "new"},
		/* its leader has ended */
		{.tid = 21, .pid = 20, .threads = 1, .start_ns = 60, .process = "headless"},
		{.tid = 22, .pid = 20, .threads = 1, .start_ns = 61, .process = "headless"},
	};
	struct interval interval = {.rows = rows, .row_count = ARRAY_SIZE(rows)};

	interval_group(&interval, BY_PROCESS);
	assert_int_equal(interval.row_count, 3);
	assert_string_equal(rows[0].process, "old");
	assert_int_equal(rows[0].threads, 2);
	assert_int_equal(rows[0].start_ns, 50);
	assert_string_equal(rows[1].process, "new");
	assert_int_equal(rows[1].threads, 2);
	assert_int_equal(rows[1].start_ns, 90);
	assert_int_equal(rows[2].threads, 2);
	assert_int_equal(rows[2].start_ns, 0); /* not known */
}

static const char *reason(__u8 state, __u8 detail, int syscall)
{
	static char text[REASON_BYTES];

	reason_format(text, sizeof(text), (struct wire_wait_site){state, detail, (__s16)syscall},
		      true);
	return text;
}

CASE(reasons_read_well)
{
	assert_string_equal(reason(WIRE_IPC, WIRE_DETAIL_PIPE, __NR_read), "read:pipe");
	assert_string_equal(reason(WIRE_ON_CPU, 0, __NR_read), "");
	assert_string_equal(reason(WIRE_SWAP, WIRE_DETAIL_SWAP_IN, WIRE_SYSCALL_NONE),
			    "page fault:swap-in");
	assert_string_equal(reason(WIRE_SLEEP, 0, WIRE_SYSCALL_NONE), "page fault");
	assert_string_equal(reason(WIRE_IDLE, WIRE_DETAIL_KTHREAD, WIRE_SYSCALL_NONE),
			    "kernel thread");
	assert_string_equal(reason(WIRE_RUNNABLE, WIRE_DETAIL_PREEMPTED, WIRE_SYSCALL_NONE),
			    "preempted");
	assert_string_equal(reason(WIRE_SLEEP, 0, WIRE_SYSCALL_COMPAT), "32-bit call");
	assert_string_equal(reason(WIRE_SLEEP, 0, 9999), "syscall 9999");
	assert_string_equal(reason(WIRE_STOPPED, WIRE_DETAIL_SIGNAL, WIRE_SYSCALL_NONE), "signal");
	assert_string_equal(reason(WIRE_SLEEP, 255, __NR_read), "read");
}

CASE(history_does_not_keep_those_that_have_ended)
{
	struct history history = {0};
	struct row rows[100];

	for (uint32_t i = 0; i < 1000; i++) {
		struct interval interval = {.rows = rows, .row_count = 100};

		/* half are made and gone within the interval, the others in the one after */
		for (uint32_t j = 0; j < 100; j++) {
			rows[j] = sample_row((i + j / 50) * 100 + j % 50, 10);
			rows[j].exited = j < 50;
		}
		assert_int_equal(history_add(&history, &interval, BY_THREAD), 0);
		assert_true(history.identities.count <= 500);
	}
	history_release(&history);
}

CASE(a_summary_of_very_many_threads_stays_small)
{
	struct summary summary = {0};
	uint64_t user_ns = 0, threads = 0;

	for (uint32_t i = 0; i < 300; i++) {
		struct row rows[1000];
		struct session_info session = {.wire = {.source = WIRE_SOURCE_BPF}};
		struct interval interval = {.rows = rows, .row_count = 1000, .session = &session};

		for (uint32_t j = 0; j < 1000; j++) {
			rows[j] = sample_row(i * 1000 + j + 1, j == 7 ? 1000 : j % 10);
			rows[j].exited = true;
			snprintf(rows[j].process, sizeof(rows[j].process), "cc%u", j % 3);
		}
		assert_int_equal(summary_add(&summary, &interval), 0);
		assert_true(summary.whole.row_count <= 70000);
	}
	assert_int_equal(summary_end(&summary), 0);
	for (size_t i = 0; i < summary.whole.row_count; i++) {
		user_ns += summary.whole.rows[i].states_ns[STATE_USER];
		threads += summary.whole.rows[i].threads;
	}
	assert_int_equal(threads, 300000);
	assert_int_equal(user_ns, 300 * (4500 - 7 + 1000));
	/* the folded come last, one a name */
	assert_int_equal(summary.whole.rows[summary.whole.row_count - 1].tid, 0);
	assert_int_equal(summary.whole.rows[summary.whole.row_count - 3].tid, 0);
	assert_int_not_equal(summary.whole.rows[summary.whole.row_count - 4].tid, 0);
	/* the most active are all there */
	user_ns = 0;
	for (size_t i = 0; i + 3 < summary.whole.row_count; i++)
		user_ns += summary.whole.rows[i].states_ns[STATE_USER] == 1000;
	assert_int_equal(user_ns, 300);
	summary_release(&summary);
}

/* Names as there may be, in cgroups as many as `groups`; the first one has the most. */
static void summarize_ended(struct summary *summary, uint32_t names, uint32_t groups)
{
	for (uint32_t i = 0; i < 100; i++) {
		struct row rows[1000];
		struct session_info session = {.wire = {.source = WIRE_SOURCE_BPF}};
		struct interval interval = {.rows = rows, .row_count = 1000, .session = &session};

		for (uint32_t j = 0; j < 1000; j++) {
			uint32_t number = i * 1000 + j;

			rows[j] = sample_row(number + 1, number % groups ? 10 : 20);
			rows[j].exited = true;
			rows[j].cgroup_id = number % groups + 1;
			snprintf(rows[j].process, sizeof(rows[j].process), "p%u", number % names);
		}
		assert_int_equal(summary_add(summary, &interval), 0);
	}
	assert_int_equal(summary_end(summary), 0);
}

CASE(ended_threads_that_are_summed_up_stay_in_their_cgroups)
{
	struct summary summary = {0};
	uint64_t user_ns = 0;

	summarize_ended(&summary, 3, 4);
	interval_group(&summary.whole, BY_CGROUP);
	assert_int_equal(summary.whole.row_count, 4);
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(summary.whole.rows[i].cgroup_id, i + 1);
		assert_int_equal(summary.whole.rows[i].threads, 25000);
	}
	summary_release(&summary);
	/* a cgroup a thread, and a name: the rest is summed up all the same */
	summarize_ended(&summary, 50000, 100000);
	assert_true(summary.whole.row_count <= 65536 + 4096);
	for (size_t i = 0; i < summary.whole.row_count; i++)
		user_ns += summary.whole.rows[i].states_ns[STATE_USER];
	assert_int_equal(user_ns, 100000 * 10 + 10);
	summary_release(&summary);
}

CASE(cgroups_are_forgotten)
{
	struct session_info session = {0};
	union {
		struct wire_cgroup record;
		char room[sizeof(struct wire_cgroup) + 8];
	} cgroup = {.record = {.header = {32, WIRE_CGROUP, 0, 0}, .id = 77}};

	memcpy(cgroup.room + sizeof(cgroup.record), "/a", 3);
	assert_int_equal(session_feed(&session, &cgroup.record.header), 1);
	assert_string_equal(session_cgroup(&session, 77), "/a");
	cgroup.record.id = 0;
	assert_int_equal(session_feed(&session, &cgroup.record.header), 1);
	assert_null(session_cgroup(&session, 77));
	cgroup.record.id = 78;
	assert_int_equal(session_feed(&session, &cgroup.record.header), 1);
	assert_string_equal(session_cgroup(&session, 78), "/a");
	session_release(&session);
}

CASE(session_keeps_the_last_word)
{
	struct session_info session = {0};
	struct wire_missing missing = {
		{.size = sizeof(missing), .kind = WIRE_MISSING}, "maps", "not permitted"};

	assert_int_equal(session_feed(&session, &missing.header), 1);
	assert_true(session_misses(&session, "maps"));
	*missing.why = '\0'; /* it is there again */
	assert_int_equal(session_feed(&session, &missing.header), 1);
	assert_false(session_misses(&session, "maps"));
	missing.header.kind = WIRE_THREAD;
	assert_int_equal(session_feed(&session, &missing.header), 0);
	assert_null(session_cgroup(&session, 17));
	session_release(&session);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(ended_threads_that_are_summed_up_stay_in_their_cgroups),
		cmocka_unit_test(cgroups_are_forgotten),
		cmocka_unit_test(identities_number_threads),
		cmocka_unit_test(history_sums_and_remembers),
		cmocka_unit_test(history_forgets_the_long_gone),
		cmocka_unit_test(a_summary_is_all_intervals_as_one),
		cmocka_unit_test(rows_are_summed_by_process_and_cgroup),
		cmocka_unit_test(a_reused_pid_is_another_process),
		cmocka_unit_test(reasons_read_well),
		cmocka_unit_test(history_does_not_keep_those_that_have_ended),
		cmocka_unit_test(a_summary_of_very_many_threads_stays_small),
		cmocka_unit_test(session_keeps_the_last_word),
	};

	return RUN(cases);
}
