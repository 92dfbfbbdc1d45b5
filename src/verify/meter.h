/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that measures itself, without dwell: CPU time from its own clock, run-queue wait from
 * the kernel's schedstat, and the rest of the wall clock is blocked time, put under the state that
 * the code around says it is. `dwell verify` and the tests compare dwell with this.
 */
#ifndef DWELL_VERIFY_METER_H
#define DWELL_VERIFY_METER_H

#include <stdint.h>

#include "model/state.h"

#define TRUTH_NAME_BYTES    17
#define TRUTH_REASON_BYTES  40
#define TRUTH_CULPRIT_BYTES 32
#define TRUTH_TEXT_BYTES    120

#define WAIT_BUCKETS	    32

/* Its waits for a CPU, as schedstat counts them: one by one where there is one between readings. */
struct truth_waits {
	uint32_t count;			/* all, the one after its birth included */
	uint32_t known;			/* of these: how long they were */
	uint32_t buckets[WAIT_BUCKETS]; /* of the known, as in base/histogram.h */
	uint64_t max_ns;		/* of the known */
	/*
	 * The kernel takes the way from a wakeup to a CPU that was free for no wait. After a sleep
	 * that way is no longer than what the sleep was too long, and after a wait for a device no
	 * longer than that: counted so here, others as above.
	 */
	uint32_t most_buckets[WAIT_BUCKETS];
	uint64_t most_max_ns;
	uint64_t rest_max_ns; /* none of the others was longer */
};

/* What a thread knows of itself, or why a pattern cannot run here. */
struct truth {
	char pattern[TRUTH_NAME_BYTES];
	char thread[TRUTH_NAME_BYTES];	 /* its name */
	char reason[TRUTH_REASON_BYTES]; /* as dwell words it, of `state`; empty: any will do */
	char skipped[TRUTH_TEXT_BYTES];	 /* empty: it ran */
	uint32_t tid;
	enum state state; /* what it is about; STATES: nothing in particular */
	/* a state that it is in because of others alone; STATE_USER: none. With its culprits: */
	enum state blamed;
	enum wire_culprit_kind culprit_kind;
	char culprit[TRUTH_CULPRIT_BYTES]; /* names of threads, as fnmatch(3), FNM_EXTMATCH */
	uint64_t wall_ns, cpu_ns;
	/* STATE_RUNNABLE and what waits: user and kernel are `cpu_ns`. Their sum is `wall_ns`. */
	uint64_t states_ns[STATES];
	uint64_t reading_ns;   /* the fastest reading of its clocks took so long */
	uint64_t uncertain_ns; /* by readings that took long, because others had the CPU */
	struct truth_waits waits;
};

/* Where truths go: set before the first pattern runs. Called by any thread. */
extern void (*truth_sink)(const struct truth *truth);

struct meter_reading {
	uint64_t wall_ns, cpu_ns, runnable_ns;
	uint64_t waits;	  /* for a CPU, so far */
	uint64_t took_ns; /* between the first clock and the last */
};

struct meter {
	struct meter_reading start, phase_start, last;
	uint64_t miscounted_ns; /* sleep that the kernel has counted as waits for a CPU */
	struct truth truth;
};

/* a - b; 0 where that would be less. */
static inline uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t now_ns(void);
/* What the kernel has charged the calling thread, up to now. */
uint64_t thread_cpu_ns(void);

/* A thread that has lived before it was to be measured: a program's first one. 0: none. */
extern uint32_t meter_old_tid;

/*
 * Names the thread, which has just begun, and starts: what it was before its first instruction is
 * in its figures, but not if it is an old one. `pattern`: as pattern.h lists it.
 */
void meter_start(struct meter *meter, const char *pattern, const char *name);

/* Most of its time is to be in this state, by this reason (NULL: any). */
void meter_expect(struct meter *meter, enum state state, const char *reason);

/* Its time in this state is owed to threads of such names; to the machine, with names NULL. */
void meter_blame(struct meter *meter, enum state state, enum wire_culprit_kind kind,
		 const char *names);

/* What blocks between these two is time in `state`. No nesting. */
void meter_begin(struct meter *meter);
void meter_end(struct meter *meter, enum state state);

/* Of a phase in `from`, what another one knows to have been time in `to`, about. */
void meter_move(struct meter *meter, enum state from, enum state to, uint64_t ns,
		uint64_t uncertain_ns);

/* A sleep, as a phase. */
void meter_sleep(struct meter *meter, uint64_t ns);

/*
 * Uses the CPU until so much time has passed. What the kernel has neither charged nor counted next
 * to a wait for a CPU is part of that wait: it ends with the clock of the run queue that the thread
 * leaves and begins again with that of the one it comes to (push_dl_task() in
 * kernel/sched/deadline.c), 12 us later and in emulated machines 400.
 */
void meter_spin(struct meter *meter, uint64_t ns);

/*
 * Hands the thread's figures to truth_sink. The state of blocked time outside of phases is `rest`:
 * of a thread that does not block there, STATE_STOLEN.
 */
void meter_report(struct meter *meter, enum state rest);

/* Uses the CPU until so much CPU time of this thread has gone. */
void spin_cpu_ns(uint64_t ns);
/* Until so much time has passed. */
void spin_wall_ns(uint64_t ns);
void sleep_ns(uint64_t ns);

#endif
