/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker, as it and its work type see it: what to do, what to count, and how to wait so that it
 * can be stopped. Everything here runs in the worker.
 *
 * Stop: SIGUSR1 sets a flag, which the loop reads after each iteration. Waits return early then,
 * and wake at least every WORKER_WAIT_NS to look at it, because the signal may come between the
 * look and the wait. Blocking calls that cannot time out (read(), waitpid()) are interrupted: the
 * parent repeats the signal in that time.
 */
#ifndef DWELL_LOAD_WORKER_H
#define DWELL_LOAD_WORKER_H

#define WORKER_WAIT_NS	 100000000ULL
#define WORKER_STUCK_NS	 2000000000ULL /* without progress: the scheduler gets SIGUSR2 */
#define CHECKPOINT_UNITS 1024
#define WORKER_LOCKED	 2 /* the word of a lock that may have waiters, as mutexes have it */

/*
 * The word that says whose turn it is, of the members of a team: by values that no lock has, so
 * that all waits for a turn are taken alike, also where functions have no names (site_of_futex()).
 */
#define WORKER_TURN(position) (8 * (uint32_t)(position))

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "load/pauses.h"
#include "load/report.h"
#include "load/reservoir.h"
#include "load/scratch.h"

struct work_type;

/* Shared with the parent, which reads it while the work goes on. */
struct worker_slot {
	uint64_t iterations; /* published after each */
	uint64_t looked_ns;  /* CLOCK_MONOTONIC, when it last looked at the clock; 0: not begun */
	uint64_t asleep_until_ns; /* it asked to; 0: it did not */
	uint32_t tid;
	uint32_t stopped;      /* its loop has ended */
	int32_t scheduler_pid; /* the parent's, as ops start and stop it; 0: none */
	uint32_t alarms;       /* as in its report, which may never come */
	uint32_t part;	       /* the parent's: which of its parts counts */
	uint32_t pad;
	struct pauses pauses; /* the parent's */
	/* The parent's: how long it had been frozen when it was let begin; UINT64_MAX: it was then,
	 * and begins with the thaw. */
	uint64_t paused_at_start_ns;
	uint64_t started_ns; /* The parent's: CLOCK_MONOTONIC, when it was let begin */
} __attribute__((aligned(64)));

/* or neighbours would take the line from each other with every iteration */
_Static_assert(sizeof(struct worker_slot) == 128, "cache lines");

/* What a worker had waited for a CPU, all in all, at a look at the clock. */
struct worker_wait {
	uint64_t at_ns, delay_ns;
};

/*
 * A part of the run that is counted for itself, by the worker but for its times: the hold of a
 * phase. The last part is all that lies between them, and has no times.
 */
struct worker_part {
	uint64_t began_ns, ended_ns; /* the parent's: CLOCK_MONOTONIC; 0: not yet */
	uint64_t sample_totals[SAMPLES_STREAMS];
	uint64_t migration_count;
	uint64_t max_gap_ns; /* as in the report; of one that goes beyond the part what is in it */
	struct worker_wait after_begin, after_end; /* at its first look then; zeros: not yet */
};

/* What it did on a CPU, as far as it looked: between two migrations. */
struct worker_cpu {
	uint64_t cpu_ns, work_units;
};

struct worker {
	/* for the type to read */
	const struct work_type *type;
	const void *params;
	void *shared;	       /* type->shared_bytes(), of its team; all zeros at first */
	unsigned int index;    /* among all of the run: repeatable choices start from it */
	unsigned int position; /* in its team */
	unsigned int team_size;
	const struct cpus *pin; /* its affinity, if the spec gives it one; else NULL */
	pid_t tid;
	int read_fd, write_fd;	       /* of types with pipes */
	int event_fd;		       /* of types with an eventfd: their team's; does not block */
	const struct scratch *scratch; /* for private files */
	uint64_t seed;
	/* for the type to count with */
	uint64_t work_units;
	uint64_t random; /* for random_next() */
	void *state;	 /* its own */
	/* the frame's */
	uint64_t iterations;
	uint64_t last_look_ns;
	uint64_t asked_ns;		  /* to sleep, or waited for its partners, since then */
	uint64_t excused_ns;		  /* worker_paused_until() the last look */
	int schedstat_fd;		  /* its own; negative: none */
	uint64_t delay_ns, delay_read_ns; /* what it had waited for a CPU, and when that was read */
	unsigned int cpu;
	struct worker_slot *slot;
	struct worker_cpu *cpus; /* by number */
	uint32_t cpu_count;
	uint64_t turn_cpu_ns, turn_units; /* when it came to its CPU */
	struct worker_part *parts;
	uint32_t part_count;
	uint32_t part;				   /* whose samples these are */
	uint32_t looked_part;			   /* that of the last look */
	struct reservoir samples[SAMPLES_STREAMS]; /* each of RESERVOIR_SIZE, for all parts */
	struct report_migration *migrations;	   /* room for REPORT_MIGRATIONS */
	struct worker_report report;
};

/* Of this process; its threads stop together. */
extern volatile sig_atomic_t worker_stop;

static inline bool worker_stopping(void)
{
	return worker_stop;
}

/* One line, kept in the report; the first one counts. The loop ends after this iteration. */
__attribute__((format(printf, 2, 3))) void worker_fail(struct worker *worker, const char *format,
						       ...);

/*
 * The same for what the environment refused while the work goes on without it: an I/O error, a
 * policy that needs privileges, a machine with one NUMA node.
 */
