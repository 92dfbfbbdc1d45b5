// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>

#include "model/comparison.h"
#include "model/stalls.h"
#include "model/starvation.h"
#include "model/timeline.h"
#include "runtime/runtime.h"

static void add_frame(struct stalls *stalls, uint32_t id, const char *function,
		      enum wire_frame_kind kind)
{
	union {
		struct wire_frame record;
		char room[256];
	} frame = {.record = {.header = {.size = sizeof(frame), .kind = WIRE_FRAME},
			      .id = id,
			      .line = 7,
			      .kind = (__u8)kind,
			      .flags = strchr(function, '+') ? 0 : WIRE_FRAME_NAMED,
			      .function_bytes = (__u16)(strlen(function) + 1),
			      .file_bytes = 5,
			      .module_bytes = 1}};
	struct stall stall;

	memcpy(frame.record.text, function, strlen(function) + 1);
	memcpy(frame.record.text + strlen(function) + 1, "a.rs\0", 6);
	assert_int_equal(stalls_feed(stalls, &frame.record.header, &stall), 0);
}

static void add_stack(struct stalls *stalls, uint32_t id, const uint32_t *frames, uint32_t count)
{
	union {
		struct wire_stack record;
		char room[256];
	} stack = {.record = {.header = {.size = sizeof(stack), .kind = WIRE_STACK},
			      .id = id,
			      .count = count,
			      .end = WIRE_STACK_COMPLETE}};
	struct stall stall;

	memcpy(stack.record.frames, frames, count * sizeof(*frames));
	assert_int_equal(stalls_feed(stalls, &stack.record.header, &stall), 0);
}

enum {
	KERNEL_WAIT = 1,
	LIBRARY,
	HANDLER,
	RUNTIME_POLL,
	SPIN,
	IN_PLACE,
	TAKEN_OVER,
	TYPE,
	POOL_LOOP,
	RAW_POLL,
	SCHEDULER,
	STRIPPED,
	START,
};

static struct stalls *make_with_window(uint64_t window_ns)
{
	struct stalls *stalls = stalls_new(window_ns, runtime_stack_marks());
	const uint32_t wait[] = {KERNEL_WAIT, LIBRARY, HANDLER, RUNTIME_POLL, TAKEN_OVER};
	const uint32_t spin[] = {SPIN, HANDLER, RUNTIME_POLL};
	const uint32_t in_place[] = {LIBRARY, HANDLER, IN_PLACE, RUNTIME_POLL};
	const uint32_t pool[] = {LIBRARY, RAW_POLL, POOL_LOOP};
	const uint32_t stripped[] = {KERNEL_WAIT, LIBRARY, STRIPPED, START};
	const uint32_t exported[] = {STRIPPED, HANDLER, STRIPPED, START};
	const uint32_t worker[] = {LIBRARY, HANDLER, RAW_POLL, SCHEDULER, RAW_POLL};

	assert_non_null(stalls);
	add_frame(stalls, KERNEL_WAIT, "schedule", WIRE_FRAME_KERNEL);
	add_frame(stalls, LIBRARY, "clock_nanosleep", WIRE_FRAME_SYSTEM);
	add_frame(stalls, HANDLER, "app::handle", WIRE_FRAME_USER);
	add_frame(stalls, RUNTIME_POLL, "tokio::runtime::task::core::Core<T,S>::poll",
		  WIRE_FRAME_RUNTIME);
	add_frame(stalls, SPIN, "app::spin", WIRE_FRAME_USER);
	add_frame(stalls, IN_PLACE, "tokio::task::blocking::block_in_place", WIRE_FRAME_RUNTIME);
	add_frame(stalls, TAKEN_OVER,
		  "tokio::runtime::scheduler::multi_thread::worker::block_in_place",
		  WIRE_FRAME_RUNTIME);
	add_frame(stalls, TYPE, "app::serve", WIRE_FRAME_USER);
	add_frame(stalls, POOL_LOOP, "std::sys::thread::start", WIRE_FRAME_STANDARD);
	add_frame(stalls, RAW_POLL, "tokio::runtime::task::raw::poll", WIRE_FRAME_RUNTIME);
	add_frame(stalls, SCHEDULER, "tokio::runtime::scheduler::multi_thread::worker::run",
		  WIRE_FRAME_RUNTIME);
	add_frame(stalls, STRIPPED, "app+0x12", WIRE_FRAME_USER);
	add_frame(stalls, START, "__libc_start_call_main", WIRE_FRAME_STANDARD);
	add_stack(stalls, 1, wait, ARRAY_SIZE(wait));
	add_stack(stalls, 2, spin, ARRAY_SIZE(spin));
	add_stack(stalls, 3, in_place, ARRAY_SIZE(in_place));
	add_stack(stalls, 4, pool, ARRAY_SIZE(pool));
	add_stack(stalls, 5, worker, ARRAY_SIZE(worker));
	add_stack(stalls, 6, stripped, ARRAY_SIZE(stripped));
	add_stack(stalls, 7, exported, ARRAY_SIZE(exported));
	return stalls;
}

