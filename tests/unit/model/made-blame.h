/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of blame, made by hand, and the intervals they come to. */
#ifndef DWELL_UNIT_MODEL_MADE_BLAME_H
#define DWELL_UNIT_MODEL_MADE_BLAME_H

#include "model/blame_workers.h"
#include "model/blame_losses.h"

#define START 1000000
#define END   2000000

/* A thread that was in one state for the interval; its start is such that culprits find it. */
static inline struct wire_thread thread(uint32_t tid, uint64_t end, __u8 state)
{
	struct wire_thread record = {
		.header = {sizeof(record), WIRE_THREAD, 0, end},
		.start_ns = (uint64_t)tid << 20,
		.origin_ns = 5,
		.end_ns = end,
		.since_ns = end,
		.cgroup_id = tid / 10,
		.tid = tid,
		.pid = tid / 10 * 10,
		.comm = "thread",
		.process = "program",
	};

	record.totals.ns[state] = end - record.origin_ns;
	return record;
}

struct record {
	struct wire_blame blame;
	struct wire_culprit culprits[4];
};

static inline struct record record_of(uint32_t tid, uint64_t time,
				      const struct wire_culprit *culprits, size_t count)
{
	struct record record = {.blame = {.header = {.kind = WIRE_BLAME, .time_ns = time},
					  .origin_ns = 5,
					  .tid = tid,
					  .pid = tid / 10 * 10,
					  .count = (__u32)count}};

	record.blame.header.size = (__u32)(sizeof(record.blame) + count * sizeof(*culprits));
	memcpy(record.culprits, culprits, count * sizeof(*culprits));
	return record;
}

static inline struct wire_culprit by_thread(__u8 state, uint32_t tid, uint64_t ns)
{
	return (struct wire_culprit){.total_ns = ns,
				     .count = 1,
				     .tid = tid,
				     .pid = tid / 10 * 10,
				     .start = tid,
				     .state = state,
				     .kind = WIRE_CULPRIT_THREAD,
				     .comm = "culprit"};
}

static inline struct interval *feed(struct intervals *intervals, const void *record)
{
	struct interval *interval = NULL;

	assert_true(intervals_feed(intervals, record, &interval) >= 0);
	return interval;
}

static inline struct interval *close_at(struct intervals *intervals, uint64_t start, uint64_t end)
{
	struct wire_interval record = {.header = {sizeof(record), WIRE_INTERVAL, 0, end},
				       .start_ns = start,
				       .end_ns = end};

	return feed(intervals, &record);
}

/* A session with blame, and the baseline with these threads; states as in struct wire_thread. */
static inline struct intervals *begin(const uint32_t *tids, size_t count, __u8 state)
{
	struct wire_session session = {.header = {sizeof(session), WIRE_SESSION, 0, 0},
				       .source = WIRE_SOURCE_BPF,
				       .flags = WIRE_SESSION_BLAME,
				       .states = ~0U,
				       .metrics = ~0U};
	struct intervals *intervals = intervals_new();

	feed(intervals, &session);
	for (size_t i = 0; i < count; i++) {
		struct wire_thread one = thread(tids[i], START, state);

		feed(intervals, &one);
	}
	close_at(intervals, START, START);
	for (size_t i = 0; i < count; i++) {
		struct wire_thread one = thread(tids[i], END, state);

		feed(intervals, &one);
	}
	return intervals;
}

/* NULL: there is none. */
static inline const struct blame *find(const struct interval *interval, uint32_t victim,
				       enum wire_culprit_kind kind, uint32_t culprit)
{
	for (size_t i = 0; i < interval->blame_count; i++) {
		const struct blame *blame = &interval->blames[i];

		if (blame->victim.tid == victim && blame->kind == kind &&
		    blame->culprit.tid == culprit)
			return blame;
	}
	return NULL;
}

static inline uint64_t sum(const struct interval *interval, uint32_t victim, enum state state)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < interval->blame_count; i++)
		if (interval->blames[i].victim.tid == victim && interval->blames[i].state == state)
			ns += interval->blames[i].total_ns;
	return ns;
}

#endif
