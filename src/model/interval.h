/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cumulative records in, intervals out: what each thread did between two snapshots.
 *
 * Pure: no clock, no I/O. Feed wire records in the order a source gives them; WIRE_INTERVAL closes
 * the interval of the records before it. The first one only sets the baseline.
 *
 * Identity is (tid, start time). A task that takes over another's tid in exec (a thread other than
 * the leader called it) is recognised by the time its accounting began.
 */
#ifndef DWELL_MODEL_INTERVAL_H
#define DWELL_MODEL_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/machine_time.h"
#include "bpf/wire.h"
#include "model/session_info.h"
#include "model/losses.h"
#include "model/state.h"

/* Of one thread, or the sum over the threads of a process or cgroup (threads > 1, tid 0). */
struct row {
	uint32_t tid; /* 0: a sum */
	uint32_t pid; /* 0: a cgroup */
	uint32_t parent_pid;
	uint32_t threads;   /* 1, or how many are summed up here */
	uint64_t start_ns;  /* CLOCK_BOOTTIME */
	uint64_t origin_ns; /* as wire_thread.origin_ns; of a sum: meaningless */
	uint64_t cgroup_id;
	char comm[17]; /* any bytes but NUL */
	char process[17];

	/* sum over states_ns == observed_ns where all states are measured (source bpf) */
	uint64_t observed_ns;
	uint64_t states_ns[STATES];
	uint32_t unmeasured; /* 1 << enum state, of those that the session measures; of any of a sum
			      */
	uint64_t voluntary, involuntary, migrations;
	uint64_t woken, preempted, throttled;
	uint32_t latency[WIRE_LATENCY_BUCKETS]; /* waits for a CPU that ended in the interval, */
	uint64_t latency_count;			/* and how many these are */
	uint64_t latency_max_ns;		/* also counts one that has not ended yet */

	struct wire_wait_site began; /* at the beginning; meaningless for sums */
	struct wire_wait_site site;  /* at the end; meaningless for sums and the exited */
	uint64_t in_state_ns;
	uint32_t cpu;
	uint16_t policy;
	int16_t nice;
	bool exited;
	bool is_beside; /* no target, but may wait for one: never in a closed interval */
	int32_t exit_code;
	uint32_t delays_measured; /* 1 << enum wire_delay_kind */
	struct wire_delay delays[WIRE_DELAYS_COUNT];
};

struct interval {
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t start_realtime_ns;
	uint64_t missing_ns;	   /* of it, not measured: between the recordings of a whole */
	struct wire_losses losses; /* in this interval */
	bool final;		   /* cut short by the end of the session */
	/* as in struct wire_interval */
	uint64_t self_cpu_ns, snapshot_ns;
	uint64_t machine_stolen_ns, machine_busy_ns;
	uint64_t self_runnable_ns, overrun_ns;
	struct row *rows;
	size_t row_count;
	const struct wire_reason *reasons; /* of the threads whose reasons are kept; cumulative */
	size_t reason_count;
	/* The first after a baseline: what they were when it began. */
	bool is_first;
	const struct wire_reason *base_reasons;
	size_t base_reason_count;
	/* model/blame.h; WIRE_SESSION_BLAME; largest first, or as intervals_keep_lost_blame()
	 */
	struct blame *blames;
	size_t blame_count;
	const struct findings *findings; /* model/findings.h; NULL: not looked for */
	const struct summary *summary;	 /* model/summary.h, whose whole it is; NULL: it is none */
	const struct session_info *session;
};

/* For how long it was measured. */
static inline uint64_t interval_length_ns(const struct interval *interval)
{
	return interval->end_ns - interval->start_ns - interval->missing_ns;
}

/* Whether the state's time is known, in this row. */
static inline bool row_measures(const struct row *row, const struct session_info *session,
				enum state state)
{
	return session_measures(session, wire_of_state(state)) && !(row->unmeasured & 1U << state);
}

/*
 * Time that the thread used or could use: on a CPU, even while others used it, or waiting for a
 * CPU, a disk, a lock, memory, or what is not recognized. Not that in which it waited for others,
 * for work, or for time to pass.
 */
static inline uint64_t states_active_ns(const uint64_t *states_ns)
{
	return states_ns[STATE_USER] + states_ns[STATE_KERNEL] + states_ns[STATE_RUNNABLE] +
	       states_ns[STATE_DISK] + states_ns[STATE_LOCK] + states_ns[STATE_SWAP] +
	       states_ns[STATE_STOLEN] + states_ns[STATE_IRQ] + states_ns[STATE_UNKNOWN];
}

static inline uint64_t row_active_ns(const struct row *row)
{
	return states_active_ns(row->states_ns);
}

/* States, 1 << enum state, that take 0.05 % of a row's time or more: what is not shown as 0.0 %. */
static inline unsigned int rows_states(const struct row *rows, size_t count)
{
	unsigned int states = 0;

	for (size_t i = 0; i < count; i++)
		for (int j = 0; j < STATES; j++)
			if (rows[i].states_ns[j] &&
			    (double)rows[i].states_ns[j] >= 0.0005 * (double)rows[i].observed_ns)
				states |= 1U << j;
	return states;
}

static inline bool row_is_idle(const struct row *row)
{
	return !row->exited && !row_active_ns(row);
}

/* How much of the time that the machine's CPUs were busy the hypervisor took away: 0 to 1. */
static inline double interval_stolen_share(const struct interval *interval)
{
	return machine_stolen_share(interval->machine_stolen_ns, interval->machine_busy_ns);
}

/* Whether it is known what the thread does at the end: of the dead and of sums nothing is. */
static inline bool row_has_state(const struct row *row, const struct session_info *session)
{
	return !row->exited && row->site.state < WIRE_STATES &&
	       session_has(session, WIRE_METRIC_STATE);
}

struct intervals;

struct intervals *intervals_new(void); /* NULL: out of memory */
/* What is fed is of this machine, and of now: /proc has more to say of its processes. */
void intervals_set_live(struct intervals *intervals);
/* Before the first record: as if because of whom threads waited had not been recorded. */
void intervals_ignore_blame(struct intervals *intervals);
/*
 * For who counts it, on a machine with very much: `blames` are of states that are lost alone, and
 * come victim by victim.
 */
void intervals_keep_lost_blame(struct intervals *intervals);
void intervals_free(struct intervals *intervals);

/*
 * Takes one record; it is copied. Returns 1 when it closed an interval, which *ret_interval then
 * points to (valid, and free to be sorted in place, until the next WIRE_INTERVAL), 0 otherwise,
 * -ENOMEM, or -EBADMSG for a record that cannot be.
 */
int intervals_feed(struct intervals *intervals, const struct wire_header *record,
		   struct interval **ret_interval) must_check;

/* Of the session the records are from. */
const struct session_info *intervals_session(const struct intervals *intervals);

/* The latest delay accounting of a thread, cumulative; NULL: none. */
const struct wire_delays *intervals_delays(const struct intervals *intervals, uint32_t tid,
					   uint64_t start_ns);

/*
 * Before WIRE_INTERVAL: how many threads of the last snapshot have neither been seen in this one
 * nor have ended, as far as the records so far show. They are on their way to the end. With
 * `final`, also those of snapshots before.
 */
size_t intervals_missing(const struct intervals *intervals, bool final);

#endif