static struct stalls *make(void)
{
	return make_with_window(0);
}

static struct wire_stall record(uint8_t state, uint64_t ns, uint32_t stack)
{
	struct wire_stall stall = {
		.header = {.size = sizeof(stall), .kind = WIRE_STALL, .time_ns = 1000 + ns},
		.start_ns = 1000,
		.duration_ns = ns,
		.tid = 7,
		.kind = WIRE_SPAN_POLL,
		.stack = stack,
		.type = TYPE,
		.longest = {.state = state, .syscall = 1},
		.longest_ns = ns,
	};

	stall.states_ns[state] = ns;
	return stall;
}

CASE(a_stripped_function_is_shown_by_its_address)
{
	struct stalls *stalls = make();
	struct wire_stall stripped = record(WIRE_SLEEP, 20, 6),
			  exported = record(WIRE_SLEEP, 20, 7);
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &stripped.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, STRIPPED);
	/* a name says more */
	assert_int_equal(stalls_feed(stalls, &exported.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, HANDLER);
	stalls_free(stalls);
}

CASE(the_largest_state_is_the_cause)
{
	static const struct {
		uint8_t state, detail;
		enum stall_cause cause;
	} cases[] = {
		{WIRE_ON_CPU, 0, CAUSE_CPU},
		{WIRE_RUNNABLE, WIRE_DETAIL_PREEMPTED, CAUSE_RUNNABLE},
		{WIRE_DISK, 0, CAUSE_DISK},
		{WIRE_NET, 0, CAUSE_NET},
		{WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK, CAUSE_LOCK},
		{WIRE_SWAP, 0, CAUSE_SWAP},
		{WIRE_SLEEP, 0, CAUSE_SLEEP},
		{WIRE_IPC, WIRE_DETAIL_PIPE, CAUSE_IPC},
		{WIRE_STOPPED, 0, CAUSE_STOPPED},
		/* waiting for work, it would be; in a task it waits for another thread */
		{WIRE_IDLE, WIRE_DETAIL_FUTEX_COND, CAUSE_IPC},
		{WIRE_IDLE, WIRE_DETAIL_NONE, CAUSE_NET},
	};
	struct stalls *stalls = make();
	struct stall stall;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_stall one = record(cases[i].state, 1000, 1);

		one.longest.detail = cases[i].detail;
		assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
		assert_int_equal(stall.parts[0].cause, cases[i].cause);
		/* through the kernel and libraries, to the program's own */
		assert_int_equal(stall.parts[0].function, HANDLER);
		assert_false(stall.parts[0].in_place);
	}
	stalls_free(stalls);
}

CASE(what_it_ran_is_sampled)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_ON_CPU, 50000, 1);
	struct wire_sample sample = {.header = {.size = sizeof(sample), .kind = WIRE_SAMPLE},
				     .tid = 7,
				     .stack = 1,
				     .weight_ns = 100,
				     .span_ns = 900};
	struct stall stall;

	/* of the span before */
	sample.weight_ns = 1000000;
	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
	sample.span_ns = 1000;
	sample.weight_ns = 10000;
	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
	sample.stack = 2;
	sample.weight_ns = 30000;
	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, SPIN);
	assert_int_equal(stall.parts[0].stack, 2);
	/* a wait beside it is not its reason */
	one.longest.state = WIRE_DISK;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].site.state, 0);
	/* without samples the type of the task is all there is */
	one.start_ns = 2000;
	one.stack = 0;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, TYPE);
	stalls_free(stalls);
}

static void add_sample(struct stalls *stalls, uint32_t tid, uint64_t span_ns, uint64_t time_ns,
		       uint32_t stack)
{
	struct wire_sample sample = {
		.header = {.size = sizeof(sample), .kind = WIRE_SAMPLE, .time_ns = time_ns},
		.tid = tid,
		.stack = stack,
		.weight_ns = 100,
		.span_ns = span_ns};
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
}

