// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/meter.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/schedstat.h"
#include "verify/pattern.h"

void (*truth_sink)(const struct truth *truth);
uint32_t meter_old_tid;

uint64_t now_ns(void)
{
	return clock_monotonic_ns();
}

uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Of the thread `clock_of`: a child has a copy of its parent's. */
static _Thread_local int clock_fd = -1, clock_of;

static void read_schedstat(struct meter_reading *reading)
{
	struct schedstat counted;
	int tid = (int)syscall(SYS_gettid);

	if (clock_of != tid) {
		clock_fd = schedstat_open();
		clock_of = tid;
	}
	if (!schedstat_read(clock_fd, &counted))
		die("/proc/thread-self/schedstat");
	reading->runnable_ns = counted.delay_ns;
	reading->waits = counted.count;
}

#define READING_NS 50000 /* longer than a reading takes that nothing holds up */
#define READINGS   20

/*
 * Of the three at once. Where the CPU is taken away in between, they are of different times by an
 * unknown amount, so such a reading is done again; the shortest one counts. What the others took is
 * CPU time and run-queue wait like any other.
 */
static struct meter_reading read_all(void)
{
	struct meter_reading best = {.took_ns = UINT64_MAX};

	for (int i = 0; i < READINGS && best.took_ns > READING_NS; i++) {
		struct meter_reading reading = {.wall_ns = now_ns()};

		read_schedstat(&reading);
		reading.cpu_ns = thread_cpu_ns();
		reading.took_ns = now_ns() - reading.wall_ns;
		if (reading.took_ns < best.took_ns)
			best = reading;
	}
	return best;
}

static uint32_t *bucket_of(uint32_t buckets[WAIT_BUCKETS], uint64_t ns)
{
	unsigned int bucket = ns ? 63 - (unsigned int)__builtin_clzll(ns) : 0;

	return &buckets[bucket < WAIT_BUCKETS ? bucket : WAIT_BUCKETS - 1];
}

/* If one was no wait for the kernel, it was late_ns at most. */
static void note_waits(struct truth_waits *into, uint64_t count, uint64_t ns, uint64_t late_ns)
{
	uint64_t most_ns = ns ? ns : late_ns;

	into->count += (uint32_t)count;
	if (count != 1) {
		into->rest_max_ns = count && ns > into->rest_max_ns ? ns : into->rest_max_ns;
		return;
	}
	into->known++;
	++*bucket_of(into->buckets, ns);
	++*bucket_of(into->most_buckets, most_ns);
	into->max_ns = ns > into->max_ns ? ns : into->max_ns;
	into->most_max_ns = most_ns > into->most_max_ns ? most_ns : into->most_max_ns;
}

/* In read_next(): a wait that was none for the kernel was none. */
#define NEVER_LATE UINT64_MAX

/* A wait that was none for the kernel took all the time off the CPU but least_ns, at most. */
static struct meter_reading read_next(struct meter *meter, uint64_t least_ns)
{
	struct meter_reading now = read_all();
	uint64_t off_ns = above(now.wall_ns - meter->last.wall_ns, now.cpu_ns - meter->last.cpu_ns);

	note_waits(&meter->truth.waits, now.waits - meter->last.waits,
		   now.runnable_ns - meter->last.runnable_ns, above(off_ns, least_ns));
	meter->last = now;
	return now;
}

/*
 * A kernel of 6.12 may take the whole of a sleep for a wait for a CPU, where the balancer has moved
 * the thread while it was asleep but still queued (sched_delayed): sched_info_enqueue() then. Of a
 * sleep that a timer ends it is known how long it was; of other waits this is.
 */
#define IMPLAUSIBLE_NS (500 * NS_PER_MS)

static bool is_implausible(const struct meter_reading *then, const struct meter_reading *now)
{
	uint64_t waited = now->runnable_ns - then->runnable_ns;

	return waited > IMPLAUSIBLE_NS && waited > (now->wall_ns - then->wall_ns) / 2 &&
	       now->waits - then->waits <= 2;
}

/* Up to `now`; what is uncertain in it is added to the truth. */
static uint64_t blocked_since(struct meter *meter, const struct meter_reading *then,
			      const struct meter_reading *now)
{
	uint64_t active = now->cpu_ns - then->cpu_ns + now->runnable_ns - then->runnable_ns;
	uint64_t wall = now->wall_ns - then->wall_ns;

	if (now->took_ns < meter->truth.reading_ns)
		meter->truth.reading_ns = now->took_ns;
	if (now->took_ns > READING_NS)
		meter->truth.uncertain_ns += now->took_ns;
	return wall > active ? wall - active : 0;
}

