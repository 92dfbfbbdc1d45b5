/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a machine's threads have done since counting began, as monitoring wants it: counters of all
 * threads, of the groups that use most time, and of who made whom wait. They never go back, but
 * begin again for a name that was absent for an hour (LEADERS_FORGET_NS).
 */
#ifndef DWELL_MODEL_COUNTERS_H
#define DWELL_MODEL_COUNTERS_H

#include "model/group.h"
#include "model/interval.h"
#include "model/leaders.h"
#include "model/reason_marks.h"

/* Names that are remembered for each that can have counters of its own; the least there are. */
#define COUNTERS_NAMES_EACH  16
#define COUNTERS_NAMES_LEAST 4096

/*
 * Kinds of counts of a group: a state's ns, then waits for a CPU by bucket of wire_thread.latency,
 * then for each state that state_is_blocked() ns of waits for reasons that have no counter of their
 * own, and of those whose reason is not known.
 */
#define COUNTERS_LATENCY STATES
#define COUNTERS_OTHER	 (COUNTERS_LATENCY + WIRE_LATENCY_BUCKETS)
#define COUNTERS_UNKNOWN (COUNTERS_OTHER + STATES)
#define COUNTERS_KINDS	 (COUNTERS_UNKNOWN + STATES)

/* Groups with counters of their own, unless the user says how many. */
#define COUNTERS_GROUPS 50

/* Reasons, for each group that can have counters of its own. */
#define COUNTERS_REASONS_EACH 8

struct counters {
	enum grouping by;	/* BY_PROCESS, by name, or BY_CGROUP, by path */
	struct leaders all;	/* threads: its `rest`, as a group */
	uint32_t unmeasured;	/* 1 << enum state: not known of all threads */
	struct leaders groups;	/* begun_ns of these and the next two: CLOCK_REALTIME */
	struct leaders reasons; /* one count, ns; struct wait_key */
	struct reason_marks marks;
	struct leaders blames; /* one count, ns; struct blame_key */
	struct wire_losses losses;
	uint64_t self_cpu_ns;
	uint64_t snapshot_ns; /* of the last interval */
	uint64_t intervals;
	uint64_t start_ns, end_ns;		     /* CLOCK_MONOTONIC, of what is counted */
	uint64_t start_realtime_ns, end_realtime_ns; /* of the first and the last interval */
};

/*
 * Of a name in `blames`, all ended by NUL: whose wait it was, what it was owed to (culprit_key()),
 * to whom ("" unless that is a thread), and in which state (a character).
 */
struct blame_key {
	const char *victim, *kind, *culprit;
	enum state state;
};

/* Of a name in `reasons`. */
struct wait_key {
	const char *group;
	enum state state;
	const char *reason; /* reason_format(), not empty */
};

/* `groups` have counters of their own, and so do twice as many pairs and COUNTERS_REASONS_EACH
 * times as many reasons. 0 or -ENOMEM. */
int counters_init(struct counters *counters, enum grouping by, size_t groups,
		  size_t marks) must_check;
void counters_release(struct counters *counters);

/* Takes an interval by thread. */
void counters_add(struct counters *counters, const struct interval *interval);

/* A group's name, as it is: "/system.slice/ssh.service"; "unknown". Valid as long as the arguments.
 */
const char *counters_group(const struct counters *counters, const struct session_info *session,
			   uint64_t cgroup_id, const char *process);

/* Whether a group of that name is called `group`: as it is, or as it is counted and served. */
bool counters_is_called(const char *name, const char *group);

/* leader_since() goes on from here. */
void counters_set_mark(struct counters *counters, size_t mark);

struct blame_key counters_blame_key(const struct leader *leader);

struct wait_key counters_wait_key(const struct leader *reason);

/* It counts on its own: so does its group. */
bool counters_reason_leads(const struct counters *counters, const struct leader *reason);

#endif