CASE(samples_of_spans_that_go_on_stay_when_many_threads_are_sampled)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_ON_CPU, 50000, 0);
	struct stall stall;

	/* one that goes on, and began before all others; 300 of which each ends at once */
	for (uint32_t i = 1; i <= 300; i++) {
		add_sample(stalls, 7, 1000, 2000 + 10 * i, i <= 200 ? 2 : 1);
		add_sample(stalls, 100 + i, 2001 + 10 * i, 2001 + 10 * i, 2);
	}
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, SPIN);
	/* the last of those that have ended are there, the first are not */
	one.tid = 200;
	one.start_ns = 3001;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, SPIN);
	one.tid = 101;
	one.start_ns = 2011;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, TYPE);
	stalls_free(stalls);
}

static const struct hotspot *hotspots_of(struct stalls *stalls, enum hotspot_grouping by,
					 size_t *ret_count)
{
	const struct hotspot *hotspots;

	assert_int_equal(stalls_hotspots(stalls, by, &hotspots, ret_count), 0);
	return hotspots;
}

CASE(blocking_in_place_is_distinguished)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 5000, 3);
	struct stall stall;
	size_t count;

	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_true(stall.parts[0].in_place);
	/* a worker that took over has the function below the poll */
	one.stack = 1;
	one.duration_ns = one.states_ns[WIRE_SLEEP] = 1000;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_false(stall.parts[0].in_place);
	/* those to blame come first, although shorter */
	const struct hotspot *hotspots = hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);

	assert_int_equal(count, 2);
	assert_false(hotspots[0].in_place);
	assert_true(hotspots[1].in_place);
	assert_int_equal(stalls_counts(stalls).in_place, 1);
	stalls_free(stalls);
}

CASE(without_types_the_stack_distinguishes_tasks_from_closures)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 5000, 4);
	struct stall stall;

	one.type = 0;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 0);
	assert_int_equal(stalls_counts(stalls).pool_stalls, 1);
	/* the same stack on a thread that waits for events: the current_thread scheduler's */
	one.flags = WIRE_STALL_OF_LOOP;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	one.flags = 0;
	one.stack = 5;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, HANDLER);
	/* the worker's own life, with polls inside */
	one.inner_ns = 2000;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 0);
	/* with a type there is no doubt */
	one.type = TYPE;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.own_ns, 3000);
	stalls_free(stalls);
}

/* Neither code nor a thread is to blame for what the hypervisor did. */
CASE(stolen_time_is_nobodys_stall)
{
	struct stalls *stalls = make();
	struct wire_runtime runtime = {.header = {.size = sizeof(runtime), .kind = WIRE_RUNTIME},
				       .threshold_ns = 1000};
	struct wire_stall one = record(WIRE_STOLEN, 3000, 1);
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &runtime.header, &stall), 0);
	one.longest = (struct wire_wait_site){.state = WIRE_RUNNABLE};
	one.culprit = (struct wire_peer){.tid = 9, .pid = 9, .comm = "other"};
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_STOLEN);
	assert_int_equal(stall.parts[0].function, 0);
	assert_int_equal(stall.parts[0].culprit.tid, 0);
	/* it computed for longer, but not for so long that it were a stall */
	one.states_ns[WIRE_ON_CPU] = 900;
	one.states_ns[WIRE_STOLEN] = 200;
	one.duration_ns = 1100;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_STOLEN);
	/* a stall in any case: its own main state */
	one.states_ns[WIRE_ON_CPU] = 2000;
	one.duration_ns = 2200;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_CPU);
	assert_int_equal(stall.parts[0].culprit.tid, 9);
	one = record(WIRE_IRQ, 1500, 1);
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].cause, CAUSE_IRQ);
	struct stall_counts counts = stalls_counts(stalls);

	assert_int_equal(counts.stalls, 4);
	assert_int_equal(stall_counts_blamed(&counts), 1);
	assert_int_equal(counts.blamed_ns, 2200);
	assert_int_equal(counts.max_blamed_ns, 2200);
	stalls_free(stalls);
}

