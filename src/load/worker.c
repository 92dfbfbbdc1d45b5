// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sched_getcpu */
#include "load/worker.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/schedstat.h"

#define PARTNER_NS	1000000000ULL
#define PARTNER_LOOK_US 10000

/*
 * From the look at the clock to where read(2) has blocked: no call reports whether it had to, so
 * what comes within that time is no sample of a wakeup.
 */
#define BLOCKING_NS   1000

#define SPIN_PIECE    (1u << 20) /* units, some 30 ms */
#define COMPUTE_UNITS 64	 /* some microseconds: a clock's reading is a small part of them */

volatile sig_atomic_t worker_stop;

void worker_fail(struct worker *worker, const char *format, ...)
{
	va_list args;

	if (*worker->report.work_error)
		return;
	va_start(args, format);
	vsnprintf(worker->report.work_error, sizeof(worker->report.work_error), format, args);
	va_end(args);
}

void worker_note(struct worker *worker, const char *format, ...)
{
	va_list args;

	if (*worker->report.note)
		return;
	va_start(args, format);
	vsnprintf(worker->report.note, sizeof(worker->report.note), format, args);
	va_end(args);
}

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Not inlined: the same machine code for all callers, so that a unit costs the same in all types.
 */
__attribute__((noinline)) static void spin_piece(struct worker *worker, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		worker->work_units++;
		relax();
		__asm__ volatile("" ::: "memory");
	}
}

void worker_spin(struct worker *worker, uint64_t n)
{
	/* an iteration of any length can be stopped, and is no gap */
	for (; n > SPIN_PIECE && !worker_stopping(); n -= SPIN_PIECE) {
		spin_piece(worker, SPIN_PIECE);
		worker_look(worker, clock_monotonic_ns());
	}
	if (n <= SPIN_PIECE)
		spin_piece(worker, n);
}

uint64_t worker_burst(struct worker *worker, uint64_t length_ns, uint64_t units)
{
	uint64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + length_ns;

	do {
		worker_spin(worker, units);
		now_ns = clock_monotonic_ns();
		/* a burst is no gap */
		worker_look(worker, now_ns);
	} while (now_ns < until_ns && !worker_stopping());
	return now_ns;
}

bool worker_compute(struct worker *worker, uint64_t cpu_ns)
{
	uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	do {
		worker_spin(worker, COMPUTE_UNITS);
		worker_look(worker, clock_monotonic_ns());
	} while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns && !worker_stopping());
	return !worker_stopping();
}

/* Cheap beside what it is read for, and often enough to know what of a gap it was. */
#define DELAY_READ_NS (100 * NS_PER_MS)

/*
 * Whether it has waited for a CPU for most of a gap, and not for a disk; nor did an iteration take
 * as long. Where the kernel does not count that, it may have.
 */
static bool was_kept_waiting(struct worker *worker, uint64_t now_ns, uint64_t gap_ns)
{
	uint64_t before_ns = worker->delay_ns;
	struct schedstat counted;

	if (gap_ns <= WORKER_STUCK_NS && now_ns - worker->delay_read_ns < DELAY_READ_NS)
		return false;
	worker->delay_read_ns = now_ns;
	if (!schedstat_read(worker->schedstat_fd, &counted))
		return gap_ns > WORKER_STUCK_NS;
	worker->delay_ns = counted.delay_ns;
	return gap_ns > WORKER_STUCK_NS && counted.delay_ns - before_ns > WORKER_STUCK_NS / 2;
}

/* A frozen or sleeping worker was excused. */
static void tell_scheduler(struct worker *worker)
{
	pid_t pid = __atomic_load_n(&worker->slot->scheduler_pid, __ATOMIC_RELAXED);

	if (pid <= 0 || kill(pid, SIGUSR2) < 0)
		return;
	worker->report.alarms++;
	__atomic_add_fetch(&worker->slot->alarms, 1, __ATOMIC_RELAXED);
}