void meter_start(struct meter *meter, const char *pattern, const char *name)
{
	*meter = (struct meter){.truth = {.state = STATES, .reading_ns = UINT64_MAX}};
	snprintf(meter->truth.pattern, sizeof(meter->truth.pattern), "%s", pattern);
	prctl(PR_SET_NAME, name);
	/* the first one finds nothing in caches */
	for (int i = 0; i < 3; i++) {
		meter->start = read_all();
		if (meter->start.took_ns < meter->truth.reading_ns)
			meter->truth.reading_ns = meter->start.took_ns;
	}
	meter->last = meter->start;
	if ((uint32_t)syscall(SYS_gettid) == meter_old_tid)
		return;
	note_waits(&meter->truth.waits, meter->start.waits, meter->start.runnable_ns, 0);
	meter->start.wall_ns -= meter->start.cpu_ns + meter->start.runnable_ns;
	meter->start.cpu_ns = meter->start.runnable_ns = 0;
}

void meter_expect(struct meter *meter, enum state state, const char *reason)
{
	meter->truth.state = state;
	snprintf(meter->truth.reason, sizeof(meter->truth.reason), "%s", reason ? reason : "");
}

void meter_blame(struct meter *meter, enum state state, enum wire_culprit_kind kind,
		 const char *names)
{
	meter->truth.blamed = state;
	meter->truth.culprit_kind = kind;
	snprintf(meter->truth.culprit, sizeof(meter->truth.culprit), "%s", names ? names : "");
}

void meter_begin(struct meter *meter)
{
	meter->phase_start = read_next(meter, NEVER_LATE);
}

/* It blocked for least_ns at least: what the kernel has counted of that as a wait was none. */
static void end_phase(struct meter *meter, enum state state, uint64_t least_ns)
{
	const struct meter_reading *then = &meter->phase_start;
	/* when a device was ready, only its interrupt knows */
	struct meter_reading now =
		read_next(meter, least_ns || state == STATE_SWAP ? least_ns : NEVER_LATE);
	uint64_t blocked = blocked_since(meter, then, &now), waited, miscounted = 0;

	waited = now.runnable_ns - then->runnable_ns;
	if (blocked < least_ns)
		miscounted = least_ns - blocked < waited ? least_ns - blocked : waited;
	else if (!least_ns && is_implausible(then, &now))
		meter->truth.uncertain_ns += waited;
	meter->miscounted_ns += miscounted;
	meter->truth.states_ns[state] += blocked + miscounted;
}

void meter_end(struct meter *meter, enum state state)
{
	end_phase(meter, state, 0);
}

void meter_move(struct meter *meter, enum state from, enum state to, uint64_t ns,
		uint64_t uncertain_ns)
{
	uint64_t moved = ns < meter->truth.states_ns[from] ? ns : meter->truth.states_ns[from];

	meter->truth.states_ns[from] -= moved;
	meter->truth.states_ns[to] += moved;
	meter->truth.uncertain_ns += uncertain_ns;
}

/* No sleep is shorter than its timer. */
void meter_sleep(struct meter *meter, uint64_t ns)
{
	meter_begin(meter);
	sleep_ns(ns);
	end_phase(meter, STATE_SLEEP, ns);
}

void meter_spin(struct meter *meter, uint64_t ns)
{
	struct meter_reading then = read_all(), now;
	uint64_t end = then.wall_ns + ns;

	for (; then.wall_ns < end; then = now) {
		now = read_all();
		if (now.waits != then.waits)
			meter->truth.states_ns[STATE_RUNNABLE] += blocked_since(meter, &then, &now);
	}
}

/*
 * Ahead of all others, where that is permitted, so that it ends soon after it has read its clocks:
 * no truth is known of the time in between.
 */
static void hurry(void)
{
	struct sched_param first = {.sched_priority = 1};

	sched_setscheduler(0, SCHED_FIFO, &first);
}

void meter_report(struct meter *meter, enum state rest)
{
	struct truth *truth = &meter->truth;
	struct meter_reading now;
	uint64_t other;

	hurry();
	now = read_next(meter, NEVER_LATE);
	other = blocked_since(meter, &meter->start, &now) + meter->miscounted_ns;
	/* of many threads: the kernel waits for RCU to let a table of files grow */
	close(clock_fd);
	clock_of = 0;
	prctl(PR_GET_NAME, truth->thread);
	for (int i = 0; i < STATES; i++)
		other -= truth->states_ns[i] < other ? truth->states_ns[i] : other;
	truth->states_ns[rest] += other;
	truth->states_ns[STATE_RUNNABLE] +=
		now.runnable_ns - meter->start.runnable_ns - meter->miscounted_ns;
	truth->wall_ns = now.wall_ns - meter->start.wall_ns;
	truth->cpu_ns = now.cpu_ns - meter->start.cpu_ns;
	truth->tid = (uint32_t)syscall(SYS_gettid);
	truth_sink(truth);
}

void spin_cpu_ns(uint64_t ns)
{
	uint64_t end = thread_cpu_ns() + ns;

	while (thread_cpu_ns() < end)
		;
}

void spin_wall_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

void sleep_ns(uint64_t ns)
{
	struct timespec left = clock_timespec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left))
		;
}
