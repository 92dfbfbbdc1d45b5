// SPDX-License-Identifier: GPL-2.0-or-later
/* What a worker counts: a freeze is no gap, and samples of what it fell into are none. */
#include "test.h"

#include <unistd.h>

#include "base/duration.h"
#include "load/worker.h"

#define ROOM 4
/* So that it began before the thaw; a machine that has built this was up for longer. */
#define LONG_NS (40 * NS_PER_S)

/* One that runs in this process. */
struct made {
	struct worker_slot slot;
	struct worker_part part;
	uint64_t samples[SAMPLES_STREAMS][ROOM];
	struct worker worker;
	int ends[2];
};

static void make(struct made *made)
{
	*made = (struct made){.slot = {.tid = (uint32_t)getpid()}};
	assert_int_equal(pipe(made->ends), 0);
	made->worker = (struct worker){
		.slot = &made->slot,
		.parts = &made->part,
		.part_count = 1,
		.read_fd = made->ends[0],
		.write_fd = made->ends[1],
		.schedstat_fd = -1,
		.last_look_ns = clock_monotonic_ns(),
		.report = {.migrations_kept = REPORT_MIGRATIONS}, /* no room for more */
	};
	for (size_t i = 0; i < SAMPLES_STREAMS; i++)
		made->worker.samples[i] =
			(struct reservoir){.samples = made->samples[i], .room = ROOM};
}

static void unmake(struct made *made)
{
	close(made->ends[0]);
	close(made->ends[1]);
}

static uint64_t total_of(const struct made *made, enum report_samples stream)
{
	return made->worker.samples[stream].total;
}

/* As an op does that thaws it now. */
static void thaw(struct made *made)
{
	uint64_t now_ns = clock_monotonic_ns();

	pauses_begin(&made->slot.pauses, now_ns - 1);
	pauses_end(&made->slot.pauses, now_ns);
}

/* What begins then begins after the thaw. */
static void await_tick(void)
{
	uint64_t before_ns = clock_monotonic_ns();

	while (clock_monotonic_ns() == before_ns)
		;
}

CASE(what_a_freeze_falls_into_is_no_sample)
{
	struct made made;

	make(&made);
	for (int i = 0; i < SAMPLES_STREAMS; i++) {
		enum report_samples stream = (enum report_samples)i;

		made.slot.pauses = (struct pauses){0};
		made.worker.excused_ns = 0;
		worker_sample(&made.worker, stream, LONG_NS);
		assert_int_equal(total_of(&made, stream), 1);
		thaw(&made);
		worker_sample(&made.worker, stream, LONG_NS);
		assert_int_equal(total_of(&made, stream), 1);
		/* a look at the clock excuses the pause, and not what began before */
		worker_look(&made.worker, clock_monotonic_ns());
		worker_sample(&made.worker, stream, LONG_NS);
		assert_int_equal(total_of(&made, stream), 1);
		await_tick();
		worker_sample(&made.worker, stream, 0);
		assert_int_equal(total_of(&made, stream), 2);
	}
	unmake(&made);
}

CASE(a_wait_that_a_freeze_falls_into_is_no_sample)
{
	uint64_t began_ns = clock_monotonic_ns() - LONG_NS, stamp_ns = began_ns + 1;
	uint32_t word = 1;
	struct made made;

	make(&made);
	thaw(&made);
	worker_changed(&made.worker, began_ns, &stamp_ns);
	assert_int_equal(total_of(&made, SAMPLES_RESUME), 0);
	assert_int_equal(total_of(&made, SAMPLES_WAKE_TO_RUN), 0);
	await_tick();
	assert_true(worker_await_change(&made.worker, &word, 0, NULL));
	assert_int_equal(total_of(&made, SAMPLES_RESUME), 1);
	assert_true(worker_pipe_send(&made.worker, &stamp_ns));
	assert_true(worker_pipe_receive(&made.worker, &stamp_ns));
	assert_int_equal(total_of(&made, SAMPLES_RESUME), 2);
	unmake(&made);
}

/* One that has looked at the clock long ago; when that was. */
static uint64_t make_long_ago(struct made *made)
{
	make(made);
	made->worker.last_look_ns -= LONG_NS;
	return made->worker.last_look_ns;
}

CASE(a_freeze_after_the_clock_was_read_is_no_gap)
{
	struct made made;
	uint64_t then_ns = make_long_ago(&made);

	pauses_begin(&made.slot.pauses, then_ns + 1);
	pauses_end(&made.slot.pauses, clock_monotonic_ns());
	worker_look(&made.worker, then_ns);
	worker_look(&made.worker, clock_monotonic_ns());
	assert_true(made.worker.report.max_gap_ns < LONG_NS / 2);
	unmake(&made);
}

CASE(a_freeze_whose_end_is_not_known_yet_is_no_gap_before_or_after)
{
	struct made made;
	uint64_t then_ns = make_long_ago(&made);

	pauses_begin(&made.slot.pauses, then_ns + 1);
	worker_sample(&made.worker, SAMPLES_RESUME, 0);
	assert_int_equal(total_of(&made, SAMPLES_RESUME), 0);
	worker_look(&made.worker, clock_monotonic_ns() - LONG_NS / 2);
	worker_look(&made.worker, clock_monotonic_ns());
	pauses_end(&made.slot.pauses, clock_monotonic_ns());
	worker_look(&made.worker, clock_monotonic_ns());
	assert_true(made.worker.report.max_gap_ns < LONG_NS / 4);
	/* and what it excused, it excuses once */
	worker_look(&made.worker, clock_monotonic_ns() + LONG_NS);
	assert_true(made.worker.report.max_gap_ns >= LONG_NS);
	unmake(&made);
}

CASE(freezes_that_follow_each_other_are_no_gap_but_the_time_between_is)
{
	struct made made;
	uint64_t then_ns = make_long_ago(&made), tenth_ns = LONG_NS / 10;

	for (uint64_t k = 0; k < 3; k++) {
		pauses_begin(&made.slot.pauses, then_ns + (3 * k + 1) * tenth_ns);
		pauses_end(&made.slot.pauses, then_ns + (3 * k + 3) * tenth_ns);
	}
	worker_look(&made.worker, then_ns + LONG_NS);
	assert_int_equal(made.worker.report.max_gap_ns, 4 * tenth_ns);
	unmake(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_freeze_falls_into_is_no_sample),
		cmocka_unit_test(a_wait_that_a_freeze_falls_into_is_no_sample),
		cmocka_unit_test(a_freeze_after_the_clock_was_read_is_no_gap),
		cmocka_unit_test(a_freeze_whose_end_is_not_known_yet_is_no_gap_before_or_after),
		cmocka_unit_test(freezes_that_follow_each_other_are_no_gap_but_the_time_between_is),
	};

	return RUN(tests);
}
