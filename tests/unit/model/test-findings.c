// SPDX-License-Identifier: GPL-2.0-or-later
/* Findings of made-up intervals of a second: which losses are some, and whose. */
#include "test.h"

#include "model/made-interval.h"

CASE(nothing_has_no_findings)
{
	struct made made;

	begin(&made, true);
	assert_int_equal(find(&made), 0);
	/* idle, and without any time */
	add_row(&made, 10, 10, "idle")->states_ns[STATE_IDLE] = NS_PER_S;
	add_row(&made, 11, 11, "new");
	assert_int_equal(find(&made), 0);
	begin(&made, false);
	assert_int_equal(find(&made), 0);
}

/* "waiter 11 waited 950 ms for locks (95 % of its active time)", not half of its process's. */
CASE(of_one_thread_the_share_is_of_its_own_time)
{
	struct made made;

	begin(&made, true);
	lose(&made, 10, 10, STATE_LOCK, 0);
	lose(&made, 10, 11, STATE_LOCK, 950 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].victim.tid, 11);
	assert_int_equal(made.found.items[0].active_ns, NS_PER_S);
	assert_non_null(
		strstr(sentence(&made, 0), "worker 11 waited 950ms for locks (95 % of its"));
	/* of several it is of their process */
	lose(&made, 10, 12, STATE_LOCK, 900 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].active_ns, 3 * NS_PER_S);
}

CASE(a_finding_is_a_tenth_of_the_active_time)
{
	struct made made;
	struct row *other;

	begin(&made, false);
	lose(&made, 10, 10, STATE_RUNNABLE, 100 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].total_ns, 100 * MS);
	assert_int_equal(made.found.items[0].active_ns, NS_PER_S);
	begin(&made, false);
	lose(&made, 10, 10, STATE_RUNNABLE, 99 * MS);
	assert_int_equal(find(&made), 0);
	/* of the process: the other thread's time counts, wherever its row is */
	begin(&made, false);
	lose(&made, 10, 10, STATE_RUNNABLE, 150 * MS);
	lose(&made, 11, 11, STATE_NET, 0);
	other = lose(&made, 10, 12, STATE_RUNNABLE, 0);
	assert_int_equal(find(&made), 0);
	other->states_ns[STATE_USER] = 0;
	assert_int_equal(find(&made), 1);
}

CASE(a_finding_is_a_twentieth_of_the_interval)
{
	struct made made;
	struct row *row;

	begin(&made, false);
	row = lose(&made, 10, 10, STATE_DISK, 50 * MS);
	row->states_ns[STATE_USER] = 0;
	assert_int_equal(find(&made), 1);
	row->states_ns[STATE_DISK] = 50 * MS - 1;
	assert_int_equal(find(&made), 0);
}

CASE(some_states_are_no_loss)
{
	static const enum state quiet[] = {STATE_USER, STATE_KERNEL,  STATE_NET,    STATE_SLEEP,
					   STATE_IDLE, STATE_STOPPED, STATE_UNKNOWN};
	static const enum state lost[] = {STATE_RUNNABLE, STATE_LOCK,	STATE_DISK,
					  STATE_SWAP,	  STATE_STOLEN, STATE_IRQ};
	struct made made;

	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++) {
		begin(&made, true);
		lose(&made, 10, 10, quiet[i], 900 * MS);
		assert_int_equal(find(&made), 0);
	}
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		begin(&made, false);
		lose(&made, 10, 10, lost[i], 900 * MS);
		assert_int_equal(find(&made), 1);
		assert_int_equal(made.found.items[0].state, lost[i]);
	}
}

