// SPDX-License-Identifier: GPL-2.0-or-later
/* Workers beside their stalls: places, time, what has not come back, starvation. */
#include "test.h"

#include "model/made-stalls.h"

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
		cmocka_unit_test(a_worker_takes_the_place_of_one_that_has_ended),
		cmocka_unit_test(workers_that_find_no_place_are_counted),
		cmocka_unit_test(a_thread_that_works_beside_idle_workers_is_not_judged),
		cmocka_unit_test(a_window_shows_the_last_of_it),
		cmocka_unit_test(what_has_not_come_back_is_reported),
		cmocka_unit_test(a_timeline_has_a_place_for_everything),
		cmocka_unit_test(workers_alone_are_starved_and_of_a_cpu_alone),
		cmocka_unit_test(without_blame_starvation_is_not_measured),
	};

	return RUN(cases);
}
