/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of made-up records: one thread, whose main() calls three functions. */
#ifndef DWELL_TESTS_PROFILES_H
#define DWELL_TESTS_PROFILES_H

#include "test.h"

#include "model/profile.h"

#define START 100 /* of the profile, ns */
#define TID   7

enum { MAIN = 1, WAITS, COMPUTES, RECURSES, LIBRARY, KERNEL, FRAMES };

static inline void feed(struct profile *profile, const struct wire_header *record)
{
	assert_int_equal(profile_feed(profile, record), 0);
}

static inline void add_frame_in(struct profile *profile, uint32_t id, const char *function,
				const char *module, enum wire_frame_kind kind, __u8 flags)
{
	union {
		struct wire_frame record;
		char room[128];
	} frame = {.record = {.header = {.size = sizeof(frame), .kind = WIRE_FRAME},
			      .id = id,
			      .line = id,
			      .kind = (__u8)kind,
			      .flags = flags,
			      .function_bytes = (__u16)(strlen(function) + 1),
			      .file_bytes = 4,
			      .module_bytes = (__u16)(strlen(module) + 1)}};
	char *text = frame.record.text;

	text = stpcpy(text, function) + 1;
	text = stpcpy(text, "a.c") + 1;
	stpcpy(text, module);
	feed(profile, &frame.record.header);
}

static inline void add_frame_flagged(struct profile *profile, uint32_t id, const char *function,
				     enum wire_frame_kind kind, __u8 flags)
{
	add_frame_in(profile, id, function, "", kind, flags);
}

static inline void add_frame(struct profile *profile, uint32_t id, const char *function,
			     enum wire_frame_kind kind)
{
	add_frame_flagged(profile, id, function, kind, WIRE_FRAME_NAMED);
}

static inline void add_stack(struct profile *profile, uint32_t id, const uint32_t *frames,
			     uint32_t count)
{
	union {
		struct wire_stack record;
		char room[128];
	} stack = {.record = {.header = {.size = sizeof(stack), .kind = WIRE_STACK},
			      .id = id,
			      .count = count,
			      .end = WIRE_STACK_COMPLETE}};

	memcpy(stack.record.frames, frames, count * sizeof(*frames));
	feed(profile, &stack.record.header);
}

enum { ON_WAIT = 1, ON_COMPUTE, ON_RECURSION };

static inline struct profile *make(void)
{
	struct profile *profile = profile_new();
	struct wire_interval baseline = {
		.header = {.size = sizeof(baseline), .kind = WIRE_INTERVAL}, .end_ns = START};
	const uint32_t wait[] = {KERNEL, LIBRARY, WAITS, MAIN};
	const uint32_t compute[] = {COMPUTES, MAIN};
	const uint32_t recursion[] = {RECURSES, RECURSES, RECURSES, MAIN};

	assert_non_null(profile);
	add_frame(profile, MAIN, "main", WIRE_FRAME_USER);
	add_frame(profile, WAITS, "waits", WIRE_FRAME_USER);
	add_frame(profile, COMPUTES, "computes", WIRE_FRAME_USER);
	add_frame(profile, RECURSES, "recurses", WIRE_FRAME_USER);
	add_frame(profile, LIBRARY, "futex_wait", WIRE_FRAME_SYSTEM);
	add_frame(profile, KERNEL, "schedule", WIRE_FRAME_KERNEL);
	add_stack(profile, ON_WAIT, wait, 4);
	add_stack(profile, ON_COMPUTE, compute, 2);
	add_stack(profile, ON_RECURSION, recursion, 4);
	feed(profile, &baseline.header);
	return profile;
}

static inline struct wire_spent away(uint8_t state, uint64_t from, uint64_t ready, uint64_t to,
				     double chance, uint32_t stack)
{
	return (struct wire_spent){
		.header = {.size = sizeof(struct wire_spent), .kind = WIRE_SPENT, .time_ns = to},
		.start_ns = 1,
		.left_ns = from,
		.ready_ns = ready,
		.tid = TID,
		.pid = TID,
		.site = {.state = state},
		.inverse = (uint32_t)(WIRE_SPENT_CERTAIN / chance),
		.stack = stack,
	};
}

static inline struct wire_spent sample(uint32_t stack, uint32_t flags)
{
	struct wire_spent spent = away(WIRE_ON_CPU, 500, 500, 500, 1, stack);

	spent.flags = flags;
	return spent;
}

/* The accounts of the one thread. */
static inline void end(struct profile *profile, const uint64_t states_ns[STATES])
{
	struct row row = {.tid = TID, .pid = TID, .threads = 1, .start_ns = 1, .comm = "it"};
	struct interval interval = {.rows = &row, .row_count = 1};

	memcpy(row.states_ns, states_ns, sizeof(row.states_ns));
	assert_int_equal(profile_add_interval(profile, &interval), 0);
	assert_int_equal(profile_end(profile), 0);
}

#endif