CASE(three_at_most_the_largest_first)
{
	struct made made;

	begin(&made, false);
	for (uint32_t i = 0; i < 20; i++)
		lose_apart(&made, 10 + i, STATE_RUNNABLE, (300 + (i * 7 % 20)) * MS);
	assert_int_equal(find(&made), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(made.found.items[i].total_ns, (319 - i) * MS);
}

CASE(folded_rows_are_no_process)
{
	struct made made;

	begin(&made, false);
	lose(&made, 0, 0, STATE_RUNNABLE, 900 * MS)->threads = 300;
	assert_int_equal(find(&made), 0);
	lose(&made, 10, 10, STATE_RUNNABLE, 200 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].victim.pid, 10);
}

CASE(victims_are_a_thread_or_a_process)
{
	struct made made;

	begin(&made, false);
	lose(&made, 10, 10, STATE_LOCK, 0);
	lose(&made, 10, 11, STATE_LOCK, 800 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].victim.tid, 11);
	assert_int_equal(made.found.items[0].threads, 1);
	assert_string_equal(made.found.items[0].victim.comm, "worker");
	/* of several, the process */
	lose(&made, 10, 12, STATE_LOCK, 700 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].victim.tid, 0);
	assert_int_equal(made.found.items[0].victim.pid, 10);
	assert_int_equal(made.found.items[0].threads, 2);
	assert_string_equal(made.found.items[0].victim.comm, "server");
}

CASE(all_of_many_equal_threads_count)
{
	struct made made;

	begin(&made, false);
	for (uint32_t i = 0; i < 100; i++)
		lose(&made, 10, 10 + i, STATE_LOCK, 500 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].threads, 100);
	assert_string_equal(
		sentence(&made, 0),
		"100 threads of server waited 50.00s for locks (50 % of its active time)");
}

CASE(locks_that_are_not_released_are_no_loss)
{
	struct row *row, *disk;
	struct made made;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_LOCK, 900 * MS);
	owe(&made, row, STATE_LOCK, WIRE_CULPRIT_UNKNOWN, 850 * MS)->goes_on = true;
	assert_int_equal(find(&made), 0);
	/* what is left is large enough here, but no longer the largest */
	made.interval.blame_count = 0;
	owe(&made, row, STATE_LOCK, WIRE_CULPRIT_UNKNOWN, 700 * MS)->goes_on = true;
	owe_to(&made, row, STATE_LOCK, 30, "holder", 150 * MS);
	disk = lose(&made, 11, 11, STATE_DISK, 500 * MS);
	assert_int_equal(find(&made), 2);
	assert_int_equal(made.found.items[0].victim.pid, disk->pid);
	assert_int_equal(made.found.items[1].total_ns, 200 * MS);
	assert_int_equal(made.found.items[1].cause_count, 1);
	/* other waits that go on are: a disk does not park a thread */
	begin(&made, true);
	row = lose(&made, 10, 10, STATE_DISK, 900 * MS);
	owe(&made, row, STATE_DISK, WIRE_CULPRIT_UNKNOWN, 850 * MS)->goes_on = true;
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].total_ns, 900 * MS);
}

CASE(losses_that_shrink_give_way)
{
	struct made made;

	/* three locks that go on for most of it, and three smaller losses that are whole */
	begin(&made, true);
	for (uint32_t i = 0; i < 3; i++) {
		struct row *row = lose_apart(&made, 10 + i, STATE_LOCK, 900 * MS);

		owe(&made, row, STATE_LOCK, WIRE_CULPRIT_UNKNOWN, 700 * MS)->goes_on = true;
		lose_apart(&made, 20 + i, STATE_DISK, (500 + i) * MS);
	}
	assert_int_equal(find(&made), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(made.found.items[i].total_ns, (502 - i) * MS);
}

CASE(processes_of_a_name_that_lose_alike_are_one_finding)
{
	struct made made;

	begin(&made, true);
	for (uint32_t i = 0; i < 6; i++) {
		struct row *row = lose(&made, 10 + 10 * i, 10 + 10 * i, STATE_RUNNABLE, 500 * MS);

		owe_to(&made, row, STATE_RUNNABLE, i ? 10 : 20, "server", 300 * MS);
		owe_to(&made, row, STATE_RUNNABLE, 900, "thief", 200 * MS);
	}
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].processes, 6);
	assert_int_equal(made.found.items[0].victim.pid, 0);
	assert_string_equal(
		sentence(&made, 0),
		"6 processes of server waited 3.00s for a CPU (50 % of their active time): "
		"server ran 60 %; thief ran 40 %");
}

