// SPDX-License-Identifier: GPL-2.0-or-later
/* Deadlocks among findings. */
#include "test.h"

#include "model/made-interval.h"

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
		cmocka_unit_test(deadlocks_of_one_two_and_many),
		cmocka_unit_test(waits_in_a_row_are_no_deadlock),
	};

	return RUN(cases);
}
