// SPDX-License-Identifier: GPL-2.0-or-later
/* Findings of made-up intervals of a second, and their sentences. */
#include "test.h"

#include "base/duration.h"
#include "view/findings.h"

#define MS   NS_PER_MS
#define ROOM 128

struct made {
	struct session_info session;
	struct interval interval;
	struct row rows[ROOM];
	struct blame blames[ROOM];
	struct findings found;
};

static void begin(struct made *made, bool has_blame)
{
	*made = (struct made){.session.wire = {.source = WIRE_SOURCE_BPF,
					       .flags = has_blame ? WIRE_SESSION_BLAME : 0,
					       .states = ~0U,
					       .metrics = ~0U}};
	made->interval = (struct interval){.end_ns = NS_PER_S,
					   .rows = made->rows,
					   .blames = made->blames,
					   .session = &made->session};
}

static struct row *add_row(struct made *made, uint32_t pid, uint32_t tid, const char *comm)
{
	struct row *row = &made->rows[made->interval.row_count++];

	assert_true(made->interval.row_count <= ROOM);
	*row = (struct row){.pid = pid, .tid = tid, .threads = 1, .observed_ns = NS_PER_S};
	snprintf(row->comm, sizeof(row->comm), "%s", comm);
	snprintf(row->process, sizeof(row->process), "server");
	return row;
}

/* A thread of "server" that lost so much in one state, and computed the rest of the second. */
static struct row *lose(struct made *made, uint32_t pid, uint32_t tid, enum state state,
			uint64_t lost_ns)
{
	struct row *row = add_row(made, pid, tid, "worker");

	row->states_ns[state] = lost_ns;
	row->states_ns[STATE_USER] += NS_PER_S - lost_ns;
	return row;
}

/* The only process of its name. */
static struct row *lose_apart(struct made *made, uint32_t pid, enum state state, uint64_t lost_ns)
{
	struct row *row = lose(made, pid, pid, state, lost_ns);

	snprintf(row->process, sizeof(row->process), "server-%u", pid);
	return row;
}

static struct blame *owe(struct made *made, const struct row *victim, enum state state,
			 enum wire_culprit_kind kind, uint64_t total_ns)
{
	struct blame *blame = &made->blames[made->interval.blame_count++];

	assert_true(made->interval.blame_count <= ROOM);
	*blame = (struct blame){.victim = {.pid = victim->pid, .tid = victim->tid},
				.state = state,
				.kind = kind,
				.total_ns = total_ns};
	memcpy(blame->victim.process, victim->process, sizeof(victim->process));
	return blame;
}

static struct blame *owe_to(struct made *made, const struct row *victim, enum state state,
			    uint32_t pid, const char *name, uint64_t total_ns)
{
	struct blame *blame = owe(made, victim, state, WIRE_CULPRIT_THREAD, total_ns);

	blame->culprit.pid = pid;
	blame->culprit.tid = pid + 1;
	snprintf(blame->culprit.comm, sizeof(blame->culprit.comm), "%s-thread", name);
	snprintf(blame->culprit.process, sizeof(blame->culprit.process), "%s", name);
	return blame;
}

static void meanwhile(struct blame *blame, __u8 wire_state, __u8 detail)
{
	blame->has_meanwhile = true;
	blame->meanwhile = (struct wire_wait_site){wire_state, detail, WIRE_SYSCALL_NONE};
}

static size_t find(struct made *made)
{
	assert_int_equal(findings_find(&made->found, &made->interval), 0);
	return made->found.count;
}

static const char *sentence(struct made *made, size_t number)
{
	static char text[FINDING_BYTES];

	assert_true(number < made->found.count);
	finding_format(text, &made->found.items[number], &made->session);
	return text;
}

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

static void hold(struct made *made, size_t waiter, size_t holder)
{
	struct blame *blame =
		owe(made, &made->rows[waiter], STATE_LOCK, WIRE_CULPRIT_UNKNOWN, NS_PER_S);

	memcpy(blame->victim.comm, made->rows[waiter].comm, sizeof(blame->victim.comm));
	made->rows[waiter].states_ns[STATE_LOCK] = NS_PER_S;
	blame->goes_on = true;
	blame->holder =
		(struct blame_party){.pid = made->rows[holder].pid, .tid = made->rows[holder].tid};
}

static void begin_locks(struct made *made, size_t threads)
{
	begin(made, true);
	for (size_t i = 0; i < threads; i++) {
		char name[17];
		struct row *row;

		snprintf(name, sizeof(name), "t%zu", i);
		row = add_row(made, 10, 10 + (uint32_t)i, name);
		row->in_state_ns = (i + 3) * NS_PER_S;
	}
}