CASE(one_of_a_name_that_lost_nearly_all_is_the_victim)
{
	struct made made;

	begin(&made, false);
	lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	for (uint32_t i = 1; i < 4; i++)
		lose(&made, 10 + 10 * i, 10 + 10 * i, STATE_RUNNABLE, 5 * MS);
	assert_int_equal(find(&made), 1);
	assert_string_equal(sentence(&made, 0),
			    "worker 10 waited 500ms for a CPU (50 % of its active time)");
	/* among so many that lose nothing, all together did not lose a tenth */
	for (uint32_t i = 4; i < 20; i++)
		lose(&made, 10 + 10 * i, 10 + 10 * i, STATE_RUNNABLE, 0);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].victim.pid, 10);
}

CASE(what_a_process_was_before_its_exec_is_no_other_process)
{
	struct made made;

	begin(&made, true);
	for (uint32_t pid = 10; pid < 40; pid += 10) {
		struct row *ended = lose(&made, pid, pid + 1, STATE_DISK, 300 * MS);
		struct row *row = lose(&made, pid, pid, STATE_DISK, 600 * MS);

		ended->exited = true;
		snprintf(ended->process, sizeof(ended->process), "shell");
		owe_to(&made, ended, STATE_DISK, 900, "thief", 300 * MS);
		owe_to(&made, row, STATE_DISK, 900, "thief", 600 * MS);
	}
	/* of processes that were too many to be kept: their time is not in the sum */
	owe_to(&made, &(struct row){.process = "server"}, STATE_DISK, 900, "thief", 5000 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].processes, 3);
	assert_int_equal(made.found.items[0].threads, 6);
	assert_int_equal(made.found.items[0].total_ns, 2700 * MS);
	assert_int_equal(made.found.items[0].causes[0].total_ns, 2700 * MS);
	assert_string_equal(made.found.items[0].victim.process, "server");
}

CASE(a_pid_that_was_used_again_is_of_two_programs)
{
	struct made made;

	begin(&made, true);
	for (uint32_t i = 0; i < 4; i++) {
		/* each has a thread beside its first; two programs, one after the other */
		struct row *row = lose(&made, 10, 10 + i % 2, STATE_DISK, 400 * MS);

		row->start_ns = 1000 + i;
		row->exited = i < 2;
		snprintf(row->process, sizeof(row->process), i < 2 ? "first" : "second");
	}
	assert_int_equal(find(&made), 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(made.found.items[i].total_ns, 800 * MS);
	assert_string_not_equal(made.found.items[0].victim.process,
				made.found.items[1].victim.process);
}

CASE(all_processes_in_the_sum_count)
{
	struct made made;

	/* one that lost much, and very many that lost little: none has nearly all */
	begin(&made, false);
	for (uint32_t i = 0; i < 100; i++)
		lose(&made, 10 + i, 10 + i, STATE_RUNNABLE, i ? 4 * MS : 60 * MS)
			->states_ns[STATE_USER] = 0;
	lose(&made, 200, 200, STATE_RUNNABLE, 0)->states_ns[STATE_USER] = MS;
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].total_ns, 456 * MS);
	assert_int_equal(made.found.items[0].processes, 100);
	assert_int_equal(made.found.items[0].threads, 100);
	assert_non_null(strstr(sentence(&made, 0), "100 processes of server waited 456ms "));
}

