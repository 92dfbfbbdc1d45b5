// SPDX-License-Identifier: GPL-2.0-or-later
/* What findings say of the causes of a loss, and in which words. */
#include "test.h"

#include "model/made-interval.h"

CASE(without_blame_there_are_no_causes)
{
	struct made made;

	begin(&made, false);
	lose(&made, 10, 10, STATE_RUNNABLE, 400 * MS);
	/* a partner's share of it is not known either */
	lose(&made, 11, 11, STATE_IPC, 900 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, 0);
	assert_string_equal(sentence(&made, 0),
			    "worker 10 waited 400ms for a CPU (40 % of its active time)");
}

CASE(causes_are_a_tenth_of_the_loss)
{
	struct made made;
	const struct row *row;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	owe_to(&made, row, STATE_RUNNABLE, 20, "small", 49 * MS);
	owe_to(&made, row, STATE_RUNNABLE, 21, "tenth", 50 * MS);
	owe_to(&made, row, STATE_RUNNABLE, 22, "large", 300 * MS);
	owe_to(&made, row, STATE_LOCK, 23, "other-state", 400 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, 2);
	assert_string_equal(made.found.items[0].causes[0].party.comm, "large");
	assert_int_equal(made.found.items[0].causes[0].total_ns, 300 * MS);
	assert_string_equal(made.found.items[0].causes[1].party.comm, "tenth");
	/* three at most */
	owe_to(&made, row, STATE_RUNNABLE, 24, "third", 60 * MS);
	owe_to(&made, row, STATE_RUNNABLE, 25, "fourth", 55 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, FINDING_CAUSES);
	assert_string_equal(made.found.items[0].causes[1].party.comm, "third");
	assert_string_equal(made.found.items[0].causes[2].party.comm, "fourth");
}

CASE(processes_of_a_name_are_one_culprit)
{
	const struct finding_cause *cause;
	const struct row *row;
	struct made made;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	for (uint32_t i = 0; i < 12; i++)
		owe_to(&made, row, STATE_RUNNABLE, 20 + i, "cc1", 30 * MS);
	owe_to(&made, row, STATE_RUNNABLE, 40, "tar", 100 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, 2);
	cause = &made.found.items[0].causes[0];
	assert_string_equal(cause->party.comm, "cc1");
	assert_int_equal(cause->party.pid, 0);
	assert_int_equal(cause->total_ns, 360 * MS);
	assert_int_equal(made.found.items[0].causes[1].party.pid, 40);
	assert_string_equal(sentence(&made, 0), "worker 10 waited 500ms for a CPU (50 % of its "
						"active time): cc1 ran 72 %; tar ran 20 %");
}

CASE(own_threads_are_one_where_they_ran)
{
	const struct row *row;
	struct made made;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	for (uint32_t i = 0; i < 4; i++)
		owe_to(&made, row, STATE_RUNNABLE, 10, "server", 100 * MS)->culprit.tid = 11 + i;
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, 1);
	assert_true(made.found.items[0].causes[0].is_own);
	assert_non_null(strstr(sentence(&made, 0), ": its own threads ran 80 %"));
	/* who of them holds a lock says all */
	begin(&made, true);
	row = lose(&made, 10, 10, STATE_LOCK, 500 * MS);
	owe_to(&made, row, STATE_LOCK, 10, "server", 100 * MS)->culprit.tid = 11;
	owe_to(&made, row, STATE_LOCK, 10, "server", 200 * MS)->culprit.tid = 12;
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, 2);
	assert_int_equal(made.found.items[0].causes[0].party.tid, 12);
	assert_false(made.found.items[0].causes[0].is_own);
	/* a number is that of a thread, or of a process: of which, it is said */
	made.blames[1].culprit.tid = 12;
	snprintf(made.blames[1].culprit.comm, sizeof(made.blames[1].culprit.comm), "server");
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": held by server thread 12 40 %"));
	/* several of them, of which no one is known, are not the process's first thread */
	made.blames[1].culprit.tid = 0;
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": held by its own threads 40 %; "));
	/* by process its name is known */
	begin(&made, true);
	row = lose(&made, 10, 10, STATE_LOCK, 500 * MS);
	owe_to(&made, row, STATE_LOCK, 10, "server", 300 * MS)->culprit.tid = 0;
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": held by server-thread 60 %"));
	/* unless it is that of all */
	made.blames[0].victim.tid = 0;
	snprintf(made.blames[0].victim.comm, sizeof(made.blames[0].victim.comm), "server");
	snprintf(made.blames[0].culprit.comm, sizeof(made.blames[0].culprit.comm), "server");
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": held by its own threads 60 %"));
	meanwhile(&made.blames[0], WIRE_DISK, WIRE_DETAIL_NONE);
	assert_int_equal(find(&made), 1);
	assert_non_null(
		strstr(sentence(&made, 0), ": held by its own threads 60 %, which were in disk"));
	/* for most of that time, and less than all of it */
	owe_to(&made, row, STATE_LOCK, 10, "server", 200 * MS)->culprit = made.blames[0].culprit;
	made.blames[1].victim = made.blames[0].victim;
	meanwhile(&made.blames[1], WIRE_ON_CPU, WIRE_DETAIL_NONE);
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": held by its own threads 100 %, 60 % of "
						   "it in disk"));
	assert_int_equal(made.found.items[0].causes[0].meanwhile_ns, 300 * MS);
	made.interval.blame_count = 1;
	/* who waited for a lock itself may have got this one from a queue */
	meanwhile(&made.blames[0], WIRE_LOCK, WIRE_DETAIL_NONE);
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": released by its own threads 60 %"));
}

