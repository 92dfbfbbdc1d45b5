/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell verify`: runs the patterns, measures them as `dwell top` does, and judges the figures. */
#ifndef DWELL_VERIFY_VERIFY_H
#define DWELL_VERIFY_VERIFY_H

#include "base/error.h"
#include "capture/hook_stats.h"
#include "session/observer.h"
#include "verify/judge.h"
#include "verify/peers.h"
#include "verify/ranks.h"

struct verify_options {
	double limit_percent; /* of a thread's time */
	unsigned int rounds;
	uint64_t run_ns;       /* each pattern, in each round */
	const char *patterns;  /* names or glob patterns, separated by commas; NULL: all */
	const char *directory; /* of the file for patterns about disks */
	bool peers;	       /* other tools measure the same */
	/* What is about to run. */
	void (*progress)(void *data, unsigned int round, const char *what);
	void *data;
};

/* Of all (thread, state) pairs of one state that either side has time in. */
struct state_result {
	enum state state;
	struct ranks errors;
};

struct verification {
	const struct verify_options *options;
	struct pattern_result *patterns;
	size_t count;
	struct state_result states[STATES]; /* by state */
	struct ranks all;		    /* states */
	/* those that are compared, in the order of the columns, without their errors */
	struct state_result compared[STATES];
	size_t compared_count;
	/* threads that measured themselves; that dwell has no row of; what it said was lost */
	uint64_t threads, unseen, lost;
	uint64_t wakeups; /* that dwell has counted */
	unsigned int passed, failed, inconclusive, skipped;
	unsigned int wrong_states, unrecognized, reasons, reasons_right;
	unsigned int culprits, culprits_right; /* patterns */
	unsigned int latencies, latencies_right;
	double latency_error_percent; /* the largest of the longest waits */
	/* of an event loop: that blocked; reported, with the right cause; reported, but not blocked
	 */
	unsigned int turns, turns_found, turns_right, turns_false;
	/* of functions, by dwell profile */
	unsigned int shares, shares_right;
	double share_error_points; /* the largest, in percent of all time */
	/* ends of threads that dwell could not keep; of these, neither a row nor reported */
	uint64_t lost_on_purpose, lost_unreported;
	struct hook_stats hooks;	   /* none: the kernel did not count */
	uint64_t self_cpu_ns, observed_ns; /* dwell's own CPU time in that of the patterns */
	uint64_t machine_stolen_ns, machine_busy_ns;
	uint64_t duration_ns;
	/* while patterns run: dwell's own accounting of all our children, and other tools (may be
	 * NULL) */
	struct observer *observer;
	struct peers *measuring;
	struct peer_result peers[PEERS];
	size_t peer_count; /* 0: not asked for */
	bool interrupted;  /* by a signal */
	bool timed_out;	   /* patterns of some batch had not ended after two minutes */
	enum verdict verdict;
};

/* Every pattern and call there is, in the order in which they run; `help` NULL: a call. */
void verify_each(void (*take)(void *data, const char *name, const char *help, enum state state),
		 void *data);

/*
 * 0, also where patterns fail; a negative errno if nothing can be measured. `result` is released in
 * any case.
 */
int verify_run(struct verification *result, const struct verify_options *options,
	       struct error *error) must_check;
/* A failure of its own: dwell has lost more than a tenth, or has lost something silently. */
bool verify_misses_much(const struct verification *result);

void verify_release(struct verification *result);

#endif
