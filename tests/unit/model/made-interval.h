/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up intervals of a second: who lost how much, because of whom; and what is found in them. */
#ifndef DWELL_UNIT_MODEL_MADE_INTERVAL_H
#define DWELL_UNIT_MODEL_MADE_INTERVAL_H

#include "base/duration.h"
#include "view/findings.h"

#define MS   NS_PER_MS
#define ROOM 128

struct made {
	struct session_info session;
	struct interval interval;
	struct row rows[ROOM];
	struct blame blames[ROOM];
	struct findings found;
};

static inline void begin(struct made *made, bool has_blame)
{
	*made = (struct made){.session.wire = {.source = WIRE_SOURCE_BPF,
					       .flags = has_blame ? WIRE_SESSION_BLAME : 0,
					       .states = ~0U,
					       .metrics = ~0U}};
	made->interval = (struct interval){.end_ns = NS_PER_S,
					   .rows = made->rows,
					   .blames = made->blames,
					   .session = &made->session};
}

static inline struct row *add_row(struct made *made, uint32_t pid, uint32_t tid, const char *comm)
{
	struct row *row = &made->rows[made->interval.row_count++];

	assert_true(made->interval.row_count <= ROOM);
	*row = (struct row){.pid = pid, .tid = tid, .threads = 1, .observed_ns = NS_PER_S};
	snprintf(row->comm, sizeof(row->comm), "%s", comm);
	snprintf(row->process, sizeof(row->process), "server");
	return row;
}

/* A thread of "server" that lost so much in one state, and computed the rest of the second. */
static inline struct row *lose(struct made *made, uint32_t pid, uint32_t tid, enum state state,
			       uint64_t lost_ns)
{
	struct row *row = add_row(made, pid, tid, "worker");

	row->states_ns[state] = lost_ns;
	row->states_ns[STATE_USER] += NS_PER_S - lost_ns;
	return row;
}

/* The only process of its name. */
static inline struct row *lose_apart(struct made *made, uint32_t pid, enum state state,
				     uint64_t lost_ns)
{
	struct row *row = lose(made, pid, pid, state, lost_ns);

	snprintf(row->process, sizeof(row->process), "server-%u", pid);
	return row;
}

static inline struct blame *owe(struct made *made, const struct row *victim, enum state state,
				enum wire_culprit_kind kind, uint64_t total_ns)
{
	struct blame *blame = &made->blames[made->interval.blame_count++];

	assert_true(made->interval.blame_count <= ROOM);
	*blame = (struct blame){.victim = {.pid = victim->pid, .tid = victim->tid},
				.state = state,
				.kind = kind,
				.total_ns = total_ns};
	memcpy(blame->victim.process, victim->process, sizeof(victim->process));
	return blame;
}

static inline struct blame *owe_to(struct made *made, const struct row *victim, enum state state,
				   uint32_t pid, const char *name, uint64_t total_ns)
{
	struct blame *blame = owe(made, victim, state, WIRE_CULPRIT_THREAD, total_ns);

	blame->culprit.pid = pid;
	blame->culprit.tid = pid + 1;
	snprintf(blame->culprit.comm, sizeof(blame->culprit.comm), "%.9s-thread", name);
	snprintf(blame->culprit.process, sizeof(blame->culprit.process), "%.16s", name);
	return blame;
}

static inline void meanwhile(struct blame *blame, __u8 wire_state, __u8 detail)
{
	blame->has_meanwhile = true;
	blame->meanwhile = (struct wire_wait_site){wire_state, detail, WIRE_SYSCALL_NONE};
}

static inline size_t find(struct made *made)
{
	assert_int_equal(findings_find(&made->found, &made->interval), 0);
	return made->found.count;
}

static inline const char *sentence(struct made *made, size_t number)
{
	static char text[FINDING_BYTES];

	assert_true(number < made->found.count);
	finding_format(text, &made->found.items[number], &made->session);
	return text;
}

#endif
