/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session says of itself: where it was taken, what it measures and what not, cgroup names.
 */
#ifndef DWELL_MODEL_ABOUT_H
#define DWELL_MODEL_ABOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/identities.h"
#include "bpf/wire.h"
#include "model/state.h"

#define ABOUT_MISSING_MAX 16

struct about {
	struct wire_session session; /* all zeros until the record has come */
	bool has_unknown;	     /* time in STATE_UNKNOWN, in some interval so far */
	struct wire_missing missing[ABOUT_MISSING_MAX];
	size_t missing_count;
	struct identities cgroup_ids; /* (0, id) */
	char **cgroup_paths;	      /* by number */
	size_t path_room;
};

void about_release(struct about *about);

/* Takes a record if it is about the session. 1: taken, 0: it is not, or -ENOMEM. */
int about_feed(struct about *about, const struct wire_header *record) must_check;

/* NULL: not known. */
const char *about_cgroup(const struct about *about, uint64_t id);

static inline bool about_measures(const struct about *about, __u8 wire_state)
{
	return about->session.states & 1U << wire_state;
}

/*
 * Stolen and interrupt time get a column only where the kernel accounts for them, the unknown from
 * the first interval on that has any.
 */
static inline bool about_shows(const struct about *about, enum state state)
{
	if (state == STATE_UNKNOWN)
		return about->has_unknown;
	return (state != STATE_STOLEN && state != STATE_IRQ) ||
	       about_measures(about, wire_of_state(state));
}

/* Whether intervals say how much of the machine was stolen. */
static inline bool about_has_machine(const struct about *about)
{
	return about->session.flags & WIRE_SESSION_MACHINE;
}

/* Whether intervals say if dwell itself was late. */
static inline bool about_has_pace(const struct about *about)
{
	return about->session.flags & WIRE_SESSION_PACE;
}

/* Whether `dwell verify` had passed there. */
static inline bool about_is_verified(const struct about *about)
{
	return about->session.flags & WIRE_SESSION_VERIFIED;
}

static inline bool about_has(const struct about *about, enum wire_figure figure)
{
	return about->session.figures & figure;
}

/* Delay accounting comes from taskstats, beside another source of states. */
static inline bool about_has_delays_beside(const struct about *about)
{
	return about->session.flags & WIRE_SESSION_DELAYS &&
	       about->session.source != WIRE_SOURCE_TASKSTATS;
}

/* Whether it was taken on a machine of this architecture, so that system calls have our numbers. */
bool about_is_native(const struct about *about);

/* Whether something of that name is missing. */
bool about_misses(const struct about *about, const char *source);

/* How the states are known: "exact", "counters" or "sampled". */
const char *about_states_kind(const struct about *about);

/* "bpf", "taskstats", "procfs" */
const char *about_source(const struct about *about);

#endif