void worker_end_turn(struct worker *worker)
{
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (worker->cpu < worker->cpu_count) {
		worker->cpus[worker->cpu].cpu_ns += cpu_ns - worker->turn_cpu_ns;
		worker->cpus[worker->cpu].work_units += worker->work_units - worker->turn_units;
	}
	worker->turn_cpu_ns = cpu_ns;
	worker->turn_units = worker->work_units;
}

void worker_enter_part(struct worker *worker, uint32_t part)
{
	for (size_t i = 0; i < SAMPLES_STREAMS; i++) {
		struct reservoir *samples = &worker->samples[i];

		worker->parts[worker->part].sample_totals[i] = samples->total;
		samples->samples -= worker->part * samples->room;
		samples->samples += part * samples->room;
		samples->total = worker->parts[part].sample_totals[i];
	}
	worker->part = part;
}

static void raise_gap(struct worker_part *part, uint64_t gap_ns)
{
	if (gap_ns > part->max_gap_ns)
		part->max_gap_ns = gap_ns;
}

/*
 * At the first look after a part began, or ended: a wait for a CPU may just have come to its end
 * that lay on both sides, and the kernel counts all of it only now.
 */
static void note_wait(const struct worker *worker, struct worker_wait *wait, uint64_t since_ns,
		      uint64_t now_ns)
{
	struct schedstat counted;

	if (wait->at_ns || !since_ns || now_ns < since_ns ||
	    !schedstat_read(worker->schedstat_fd, &counted))
		return;
	*wait = (struct worker_wait){now_ns, counted.delay_ns};
}

/* A gap up to now. One that a part began or ended in is each part's as far as it lies in it. */
static void note_part_gap(struct worker *worker, uint64_t now_ns, uint64_t gap_ns)
{
	uint32_t between = worker->part_count - 1;
	uint32_t part = __atomic_load_n(&worker->slot->part, __ATOMIC_ACQUIRE);

	if (part == worker->looked_part && part != between) {
		raise_gap(&worker->parts[part], gap_ns);
		return;
	}
	for (uint32_t i = 0; i < between; i++) {
		uint64_t began_ns = __atomic_load_n(&worker->parts[i].began_ns, __ATOMIC_RELAXED);
		uint64_t ended_ns = __atomic_load_n(&worker->parts[i].ended_ns, __ATOMIC_RELAXED);
		uint64_t from_ns = now_ns - gap_ns > began_ns ? now_ns - gap_ns : began_ns;
		uint64_t to_ns = ended_ns && ended_ns < now_ns ? ended_ns : now_ns;

		if (began_ns && from_ns < to_ns)
			raise_gap(&worker->parts[i], to_ns - from_ns);
		note_wait(worker, &worker->parts[i].after_begin, began_ns, now_ns);
		note_wait(worker, &worker->parts[i].after_end, ended_ns, now_ns);
	}
	worker->looked_part = part;
}

static void note_migration(struct worker *worker, uint64_t now_ns, unsigned int cpu)
{
	struct worker_report *report = &worker->report;

	if (report->migrations_kept < REPORT_MIGRATIONS)
		worker->migrations[report->migrations_kept++] = (struct report_migration){
			.at_ns = now_ns - report->began_ns, .from_cpu = worker->cpu, .to_cpu = cpu};
	report->migration_count++;
	worker_end_turn(worker);
	worker->parts[__atomic_load_n(&worker->slot->part, __ATOMIC_RELAXED)].migration_count++;
	if (cpu < CPUS_MAX)
		cpus_add(&report->cpus_used, cpu);
	worker->cpu = cpu;
}

void worker_note_gap(struct worker *worker, uint64_t now_ns, uint64_t gap_ns)
{
	if (gap_ns > worker->report.max_gap_ns) {
		worker->report.max_gap_ns = gap_ns;
		worker->report.max_gap_cpu = worker->cpu;
		worker->report.max_gap_at_ns = now_ns - worker->report.began_ns;
	}
	note_part_gap(worker, now_ns, gap_ns);
}