CASE(hotspots_sum_up)
{
	struct stalls *stalls = make();
	struct stall stall;
	size_t count;

	for (uint64_t i = 1; i <= 100; i++) {
		struct wire_stall one = record(WIRE_SLEEP, i * 1000000, 1);

		assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	}
	const struct hotspot *hotspots = hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);

	assert_int_equal(count, 1);
	assert_int_equal(hotspots[0].count, 100);
	assert_int_equal(hotspots[0].total_ns, 5050000000);
	assert_int_equal(hotspots[0].max_ns, 100000000);
	assert_int_equal(hotspots[0].function, HANDLER);
	assert_string_equal(stalls_frame(stalls, HANDLER)->file, "a.rs");
	stalls_free(stalls);
}

CASE(many_functions_take_bounded_room)
{
	struct stalls *stalls = make();
	struct stall stall;
	size_t count;
	char name[32];

	for (uint32_t i = 0; i < 6000; i++) {
		struct wire_stall one = record(WIRE_SLEEP, 1000, 100 + i);
		const uint32_t frames[] = {100 + i};

		snprintf(name, sizeof(name), "app::f%u", i);
		add_frame(stalls, 100 + i, name, WIRE_FRAME_USER);
		add_stack(stalls, 100 + i, frames, 1);
		assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	}
	assert_non_null(hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count));
	assert_int_equal(count, 4096);
	assert_int_equal(stalls_counts(stalls).stalls, 6000);
	assert_int_equal(stalls_counts(stalls).hotspots_lost, 6000 - 4096);
	stalls_free(stalls);
}

static struct wire_stall record_at(uint64_t end_ns, uint64_t ns, uint32_t stack)
{
	struct wire_stall stall = record(WIRE_SLEEP, ns, stack);

	stall.start_ns = end_ns - ns;
	stall.header.time_ns = end_ns;
	return stall;
}

/* One worker's interval of a second, half of it on a CPU; 5 spans more in each. */
static void add_second(struct stalls *stalls, uint64_t end_ns, uint64_t longest_ns)
{
	struct wire_worker worker = {
		.header = {.size = sizeof(worker), .kind = WIRE_WORKER, .time_ns = end_ns},
		.start_ns = 1,
		.tid = 7,
		.spans = 5 * (end_ns / 1000000000),
		.longest_ns = longest_ns,
		.kind = WIRE_SPAN_POLL,
	};
	struct row row = {.tid = 7, .start_ns = 1, .observed_ns = 1000000000};
	struct interval interval = {
		.start_ns = end_ns - 1000000000, .end_ns = end_ns, .rows = &row, .row_count = 1};
	struct stall stall;

	row.states_ns[STATE_USER] = row.states_ns[STATE_IDLE] = 500000000;
	assert_int_equal(stalls_feed(stalls, &worker.header, &stall), 0);
	stalls_add_interval(stalls, &interval);
}

static void add_worker_at(struct stalls *stalls, uint32_t tid, uint64_t open_ns)
{
	struct wire_worker worker = {
		.header = {.size = sizeof(worker), .kind = WIRE_WORKER, .time_ns = 9000},
		.start_ns = tid,
		.spans = tid,
		.open_ns = open_ns,
		.open_type = TYPE,
		.tid = tid,
		.kind = WIRE_SPAN_POLL,
		.open_kind = WIRE_SPAN_POLL,
	};
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &worker.header, &stall), 0);
}

/* An interval in which those of `first` to `last` end. */
static void end_workers(struct stalls *stalls, uint32_t first, uint32_t last)
{
	struct row *rows = calloc(last - first + 1, sizeof(*rows));
	struct interval interval = {.end_ns = 9000, .rows = rows, .row_count = last - first + 1};

	assert_non_null(rows);
	for (uint32_t i = 0; i < interval.row_count; i++)
		rows[i] = (struct row){.tid = first + i, .start_ns = first + i, .exited = true};
	stalls_add_interval(stalls, &interval);
	free(rows);
}

static const struct stall_worker *worker_of(struct stalls *stalls, uint32_t tid)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	assert_int_equal(count, 4096);
	for (size_t i = 0; i < count; i++)
		if (workers[i].last.tid == tid)
			return &workers[i];
	return NULL;
}

