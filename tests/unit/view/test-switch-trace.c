// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include "base/array.h"
#include "view/switch_trace.h"

#define US(n) ((n)*1000ULL)

static struct switch_event turn(uint64_t at_ns, uint32_t cpu, uint32_t from, char state,
				uint32_t to)
{
	struct switch_event event = {.at_ns = at_ns,
				     .cpu = cpu,
				     .kind = SWITCH_TO,
				     .from = from,
				     .to = to,
				     .from_state = state};

	snprintf(event.from_comm, sizeof(event.from_comm), "thread-%u", from);
	snprintf(event.to_comm, sizeof(event.to_comm), "thread-%u", to);
	return event;
}

static struct switch_event wake(uint64_t at_ns, uint32_t cpu, uint32_t to)
{
	struct switch_event event = turn(at_ns, cpu, 0, 0, to);

	event.kind = SWITCH_WAKE;
	return event;
}

/* The trace of a window of 100 us. */
static void draw(struct output *out, struct switch_event *events, size_t count)
{
	struct run run = {0};
	struct switches switches = {.items = events, .count = count};
	struct switch_trace trace = {
		.run = &run, .switches = &switches, .until_ns = US(100), .what = "the end"};

	assert_int_equal(output_init(out, -1), 0);
	assert_int_equal(switch_trace_write(out, &trace), 0);
	output_char(out, '\0');
}

/* process 1: a CPU, 3: a thread */
static bool has_slice(const struct output *out, const char *name, int process, int track,
		      int from_us, int us)
{
	char line[200];

	snprintf(line, sizeof(line),
		 "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%d.000,\"dur\":%d.000",
		 name, process, track, from_us, us);
	return strstr(out->buffer, line);
}

CASE(threads_take_turns)
{
	struct switch_event events[] = {
		turn(US(10), 0, 7, 'R', 8),
		turn(US(30), 0, 8, 'S', 7),
		wake(US(60), 0, 8),
		turn(US(80), 0, 7, 'R', 8),
	};
	struct output out;

	draw(&out, events, ARRAY_SIZE(events));
	assert_true(has_slice(&out, "thread-7", 1, 0, 0, 10));
	assert_true(has_slice(&out, "thread-8", 1, 0, 10, 20));
	assert_true(has_slice(&out, "runnable (preempted)", 3, 7, 10, 20));
	assert_true(has_slice(&out, "running", 3, 7, 30, 50));
	assert_true(has_slice(&out, "runnable", 3, 8, 60, 20));
	assert_true(has_slice(&out, "running", 3, 8, 80, 20));
	assert_null(strstr(out.buffer, "not known"));
	output_release(&out);
}

/* That from 7 to 8 is missing. */
CASE(a_lost_switch_leaves_a_gap)
{
	struct switch_event events[] = {
		turn(US(10), 0, 8, 'R', 7),
		turn(US(40), 0, 8, 'R', 9),
		turn(US(50), 0, 9, 'S', 7),
	};
	struct output out;

	draw(&out, events, ARRAY_SIZE(events));
	assert_true(has_slice(&out, "not known", 1, 0, 10, 30));
	assert_true(has_slice(&out, "running", 3, 8, 0, 10));
	assert_false(has_slice(&out, "running", 3, 7, 10, 30));
	assert_true(has_slice(&out, "running", 3, 9, 40, 10));
	assert_true(has_slice(&out, "running", 3, 7, 50, 50));
	output_release(&out);
}

/* Those from 7 on CPU 0 and of 8 to CPU 1 are missing. */
CASE(a_thread_is_on_one_cpu)
{
	struct switch_event events[] = {
		turn(US(5), 1, 9, 'S', 0),
		turn(US(10), 0, 8, 'S', 7),
		wake(US(20), 0, 8),
		turn(US(40), 1, 8, 'S', 7),
	};
	struct output out;

	draw(&out, events, ARRAY_SIZE(events));
	assert_true(has_slice(&out, "not known", 1, 0, 10, 30));
	assert_true(has_slice(&out, "not known", 1, 1, 20, 20));
	assert_false(has_slice(&out, "runnable", 3, 8, 20, 20));
	assert_true(has_slice(&out, "running", 3, 7, 40, 60));
	assert_false(has_slice(&out, "thread-7", 1, 0, 10, 90));
	output_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_take_turns),
		cmocka_unit_test(a_lost_switch_leaves_a_gap),
		cmocka_unit_test(a_thread_is_on_one_cpu),
	};

	return RUN(tests);
}