CASE(what_is_not_known_is_not_named)
{
	const struct row *row;
	struct made made;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	owe(&made, row, STATE_RUNNABLE, WIRE_CULPRIT_UNKNOWN, 300 * MS);
	owe(&made, row, STATE_RUNNABLE, WIRE_CULPRIT_OTHERS, 200 * MS);
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, 0);
	assert_null(strchr(sentence(&made, 0), ':'));
}

CASE(partners_count_while_they_are_busy)
{
	static const __u8 busy[] = {WIRE_ON_CPU, WIRE_RUNNABLE, WIRE_DISK, WIRE_LOCK, WIRE_SWAP};
	struct made made;
	struct row *row;

	for (size_t i = 0; i < 2 * sizeof(busy); i++) {
		enum state waited = i % 2 ? STATE_NET : STATE_IPC;

		begin(&made, true);
		row = lose(&made, 10, 10, waited, 600 * MS);
		meanwhile(owe_to(&made, row, waited, 20, "db", 400 * MS), busy[i / 2],
			  WIRE_DETAIL_NONE);
		assert_int_equal(find(&made), 1);
		assert_int_equal(made.found.items[0].active_ns, NS_PER_S);
		/* less than half of the wait */
		made.blames[0].total_ns = 299 * MS;
		assert_int_equal(find(&made), 0);
	}
	/* that it waited for work itself is how they work */
	begin(&made, true);
	row = lose(&made, 10, 10, STATE_IPC, 600 * MS);
	meanwhile(owe_to(&made, row, STATE_IPC, 20, "db", 600 * MS), WIRE_IDLE, WIRE_DETAIL_NONE);
	assert_int_equal(find(&made), 0);
	/* and what it did is not known */
	made.blames[0].has_meanwhile = false;
	assert_int_equal(find(&made), 0);
	made.interval.blame_count = 0;
	assert_int_equal(find(&made), 0);
}

CASE(what_a_culprit_did_is_said_if_it_is_one_thing)
{
	struct made made;
	struct row *row;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_LOCK, 600 * MS);
	meanwhile(owe_to(&made, row, STATE_LOCK, 20, "db", 200 * MS), WIRE_DISK,
		  WIRE_DETAIL_JOURNAL);
	meanwhile(owe_to(&made, row, STATE_LOCK, 20, "db", 150 * MS), WIRE_ON_CPU,
		  WIRE_DETAIL_NONE);
	assert_int_equal(find(&made), 1);
	assert_true(made.found.items[0].causes[0].has_meanwhile);
	assert_int_equal(made.found.items[0].causes[0].meanwhile.detail, WIRE_DETAIL_JOURNAL);
	made.blames[1].total_ns = 200 * MS;
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].causes[0].total_ns, 400 * MS);
	assert_false(made.found.items[0].causes[0].has_meanwhile);
}

CASE(one_of_several_of_a_name_is_said_by_number)
{
	struct made made;
	struct row *row;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_LOCK, 600 * MS);
	owe_to(&made, row, STATE_LOCK, 20, row->process, 300 * MS);
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": held by server 20 50 %"));
	/* not where they are several themselves */
	owe_to(&made, row, STATE_LOCK, 21, row->process, 300 * MS);
	assert_int_equal(find(&made), 1);
	assert_non_null(strstr(sentence(&made, 0), ": held by server 100 %"));
}