CASE(a_worker_takes_the_place_of_one_that_has_ended)
{
	struct stalls *stalls = make();
	const struct stall_worker *worker;
	struct stall_open open;

	for (uint32_t tid = 1; tid <= 20000; tid++) {
		add_worker_at(stalls, tid, 0);
		/* all but the first ten, in time */
		if (tid > 10 && tid % 100 == 0)
			end_workers(stalls, tid == 100 ? 11 : tid - 99, tid);
	}
	add_worker_at(stalls, 30000, 1000);
	worker = worker_of(stalls, 30000);
	assert_non_null(worker);
	assert_int_equal(worker->spans, 30000);
	assert_true(stalls_open(stalls, worker, &open));
	for (uint32_t tid = 1; tid <= 10; tid++)
		assert_false(worker_of(stalls, tid)->ended);
	/* of those that have ended, the last are there */
	assert_non_null(worker_of(stalls, 20000));
	assert_null(worker_of(stalls, 11));
	assert_int_equal(stalls_counts(stalls).workers_lost, 0);
	stalls_free(stalls);
}

CASE(workers_that_find_no_place_are_counted)
{
	struct stalls *stalls = make();

	/* the same ones, interval for interval */
	for (int interval = 0; interval < 3; interval++) {
		for (uint32_t tid = 1; tid <= 4100; tid++)
			add_worker_at(stalls, tid, 0);
		stalls_add_interval(stalls, &(struct interval){.end_ns = 9000});
	}
	assert_int_equal(stalls_counts(stalls).workers_lost, 4);
	end_workers(stalls, 1, 4);
	for (uint32_t tid = 4097; tid <= 4100; tid++) {
		add_worker_at(stalls, tid, 0);
		assert_non_null(worker_of(stalls, tid));
	}
	stalls_free(stalls);
}

/* A second of a worker, of a thread beside it, and of one of another process, in 1/100 s on a CPU.
 */
static void add_beside(struct stalls *stalls, uint64_t worker, uint64_t beside, const char *comm)
{
	const uint64_t tick_ns = 10000000;
	struct row rows[] = {
		{.tid = 7, .pid = 6, .start_ns = 7, .comm = "notifier"},
		{.tid = 6, .pid = 6, .start_ns = 6},
		{.tid = 9, .pid = 9, .start_ns = 9, .comm = "other"},
	};
	struct interval interval = {
		.end_ns = 1000000000, .rows = rows, .row_count = ARRAY_SIZE(rows)};

	snprintf(rows[1].comm, sizeof(rows[1].comm), "%s", comm);
	rows[0].states_ns[STATE_USER] = worker * tick_ns;
	rows[1].states_ns[STATE_KERNEL] = beside * tick_ns;
	rows[2].states_ns[STATE_USER] = 90 * tick_ns;
	stalls_add_interval(stalls, &interval);
}

/* Its own thread is a worker; with which threads beside it, one of them is named. */
static bool names_unjudged(uint64_t worker, uint64_t beside, const char *comm,
			   struct stalls_unjudged *ret_unjudged)
{
	const struct wire_runtime runtime = {
		.header = {.size = sizeof(runtime), .kind = WIRE_RUNTIME}, .pid = 6};
	struct stalls *stalls = stalls_new(0, NULL);
	struct stall stall;
	bool named;

	assert_non_null(stalls);
	assert_int_equal(stalls_feed(stalls, &runtime.header, &stall), 0);
	add_worker_at(stalls, 7, 0);
	add_beside(stalls, worker, beside, comm);
	named = stalls_unjudged(stalls, ret_unjudged);
	stalls_free(stalls);
	return named;
}

CASE(a_thread_that_works_beside_idle_workers_is_not_judged)
{
	struct stalls_unjudged unjudged;

	assert_true(names_unjudged(3, 10, "tclsh", &unjudged));
	assert_int_equal(unjudged.tid, 6);
	assert_string_equal(unjudged.comm, "tclsh");
	assert_int_equal(unjudged.cpu_ns, 100000000);
	assert_int_equal(unjudged.process_ns, 130000000);
	/* the workers work; all is idle; a runtime's own thread */
	assert_false(names_unjudged(6, 10, "tclsh", &unjudged));
	assert_false(names_unjudged(0, 0, "tclsh", &unjudged));
	assert_false(names_unjudged(3, 50, "C2 CompilerThre", &unjudged));
}