void worker_look(struct worker *worker, uint64_t now_ns)
{
	uint64_t paused_ns = worker_paused_until(worker, &now_ns);
	uint64_t excused_ns = worker->asked_ns + paused_ns - worker->excused_ns;
	uint64_t gap_ns = now_ns - worker->last_look_ns;
	unsigned int cpu = (unsigned int)sched_getcpu();

	worker->report.looks++;
	gap_ns -= gap_ns < excused_ns ? gap_ns : excused_ns;
	worker_note_gap(worker, now_ns, gap_ns);
	if (was_kept_waiting(worker, now_ns, gap_ns))
		tell_scheduler(worker);
	if (cpu != worker->cpu)
		note_migration(worker, now_ns, cpu);
	worker->last_look_ns = now_ns;
	worker->asked_ns = 0;
	worker->excused_ns = paused_ns;
	__atomic_store_n(&worker->slot->looked_ns, now_ns, __ATOMIC_RELAXED);
}

static void sleep_piece(uint64_t until_ns)
{
	struct timespec until = clock_timespec(until_ns);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* The time it came back, or 0: cut short. */
static uint64_t sleep_until(struct worker *worker, uint64_t began_ns, uint64_t deadline_ns)
{
	uint64_t now_ns = began_ns;

	__atomic_store_n(&worker->slot->asleep_until_ns, deadline_ns, __ATOMIC_RELAXED);
	while (now_ns < deadline_ns && !worker_stopping()) {
		uint64_t piece_ns = now_ns + WORKER_WAIT_NS;

		sleep_piece(piece_ns < deadline_ns ? piece_ns : deadline_ns);
		now_ns = clock_monotonic_ns();
	}
	__atomic_store_n(&worker->slot->asleep_until_ns, 0, __ATOMIC_RELAXED);
	/* cut short, it was asked for as far as it went */
	worker->asked_ns += (now_ns < deadline_ns ? now_ns : deadline_ns) - began_ns;
	return now_ns < deadline_ns ? 0 : now_ns;
}

bool worker_sleep(struct worker *worker, uint64_t ns)
{
	uint64_t began_ns = clock_monotonic_ns();
	uint64_t paused_ns = worker_paused_until(worker, &began_ns);
	uint64_t now_ns = sleep_until(worker, began_ns, began_ns + ns);

	if (!now_ns)
		return false;
	if (worker_paused_until(worker, &now_ns) == paused_ns) {
		worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
		worker_sample(worker, SAMPLES_WAKE_TO_RUN, now_ns - began_ns - ns);
	}
	worker_look(worker, now_ns);
	return true;
}

bool worker_sleep_until(struct worker *worker, uint64_t deadline_ns)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns;
	uint64_t paused_ns = worker_paused_until(worker, &began_ns);

	if (began_ns >= deadline_ns) {
		/* late already: what comes next was due before it could sleep */
		worker_sample(worker, SAMPLES_WAKE_TO_RUN, began_ns - deadline_ns);
		return !worker_stopping();
	}
	now_ns = sleep_until(worker, began_ns, deadline_ns);
	if (!now_ns)
		return false;
	if (worker_paused_until(worker, &now_ns) == paused_ns)
		worker_sample(worker, SAMPLES_WAKE_TO_RUN, now_ns - deadline_ns);
	worker_look(worker, now_ns);
	return true;
}

bool worker_rest(struct worker *worker, uint64_t ns)
{
	uint64_t began_ns = clock_monotonic_ns();
	uint64_t now_ns = sleep_until(worker, began_ns, began_ns + ns);

	if (!now_ns)
		return false;
	worker_look(worker, now_ns);
	return true;
}

void worker_yield(struct worker *worker)
{
	uint64_t began_ns = clock_monotonic_ns();

	sched_yield();
	worker_sample(worker, SAMPLES_RESUME, clock_monotonic_ns() - began_ns);
}

bool worker_futex_wait(const uint32_t *word, uint32_t value)
{
	struct timespec until = clock_timespec(clock_monotonic_ns() + WORKER_WAIT_NS);

	return !syscall(SYS_futex, word, FUTEX_WAIT_BITSET, value, &until, NULL,
			FUTEX_BITSET_MATCH_ANY) ||
	       errno != EAGAIN;
}