__attribute__((format(printf, 2, 3))) void worker_note(struct worker *worker, const char *format,
						       ...);

/* n units of pure computation: PAUSE or its like. */
void worker_spin(struct worker *worker, uint64_t n);

/* Computes for so long, a thousand units and less at a time; now, when it is over. */
uint64_t worker_burst(struct worker *worker, uint64_t length_ns, uint64_t units);

/* Computes until the thread has had so much CPU time. False: stopped before. */
bool worker_compute(struct worker *worker, uint64_t cpu_ns);

/* What it did since the last time, it did on the CPU that it was on. */
void worker_end_turn(struct worker *worker);

/* From now on samples are of that part. The same one: its totals are brought up to date. */
void worker_enter_part(struct worker *worker, uint32_t part);

/* Whether a freeze falls into the last `ns`: it is in what took so long, up to now. */
static inline bool worker_was_frozen(const struct worker *worker, uint64_t ns)
{
	return pauses_touch(&worker->slot->pauses, ns);
}

/* Adds to a stream of samples what has just ended, and took `ns`; nothing if it was frozen then. */
static inline void worker_sample(struct worker *worker, enum report_samples stream, uint64_t ns)
{
	uint32_t part = __atomic_load_n(&worker->slot->part, __ATOMIC_RELAXED);

	if (worker_was_frozen(worker, ns))
		return;
	if (__builtin_expect(part != worker->part, 0))
		worker_enter_part(worker, part);
	reservoir_add(&worker->samples[stream], ns, &worker->random);
}

/*
 * A look at the clock after something was achieved: the gap since the last look ends here. At
 * checkpoints, and at the end of waits, where the clock has been read anyway.
 */
void worker_look(struct worker *worker, uint64_t now_ns);
/* A gap up to now, which may be the longest. */
void worker_note_gap(struct worker *worker, uint64_t now_ns, uint64_t gap_ns);

/*
 * Sleeps for `ns`, in pieces that look at the stop flag. False: cut short. The samples are the time
 * it took (resume) and how late it came back (wake to run; the timer is the waker). Of what a
 * freeze falls into there is none, here and below: that was not late by the scheduler.
 */
bool worker_sleep(struct worker *worker, uint64_t ns);

/* The same up to an instant of CLOCK_MONOTONIC; only how late it is becomes a sample. */
bool worker_sleep_until(struct worker *worker, uint64_t deadline_ns);

/* Sleeps for `ns` without a sample: a pause that only paces the work. False: cut short. */
bool worker_rest(struct worker *worker, uint64_t ns);

/* sched_yield(), and how long it took as a resume sample. */
void worker_yield(struct worker *worker);

/*
 * One wait on a futex word for as long as it is `value`; at most WORKER_WAIT_NS. True: it blocked
 * (and was woken, or timed out). With the operation of condition variables, by which --observe
 * knows that it waits for no lock, whatever the value.
 */
bool worker_futex_wait(const uint32_t *word, uint32_t value);

/* The same on the word of a lock, as contended mutexes do it. */
bool worker_lock_wait(const uint32_t *word);

void worker_futex_wake(const uint32_t *word, unsigned int count);

/*
 * Waits until the word is not `old` any more. False: stopped. The wait is a resume sample; with
 * `stamp_ns`, where the waker wrote its time, and if it had to block, a wake-to-run sample too.
 */
bool worker_await_change(struct worker *worker, const uint32_t *word, uint32_t old,
			 const uint64_t *stamp_ns);

/* Its two halves, for who finds the stamp only then: NULL, unless it had to block. */
bool worker_await_word(struct worker *worker, const uint32_t *word, uint32_t old,
		       uint64_t *ret_began_ns, bool *ret_blocked);
void worker_changed(struct worker *worker, uint64_t began_ns, const uint64_t *stamp_ns);

/* How long ops have frozen it up to then; see pauses_until(). */
static inline uint64_t worker_paused_until(const struct worker *worker, uint64_t *now_ns)
{
	return pauses_until(&worker->slot->pauses, now_ns);
}

static inline uint64_t worker_paused_ns(const struct worker *worker)
{
	uint64_t now_ns = clock_monotonic_ns();

	return worker_paused_until(worker, &now_ns);
}

/* Since then: what was due in the pause is due as much later, and is not late. */
static inline uint64_t worker_new_pause_ns(const struct worker *worker, uint64_t *known_ns)
{
	uint64_t before_ns = *known_ns;

	*known_ns = worker_paused_ns(worker);
	return *known_ns - before_ns;
}

/*
 * After a wait that began at `began_ns` and has just ended: wake-to-run, if the waker's stamp shows
 * that we were waiting by then. What came before the stamp is no gap.
 */
void worker_woken(struct worker *worker, uint64_t stamp_ns, uint64_t began_ns, uint64_t now_ns);

/* A wait that began then has ended because of the stop: it is neither a wakeup nor a gap. */
void worker_gave_up(struct worker *worker, uint64_t began_ns);

/* Stamps the clock for the wakee. */
static inline void worker_stamp(uint64_t *stamp_ns)
{
	__atomic_store_n(stamp_ns, clock_monotonic_ns(), __ATOMIC_RELAXED);
}

/*
 * Writes one byte to the partner, or reads the one it sends, both of which stamp and sample as
 * above. False: stopped, or the partner is gone.
 */
bool worker_pipe_send(struct worker *worker, uint64_t *stamp_ns);
bool worker_pipe_receive(struct worker *worker, const uint64_t *stamp_ns);

#endif