CASE(a_window_shows_the_last_of_it)
{
	static const uint64_t second = 1000000000;
	struct stalls *stalls = make_with_window(10 * second);
	struct stall stall;
	size_t count;

	for (uint64_t i = 1; i <= 100; i++) {
		struct wire_stall one = record_at(i * second, i * 1000000, 1);

		assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
		add_second(stalls, i * second, i);
	}
	const struct hotspot *hotspots = hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);
	struct stall_counts counts = stalls_counts(stalls);

	assert_int_equal(count, 1);
	/* the window, and the slice that has begun */
	assert_in_range(hotspots[0].count, 10, 11);
	assert_int_equal(hotspots[0].max_ns, 100000000);
	assert_int_equal(counts.stalls, hotspots[0].count);
	assert_int_equal(counts.measured_ns, hotspots[0].count * second);
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	assert_int_equal(count, 1);
	assert_int_equal(workers[0].spans, 5 * counts.stalls);
	assert_int_equal(workers[0].longest_ns, 100);
	assert_int_equal(workers[0].states_ns[STATE_USER], counts.measured_ns / 2);
	assert_int_equal(stalls_counts_of_all(stalls).stalls, 100);
	/* much later nothing of it is left */
	add_second(stalls, 1000 * second, 1);
	assert_int_equal(stalls_counts(stalls).stalls, 0);
	assert_int_equal(stalls_counts(stalls).measured_ns, second);
	hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);
	assert_int_equal(count, 0);
	stalls_free(stalls);
}

CASE(hotspots_are_grouped)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 5000, 1), two = record(WIRE_SLEEP, 7000, 6);
	const uint32_t other[] = {KERNEL_WAIT, LIBRARY, SPIN, RUNTIME_POLL};
	struct stall stall;
	size_t count;

	add_stack(stalls, 6, other, ARRAY_SIZE(other));
	two.tid = 8;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stalls_feed(stalls, &two.header, &stall), 1);
	/* of another type of task */
	two.type = SPIN;
	assert_int_equal(stalls_feed(stalls, &two.header, &stall), 1);
	const struct hotspot *hotspots = hotspots_of(stalls, HOTSPOTS_BY_FUNCTION, &count);

	assert_int_equal(count, 2);
	assert_int_equal(hotspots[0].function, SPIN);
	assert_int_equal(hotspots[0].count, 2);
	assert_int_equal(hotspots[0].workers[0].tid, 8);
	assert_int_equal(hotspots[0].workers[0].count, 2);
	hotspots = hotspots_of(stalls, HOTSPOTS_BY_TASK, &count);
	assert_int_equal(count, 2);
	assert_int_equal(hotspots[0].type, TYPE);
	assert_int_equal(hotspots[0].total_ns, 12000);
	assert_int_equal(hotspots[0].workers[1].count, 1);
	/* all in a.rs */
	hotspots = hotspots_of(stalls, HOTSPOTS_BY_FILE, &count);
	assert_int_equal(count, 1);
	assert_int_equal(hotspots[0].count, 3);
	stalls_free(stalls);
}

CASE(what_has_not_come_back_is_reported)
{
	struct stalls *stalls = make();
	struct wire_runtime runtime = {
		.header = {.size = sizeof(runtime), .kind = WIRE_RUNTIME},
		.threshold_ns = 1000,
		.pid = 7,
	};
	struct stall_worker worker = {.last = {.header = {.time_ns = 9000},
					       .open_ns = 8500,
					       .tid = 7,
					       .kind = WIRE_SPAN_POLL,
					       .open_kind = WIRE_SPAN_POLL,
					       .stack = 5,
					       .site = {.state = WIRE_LOCK}}};
	struct wire_sample sample = {.header = {.size = sizeof(sample), .kind = WIRE_SAMPLE},
				     .tid = 7,
				     .stack = 2,
				     .weight_ns = 100,
				     .span_ns = 5000};
	struct stall_open open;
	struct stall stall;

	assert_int_equal(stalls_feed(stalls, &runtime.header, &stall), 0);
	assert_false(stalls_open(stalls, &worker, &open));
	worker.last.open_ns = 5000;
	assert_true(stalls_open(stalls, &worker, &open));
	assert_int_equal(open.duration_ns, 4000);
	assert_int_equal(open.cause, CAUSE_LOCK);
	assert_int_equal(open.function, HANDLER);
	/* the poll it lives in: it waits for work */
	worker.last.stack = 4;
	assert_false(stalls_open(stalls, &worker, &open));
	/* that could be so too */
	worker.last.stack = 0;
	assert_false(stalls_open(stalls, &worker, &open));
	worker.last.open_type = TYPE;
	assert_true(stalls_open(stalls, &worker, &open));
	assert_int_equal(open.function, TYPE);
	worker.last.site.state = WIRE_ON_CPU;
	assert_int_equal(stalls_feed(stalls, &sample.header, &stall), 0);
	assert_true(stalls_open(stalls, &worker, &open));
	assert_int_equal(open.cause, CAUSE_CPU);
	assert_int_equal(open.function, SPIN);
	stalls_free(stalls);
}