bool worker_lock_wait(const uint32_t *word)
{
	static const struct timespec longest = {.tv_nsec = (long)WORKER_WAIT_NS};

	return !syscall(SYS_futex, word, FUTEX_WAIT, WORKER_LOCKED, &longest, NULL, 0) ||
	       errno != EAGAIN;
}

void worker_futex_wake(const uint32_t *word, unsigned int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

void worker_woken(struct worker *worker, uint64_t stamp_ns, uint64_t began_ns, uint64_t now_ns)
{
	if (stamp_ns <= began_ns || stamp_ns > now_ns)
		return;
	/* frozen since it was seen last */
	if (worker_paused_until(worker, &now_ns) == worker->excused_ns)
		worker_sample(worker, SAMPLES_WAKE_TO_RUN, now_ns - stamp_ns);
	/* until then it was the waker's turn: no gap of ours */
	worker->asked_ns += stamp_ns - began_ns;
}

void worker_gave_up(struct worker *worker, uint64_t began_ns)
{
	worker->asked_ns += clock_monotonic_ns() - began_ns;
}

bool worker_await_word(struct worker *worker, const uint32_t *word, uint32_t old,
		       uint64_t *ret_began_ns, bool *ret_blocked)
{
	*ret_began_ns = clock_monotonic_ns();
	*ret_blocked = false;
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old) {
		if (worker_stopping()) {
			worker_gave_up(worker, *ret_began_ns);
			return false;
		}
		*ret_blocked |= worker_futex_wait(word, old);
	}
	return true;
}

void worker_changed(struct worker *worker, uint64_t began_ns, const uint64_t *stamp_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	if (stamp_ns)
		worker_woken(worker, __atomic_load_n(stamp_ns, __ATOMIC_RELAXED), began_ns, now_ns);
	worker_look(worker, now_ns);
}

bool worker_await_change(struct worker *worker, const uint32_t *word, uint32_t old,
			 const uint64_t *stamp_ns)
{
	uint64_t began_ns;
	bool blocked;

	if (!worker_await_word(worker, word, old, &began_ns, &blocked))
		return false;
	worker_changed(worker, began_ns, blocked ? stamp_ns : NULL);
	return true;
}

/*
 * Its end of the pipe is closed. It may have been stopped a little earlier than we are;
 * if it was killed, there is no hurry either.
 */
static void partner_gone(struct worker *worker)
{
	uint64_t deadline_ns = clock_monotonic_ns() + PARTNER_NS;

	while (!worker_stopping() && clock_monotonic_ns() < deadline_ns)
		usleep(PARTNER_LOOK_US);
	if (!worker_stopping())
		worker_fail(worker, "its partner is gone");
}

bool worker_pipe_send(struct worker *worker, uint64_t *stamp_ns)
{
	uint64_t began_ns = clock_monotonic_ns();

	__atomic_store_n(stamp_ns, began_ns, __ATOMIC_RELAXED);
	while (write(worker->write_fd, "", 1) != 1) {
		bool gone = errno != EINTR && errno != EAGAIN;

		if (gone)
			partner_gone(worker);
		if (gone || worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return false;
		}
	}
	return true;
}

bool worker_pipe_receive(struct worker *worker, const uint64_t *stamp_ns)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns;
	ssize_t got;
	char byte;

	do {
		if (worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return false;
		}
		got = read(worker->read_fd, &byte, 1);
	} while (got < 0 && errno == EINTR);
	if (got != 1) {
		partner_gone(worker);
		worker_gave_up(worker, began_ns);
		return false;
	}
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	/* what was written before it could block did not wake it */
	worker_woken(worker, __atomic_load_n(stamp_ns, __ATOMIC_RELAXED), began_ns + BLOCKING_NS,
		     now_ns);
	worker_look(worker, now_ns);
	return true;
}