static void a_deadlock_comes_first(void **state)
{
	static struct made made;
	char text[FINDING_BYTES];

	(void)state;
	begin_locks(&made, 8);
	hold(&made, 5, 6); /* not in the circle, but behind it */
	hold(&made, 6, 2);
	hold(&made, 2, 4);
	hold(&made, 4, 3);
	hold(&made, 3, 2);
	hold(&made, 7, 7);
	lose(&made, 20, 20, STATE_DISK, 800 * MS);
	assert_int_equal(findings_find(&made.found, &made.interval), 0);
	assert_int_equal(made.found.count, 2);
	assert_int_equal(made.found.items[0].deadlock.count, 3);
	assert_int_equal(made.found.items[0].deadlock.total_ns, 3 * NS_PER_S);
	finding_format(text, &made.found.items[0], &made.session);
	assert_string_equal(text, "server 10 is deadlocked: t2 12, t4 14 and t3 13 wait for each "
				  "other's locks in a circle, for 5.00s");
	assert_int_equal(made.found.items[1].deadlock.count, 0);
	assert_int_equal(made.found.items[1].state, STATE_DISK);
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

static void deadlocks_of_one_two_and_many(void **state)
{
	static struct made made;
	char text[FINDING_BYTES];

	(void)state;
	begin_locks(&made, 1);
	hold(&made, 0, 0);
	assert_int_equal(findings_find(&made.found, &made.interval), 0);
	finding_format_brief(text, &made.found.items[0], &made.session);
	assert_string_equal(text, "server 10 is deadlocked: t0 10 waits for a lock that it holds "
				  "itself, for 3.00s");
	begin_locks(&made, 2);
	hold(&made, 0, 1);
	hold(&made, 1, 0);
	assert_int_equal(findings_find(&made.found, &made.interval), 0);
	finding_format(text, &made.found.items[0], &made.session);
	assert_string_equal(text, "server 10 is deadlocked: t0 10 and t1 11 wait for each other's "
				  "locks, for 3.00s");
	begin_locks(&made, 7);
	for (size_t i = 0; i < 7; i++)
		hold(&made, i, (i + 1) % 7);
	assert_int_equal(findings_find(&made.found, &made.interval), 0);
	finding_format(text, &made.found.items[0], &made.session);
	assert_string_equal(text, "server 10 is deadlocked: t0 10, t1 11, t2 12, t3 13 and 3 more "
				  "wait for each other's locks in a circle, for 3.00s");
}

static void waits_in_a_row_are_no_deadlock(void **state)
{
	static struct made made;

	(void)state;
	begin_locks(&made, 8);
	for (size_t i = 0; i < 7; i++)
		hold(&made, i, i + 1);
	assert_int_equal(findings_find(&made.found, &made.interval), 0);
	assert_int_equal(made.found.count, 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_deadlock_comes_first),
		cmocka_unit_test(a_large_culprit_counts_behind_many_small_ones),
		cmocka_unit_test(deadlocks_of_one_two_and_many),
		cmocka_unit_test(waits_in_a_row_are_no_deadlock),
		cmocka_unit_test(nothing_has_no_findings),
		cmocka_unit_test(a_finding_is_a_tenth_of_the_active_time),
		cmocka_unit_test(a_finding_is_a_twentieth_of_the_interval),
		cmocka_unit_test(some_states_are_no_loss),
		cmocka_unit_test(three_at_most_the_largest_first),
		cmocka_unit_test(folded_rows_are_no_process),
		cmocka_unit_test(victims_are_a_thread_or_a_process),
		cmocka_unit_test(all_of_many_equal_threads_count),
		cmocka_unit_test(without_blame_there_are_no_causes),
		cmocka_unit_test(causes_are_a_tenth_of_the_loss),
		cmocka_unit_test(processes_of_a_name_are_one_culprit),
		cmocka_unit_test(own_threads_are_one_where_they_ran),
		cmocka_unit_test(what_is_not_known_is_not_named),
		cmocka_unit_test(locks_that_are_not_released_are_no_loss),
		cmocka_unit_test(losses_that_shrink_give_way),
		cmocka_unit_test(partners_count_while_they_are_busy),
		cmocka_unit_test(what_a_culprit_did_is_said_if_it_is_one_thing),
		cmocka_unit_test(one_of_several_of_a_name_is_said_by_number),
		cmocka_unit_test(each_state_has_a_sentence),
		cmocka_unit_test(names_are_made_harmless_and_sentences_fit),
		cmocka_unit_test(processes_of_a_name_that_lose_alike_are_one_finding),
		cmocka_unit_test(one_of_a_name_that_lost_nearly_all_is_the_victim),
	};

	return RUN(cases);
}