CASE(a_timeline_has_a_place_for_everything)
{
	struct timeline *timeline = timeline_new(2, 4);
	struct stall_worker worker = {.last = {.tid = 7, .start_ns = 1}};
	struct row row = {.tid = 7, .start_ns = 1};
	struct timeline_cell cells[8];

	assert_non_null(timeline);
	for (uint64_t i = 1; i <= 6; i++) {
		struct interval interval = {
			.start_ns = i * 1000000,
			.end_ns = (i + 1) * 1000000,
			.rows = &row,
			.row_count = 1,
		};

		row.states_ns[STATE_USER] = i == 4 ? 500000 : 0;
		assert_int_equal(timeline_add_interval(timeline, &interval, &worker, 1), 0);
	}
	for (uint64_t i = 1; i <= 3; i++) {
		struct wire_stall record = {
			.start_ns = i * 2000000, .duration_ns = 100000, .tid = 7};

		timeline_add_stall(timeline, &(struct stall){.record = &record,
							     .parts = {{.cause = CAUSE_DISK}},
							     .part_count = 1});
	}
	timeline_cells(timeline, &worker, 0, 1000000, cells, ARRAY_SIZE(cells));
	/* two intervals and a stall were too many to be kept */
	assert_int_equal(cells[2].kind, TIMELINE_UNKNOWN);
	assert_int_equal(cells[3].kind, TIMELINE_IDLE);
	assert_int_equal(cells[4].kind, TIMELINE_STALLED);
	assert_int_equal(cells[4].cause, CAUSE_DISK);
	assert_true(cells[4].on_cpu > 0.49 && cells[4].on_cpu < 0.51);
	assert_int_equal(cells[5].kind, TIMELINE_IDLE);
	assert_int_equal(cells[6].kind, TIMELINE_STALLED);
	assert_int_equal(cells[7].kind, TIMELINE_UNKNOWN);
	worker.last.tid = 9;
	timeline_cells(timeline, &worker, 0, 1000000, cells, ARRAY_SIZE(cells));
	assert_int_equal(cells[4].kind, TIMELINE_UNKNOWN);
	timeline_free(timeline);
}

CASE(impossible_records_are_refused)
{
	struct stalls *stalls = make();
	struct wire_stall one = record(WIRE_SLEEP, 1000, 999);
	struct wire_stack stack = {.header = {.size = sizeof(stack), .kind = WIRE_STACK},
				   .id = 1U << 30};
	struct stall stall;

	/* a stack that was not sent */
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), 1);
	assert_int_equal(stall.parts[0].function, TYPE);
	one.inner_ns = 2000;
	assert_int_equal(stalls_feed(stalls, &one.header, &stall), -EBADMSG);
	assert_int_equal(stalls_feed(stalls, &stack.header, &stall), -EBADMSG);
	stalls_free(stalls);
}

CASE(two_measurements_differ)
{
	/* twice as long: counts and times double where nothing has changed */
	struct compared_side a = {.duration_ns = 1000}, b = {.duration_ns = 2000};
	struct comparison comparison;

	assert_int_equal(compared_add(&a, "same", "cpu", 5, 100, 30), 0);
	assert_int_equal(compared_add(&b, "same", "cpu", 10, 210, 30), 0);
	assert_int_equal(compared_add(&a, "gone", "cpu", 1, 50, 50), 0);
	assert_int_equal(compared_add(&a, "better", "lock", 9, 90, 20), 0);
	assert_int_equal(compared_add(&b, "better", "lock", 9, 90, 20), 0);
	assert_int_equal(compared_add(&a, "worse", "disk", 1, 10, 10), 0);
	assert_int_equal(compared_add(&b, "worse", "disk", 1, 300, 300), 0);
	assert_int_equal(compared_add(&b, "worse", "disk", 1, 300, 300), 0);
	/* of another cause it is another */
	assert_int_equal(compared_add(&b, "same", "lock", 1, 20, 20), 0);
	assert_int_equal(comparison_make(&comparison, &a, &b), 0);
	assert_int_equal(comparison.count, 5);
	assert_string_equal(comparison.items[0].function, "worse");
	assert_int_equal(comparison.items[0].change, CHANGE_WORSE);
	assert_int_equal(comparison.items[0].b.count, 2);
	assert_int_equal(comparison.items[1].change, CHANGE_NEW);
	assert_int_equal(comparison.items[2].change, CHANGE_SAME);
	assert_string_equal(comparison.items[3].function, "better");
	assert_int_equal(comparison.items[3].change, CHANGE_BETTER);
	assert_int_equal(comparison.items[4].change, CHANGE_GONE);
	assert_true(comparison.share_a > 0.249 && comparison.share_a < 0.251);
	comparison_release(&comparison);
	compared_release(&a);
	compared_release(&b);
}

