/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session says of itself: where it was taken, what it measures and what not, cgroup names.
 */
#ifndef DWELL_MODEL_SESSION_INFO_H
#define DWELL_MODEL_SESSION_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/identities.h"
#include "bpf/wire.h"
#include "model/state.h"

#define SESSION_MISSING_MAX 16

struct session_info {
	struct wire_session wire; /* all zeros until the record has come */
	bool is_live;		  /* its processes are those of this machine, now */
	bool has_unknown;	  /* time in STATE_UNKNOWN, in some interval so far */
	struct wire_missing missing[SESSION_MISSING_MAX];
	size_t missing_count;
	struct identities cgroup_ids; /* (0, id) */
	char **cgroup_paths;	      /* by number */
	size_t path_room;
};

void session_release(struct session_info *session);

/* Takes a record if it is about the session. 1: taken, 0: it is not, or -ENOMEM. */
int session_feed(struct session_info *session, const struct wire_header *record) must_check;

/* NULL: not known. */
const char *session_cgroup(const struct session_info *session, uint64_t id);

static inline bool session_measures(const struct session_info *session, __u8 wire_state)
{
	return session->wire.states & 1U << wire_state;
}

/* What it measures the time of: 1 << enum state. */
static inline uint32_t session_states(const struct session_info *session)
{
	uint32_t on_cpu = 1U << STATE_USER | 1U << STATE_KERNEL;

	return session->wire.states >> WIRE_RUNNABLE << STATE_RUNNABLE |
	       (session_measures(session, WIRE_ON_CPU) ? on_cpu : 0);
}

/*
 * Stolen and interrupt time get a column only where the kernel accounts for them, the unknown from
 * the first interval on that has any.
 */
static inline bool session_shows(const struct session_info *session, enum state state)
{
	if (state == STATE_UNKNOWN)
		return session->has_unknown;
	return (state != STATE_STOLEN && state != STATE_IRQ) ||
	       session_measures(session, wire_of_state(state));
}

/* Whether intervals say how much of the machine was stolen. */
static inline bool session_has_machine(const struct session_info *session)
{
	return session->wire.flags & WIRE_SESSION_MACHINE;
}

/* Whether intervals say if dwell itself was late. */
static inline bool session_has_pace(const struct session_info *session)
{
	return session->wire.flags & WIRE_SESSION_PACE;
}

/* Whether `dwell verify` had passed there. */
static inline bool session_is_verified(const struct session_info *session)
{
	return session->wire.flags & WIRE_SESSION_VERIFIED;
}

/* Whether intervals say because of whom threads waited. */
static inline bool session_has_blame(const struct session_info *session)
{
	return session->wire.flags & WIRE_SESSION_BLAME;
}

/* Whether that blame is what the targets made any thread wait, and not their own waits. */
static inline bool session_has_caused(const struct session_info *session)
{
	return session->wire.flags & WIRE_SESSION_CAUSED;
}

static inline bool session_has(const struct session_info *session, enum wire_metric metric)
{
	return session->wire.metrics & metric;
}

/* Delay accounting comes from taskstats, beside another source of states. */
static inline bool session_has_delays_beside(const struct session_info *session)
{
	return session->wire.flags & WIRE_SESSION_DELAYS &&
	       session->wire.source != WIRE_SOURCE_TASKSTATS;
}

/* Whether it was taken on a machine of this architecture, so that system calls have our numbers. */
bool session_is_native(const struct session_info *session);

/* Whether something of that name is missing. */
bool session_misses(const struct session_info *session, const char *source);

/* How the states are known: "exact", "counters" or "sampled". */
const char *session_states_kind(const struct session_info *session);

/* "bpf", "taskstats", "procfs" */
const char *session_source(const struct session_info *session);

#endif
