// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of the kernel's ring of switches. */
#include "test.h"

#include "scheduler/switch_ring.h"

CASE(a_switch)
{
	struct switch_event event;

	assert_true(switch_event_parse(
		&event, "           dwell-57      [001] d..2.    27.236526: sched_switch: "
			"prev_comm=dwell prev_pid=57 prev_prio=120 prev_state=R+ ==> "
			"next_comm=kworker/0:1 H next_pid=9 next_prio=100\n"));
	assert_int_equal(event.kind, SWITCH_TO);
	assert_int_equal(event.at_ns, 27236526000);
	assert_int_equal(event.cpu, 1);
	assert_int_equal(event.from, 57);
	assert_int_equal(event.to, 9);
	assert_int_equal(event.from_state, 'R');
	assert_string_equal(event.from_comm, "dwell");
	assert_string_equal(event.to_comm, "kworker/0:1 H");
}

CASE(wakeups_and_migrations)
{
	struct switch_event event;

	assert_true(switch_event_parse(&event, "  <idle>-0  [000] d.s3. 7.000001: sched_waking: "
					       "comm=a b pid=16 prio=120 target_cpu=001\n"));
	assert_int_equal(event.kind, SWITCH_WAKE);
	assert_int_equal(event.at_ns, 7000001000);
	assert_int_equal(event.to, 16);
	assert_int_equal(event.cpu, 0);
	assert_string_equal(event.to_comm, "a b");
	assert_true(switch_event_parse(&event, "  a-1  [000] d..2. 7.000002: sched_wakeup_new: "
					       "comm=b pid=17 prio=120 target_cpu=000\n"));
	assert_int_equal(event.kind, SWITCH_WAKE);
	assert_true(switch_event_parse(&event, "  a-1  [000] d..2. 7.000003: sched_migrate_task: "
					       "comm=b pid=17 prio=120 orig_cpu=0 dest_cpu=3\n"));
	assert_int_equal(event.kind, SWITCH_MIGRATE);
	assert_int_equal(event.cpu, 3);
}

CASE(a_thread_may_have_any_name)
{
	struct switch_event event;

	assert_true(switch_event_parse(
		&event, " [007] 9.000000:-57      [001] d..2.    27.236526: sched_switch: "
			"prev_comm=[007] 9.000000: prev_pid=57 prev_prio=120 prev_state=S ==> "
			"next_comm=swapper/1 next_pid=0 next_prio=120\n"));
	assert_int_equal(event.cpu, 1);
	assert_int_equal(event.at_ns, 27236526000);
	assert_int_equal(event.from, 57);
	assert_int_equal(event.to, 0);
}

CASE(other_lines_are_none)
{
	struct switch_event event;

	assert_false(switch_event_parse(&event, "# tracer: nop\n"));
	assert_false(switch_event_parse(&event, ""));
	assert_false(switch_event_parse(&event, "CPU:1 [LOST 12 EVENTS]\n"));
	assert_false(switch_event_parse(&event, ": sched_switch: prev_comm=a prev_pid=1"));
	assert_false(switch_event_parse(&event, "a-1 [001] d 1.5: sched_switch: prev_comm=a"));
	assert_false(switch_event_parse(&event, "a-1 [001] d 1.5: sched_waking: comm=a pid="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch),
		cmocka_unit_test(wakeups_and_migrations),
		cmocka_unit_test(a_thread_may_have_any_name),
		cmocka_unit_test(other_lines_are_none),
	};

	return RUN(tests);
}