static struct blame wait_of(uint32_t victim, enum state state, uint32_t culprit, uint64_t ns)
{
	struct blame blame = {.victim = {.tid = victim, .pid = 7},
			      .state = state,
			      .kind = WIRE_CULPRIT_THREAD,
			      .culprit = {.tid = culprit, .pid = culprit, .process = "make"},
			      .total_ns = ns};

	return blame;
}

CASE(workers_alone_are_starved_and_of_a_cpu_alone)
{
	struct stalls *stalls = make();
	struct session_info session = {.wire.flags = WIRE_SESSION_BLAME};
	struct row rows[] = {{.tid = 7, .start_ns = 1}, {.tid = 8, .start_ns = 2}};
	struct blame blames[] = {
		wait_of(7, STATE_RUNNABLE, 50, 100), wait_of(7, STATE_LOCK, 50, 1000),
		wait_of(8, STATE_RUNNABLE, 51, 1000), wait_of(7, STATE_RUNNABLE, 52, 300),
		wait_of(7, STATE_RUNNABLE, 50, 50)};
	struct interval interval = {.rows = rows,
				    .row_count = 2,
				    .blames = blames,
				    .blame_count = ARRAY_SIZE(blames),
				    .session = &session};
	struct starvation starvation = {0};

	add_second(stalls, 1000000000, 0);
	assert_int_equal(starvation_add(&starvation, stalls, &interval), 0);
	starvation_end(&starvation);
	assert_true(starvation.measured);
	assert_int_equal(starvation.sum.count, 2);
	assert_int_equal(starvation.sum.items[0].culprit.pid, 52);
	assert_int_equal(starvation.sum.items[1].total_ns, 150);
	assert_int_equal(starvation_total(&starvation), 450);
	starvation_release(&starvation);
	stalls_free(stalls);
}

CASE(without_blame_starvation_is_not_measured)
{
	struct stalls *stalls = make();
	struct session_info session = {0};
	struct interval interval = {.session = &session};
	struct starvation starvation = {0};

	assert_int_equal(starvation_add(&starvation, stalls, &interval), 0);
	starvation_end(&starvation);
	assert_false(starvation.measured);
	stalls_free(stalls);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_stripped_function_is_shown_by_its_address),
		cmocka_unit_test(the_largest_state_is_the_cause),
		cmocka_unit_test(what_it_ran_is_sampled),
		cmocka_unit_test(samples_of_spans_that_go_on_stay_when_many_threads_are_sampled),
		cmocka_unit_test(blocking_in_place_is_distinguished),
		cmocka_unit_test(without_types_the_stack_distinguishes_tasks_from_closures),
		cmocka_unit_test(stolen_time_is_nobodys_stall),
		cmocka_unit_test(hotspots_sum_up),
		cmocka_unit_test(many_functions_take_bounded_room),
		cmocka_unit_test(a_worker_takes_the_place_of_one_that_has_ended),
		cmocka_unit_test(workers_that_find_no_place_are_counted),
		cmocka_unit_test(a_thread_that_works_beside_idle_workers_is_not_judged),
		cmocka_unit_test(a_window_shows_the_last_of_it),
		cmocka_unit_test(hotspots_are_grouped),
		cmocka_unit_test(what_has_not_come_back_is_reported),
		cmocka_unit_test(a_timeline_has_a_place_for_everything),
		cmocka_unit_test(impossible_records_are_refused),
		cmocka_unit_test(two_measurements_differ),
		cmocka_unit_test(workers_alone_are_starved_and_of_a_cpu_alone),
		cmocka_unit_test(without_blame_starvation_is_not_measured),
	};

	return RUN(cases);
}