CASE(all_threads_in_the_sum_count)
{
	struct made made;

	begin(&made, false);
	lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	for (uint32_t i = 0; i < 60; i++)
		lose(&made, 10, 11 + i, STATE_RUNNABLE, MS)->states_ns[STATE_USER] = 0;
	lose(&made, 10, 90, STATE_RUNNABLE, 0);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].threads, 61);
	assert_int_equal(made.found.items[0].total_ns, 560 * MS);
	assert_int_equal(made.found.items[0].victim.tid, 0);
}

CASE(a_thread_that_lost_nearly_all_stands_for_itself)
{
	struct made made;
	struct row *row, *other;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	other = lose(&made, 10, 11, STATE_RUNNABLE, 50 * MS);
	owe_to(&made, row, STATE_RUNNABLE, 20, "db", 250 * MS);
	owe_to(&made, other, STATE_RUNNABLE, 30, "tar", 50 * MS);
	assert_int_equal(find(&made), 1);
	assert_string_equal(sentence(&made, 0), "worker 10 waited 500ms for a CPU (50 % of its "
						"active time): db ran 50 %");
	assert_int_equal(made.found.items[0].victim.tid, 10);
	assert_int_equal(made.found.items[0].cause_count, 1);
	/* whom of them all it is owed to is known of the process alone */
	made.blames[0].victim.tid = made.blames[1].victim.tid = 0;
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].total_ns, 550 * MS);
	assert_int_equal(made.found.items[0].threads, 2);
}

CASE(threads_whose_waits_go_on_do_not_count)
{
	struct made made;

	/* by thread, and where only the process is known: eight of ten are parked */
	for (int by_process = 0; by_process < 2; by_process++) {
		begin(&made, true);
		for (uint32_t i = 0; i < 10; i++)
			lose(&made, 10, 10 + i, STATE_LOCK, i % 5 == 1 ? 900 * MS : NS_PER_S);
		for (size_t i = 0; i < 10 && !by_process; i++)
			if (i % 5 != 1)
				owe(&made, &made.rows[i], STATE_LOCK, WIRE_CULPRIT_UNKNOWN,
				    NS_PER_S);
		if (by_process)
			owe(&made, &made.rows[0], STATE_LOCK, WIRE_CULPRIT_UNKNOWN, 8 * NS_PER_S)
				->victim.tid = 0;
		for (size_t i = 0; i < made.interval.blame_count; i++)
			made.blames[i].goes_on = true;
		assert_int_equal(find(&made), 1);
		assert_int_equal(made.found.items[0].total_ns, 1800 * MS);
		assert_int_equal(made.found.items[0].threads, 2);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(nothing_has_no_findings),
		cmocka_unit_test(of_one_thread_the_share_is_of_its_own_time),
		cmocka_unit_test(a_finding_is_a_tenth_of_the_active_time),
		cmocka_unit_test(a_finding_is_a_twentieth_of_the_interval),
		cmocka_unit_test(some_states_are_no_loss),
		cmocka_unit_test(three_at_most_the_largest_first),
		cmocka_unit_test(folded_rows_are_no_process),
		cmocka_unit_test(victims_are_a_thread_or_a_process),
		cmocka_unit_test(all_of_many_equal_threads_count),
		cmocka_unit_test(locks_that_are_not_released_are_no_loss),
		cmocka_unit_test(losses_that_shrink_give_way),
		cmocka_unit_test(processes_of_a_name_that_lose_alike_are_one_finding),
		cmocka_unit_test(one_of_a_name_that_lost_nearly_all_is_the_victim),
		cmocka_unit_test(what_a_process_was_before_its_exec_is_no_other_process),
		cmocka_unit_test(a_pid_that_was_used_again_is_of_two_programs),
		cmocka_unit_test(all_processes_in_the_sum_count),
		cmocka_unit_test(all_threads_in_the_sum_count),
		cmocka_unit_test(a_thread_that_lost_nearly_all_stands_for_itself),
		cmocka_unit_test(threads_whose_waits_go_on_do_not_count),
	};

	return RUN(cases);
}