CASE(each_state_has_a_sentence)
{
	static const struct {
		enum state state;
		enum wire_culprit_kind kind;
		__u8 meanwhile;
		const char *sentence;
	} cases[] = {
		{STATE_RUNNABLE, WIRE_CULPRIT_THREAD, WIRE_ON_CPU,
		 "worker 10 waited 600ms for a CPU (60 % of its active time): db ran 50 %"},
		{STATE_RUNNABLE, WIRE_CULPRIT_THROTTLE, 0,
		 "worker 10 waited 600ms for a CPU (60 % of its active time): the CPU quota "
		 "of db-thread was used up 50 %"},
		{STATE_RUNNABLE, WIRE_CULPRIT_IRQ, 0,
		 "worker 10 waited 600ms for a CPU (60 % of its active time): interrupts 50 %"},
		{STATE_RUNNABLE, WIRE_CULPRIT_STEAL, 0,
		 "worker 10 waited 600ms for a CPU (60 % of its active time): the hypervisor had "
		 "the CPU 50 %"},
		{STATE_RUNNABLE, WIRE_CULPRIT_IDLE, 0,
		 "worker 10 waited 600ms for a CPU (60 % of its active time): an idle CPU had to "
		 "wake up 50 %"},
		{STATE_LOCK, WIRE_CULPRIT_THREAD, WIRE_DISK,
		 "worker 10 waited 600ms for locks (60 % of its active time): held by db 50 %, "
		 "which was in disk"},
		{STATE_LOCK, WIRE_CULPRIT_THREAD, WIRE_RUNNABLE,
		 "worker 10 waited 600ms for locks (60 % of its active time): held by db 50 %, "
		 "which waited for a CPU"},
		{STATE_IPC, WIRE_CULPRIT_THREAD, WIRE_ON_CPU,
		 "worker 10 waited 600ms on pipes and sockets (60 % of its time): for db 50 %, "
		 "which computed"},
		{STATE_NET, WIRE_CULPRIT_THREAD, WIRE_ON_CPU,
		 "worker 10 waited 600ms on connections (60 % of its time): for db 50 %, which "
		 "computed"},
		{STATE_DISK, WIRE_CULPRIT_DEVICE, 0,
		 "worker 10 waited 600ms for disks and file systems (60 % of its active time)"},
		{STATE_SWAP, WIRE_CULPRIT_THREAD, 0,
		 "worker 10 waited 600ms for memory (60 % of its active time): db 50 %"},
		{STATE_STOLEN, WIRE_CULPRIT_TIMER, 0,
		 "worker 10 lost 600ms to the hypervisor (60 % of its active time)"},
		{STATE_IRQ, WIRE_CULPRIT_DEVICE, 0,
		 "worker 10 lost 600ms to interrupts (60 % of its active time)"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct made made;
		struct row *row;
		struct blame *blame;

		begin(&made, true);
		row = lose(&made, 10, 10, cases[i].state, 600 * MS);
		blame = owe_to(&made, row, cases[i].state, 20, "db", 300 * MS);
		blame->kind = cases[i].kind;
		if (state_has_partner(cases[i].state) || cases[i].state == STATE_LOCK)
			meanwhile(blame, cases[i].meanwhile, WIRE_DETAIL_NONE);
		/* no system call, as threads of other architectures */
		blame->meanwhile.syscall = -1;
		assert_int_equal(find(&made), 1);
		if (cases[i].meanwhile == WIRE_DISK)
			assert_memory_equal(sentence(&made, 0), cases[i].sentence,
					    strlen(cases[i].sentence));
		else
			assert_string_equal(sentence(&made, 0), cases[i].sentence);
	}
}

CASE(names_are_made_harmless_and_sentences_fit)
{
	struct made made;
	struct row *row;

	begin(&made, true);
	row = lose(&made, 10, 10, STATE_LOCK, 600 * MS);
	memcpy(row->comm, "\033[31m\n\xff\xff日本語", 17);
	for (uint32_t i = 0; i < 3; i++) {
		struct blame *blame =
			owe_to(&made, row, STATE_LOCK, 20 + i, "\033]0;x\a日本", 100 * MS);

		blame->culprit.process[0] = (char)('a' + i);
		meanwhile(blame, WIRE_LOCK, WIRE_DETAIL_KERNEL_LOCK);
	}
	assert_int_equal(find(&made), 1);
	assert_int_equal(made.found.items[0].cause_count, 3);
	assert_true(strlen(sentence(&made, 0)) < FINDING_BYTES);
	assert_null(strchr(sentence(&made, 0), '\033'));
	assert_null(strchr(sentence(&made, 0), '\n'));
	assert_null(strchr(sentence(&made, 0), '\a'));
}

static void a_large_culprit_counts_behind_many_small_ones(void **state)
{
	struct made made;
	struct row *row;
	char name[16];

	(void)state;
	begin(&made, true);
	row = lose(&made, 10, 10, STATE_RUNNABLE, 500 * MS);
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "small-%u", i);
		owe_to(&made, row, STATE_RUNNABLE, 100 + i, name, 100000);
	}
	owe_to(&made, row, STATE_RUNNABLE, 99, "large", 400 * MS);
	assert_int_equal(findings_find(&made.found, &made.interval), 0);
	assert_int_equal(made.found.count, 1);
	assert_int_equal(made.found.items[0].cause_count, 1);
	assert_string_equal(made.found.items[0].causes[0].party.process, "large");
	assert_int_equal(made.found.items[0].causes[0].total_ns, 400 * MS);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_large_culprit_counts_behind_many_small_ones),
		cmocka_unit_test(without_blame_there_are_no_causes),
		cmocka_unit_test(causes_are_a_tenth_of_the_loss),
		cmocka_unit_test(processes_of_a_name_are_one_culprit),
		cmocka_unit_test(own_threads_are_one_where_they_ran),
		cmocka_unit_test(what_is_not_known_is_not_named),
		cmocka_unit_test(partners_count_while_they_are_busy),
		cmocka_unit_test(what_a_culprit_did_is_said_if_it_is_one_thing),
		cmocka_unit_test(one_of_several_of_a_name_is_said_by_number),
		cmocka_unit_test(each_state_has_a_sentence),
		cmocka_unit_test(names_are_made_harmless_and_sentences_fit),
	};

	return RUN(cases);
}
