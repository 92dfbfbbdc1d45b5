/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stalls, made by hand. */
#ifndef DWELL_UNIT_MODEL_MADE_STALLS_H
#define DWELL_UNIT_MODEL_MADE_STALLS_H

#include <errno.h>

#include "model/comparison.h"
#include "model/stalls.h"
#include "model/starvation.h"
#include "model/timeline.h"
#include "runtime/runtime.h"

static inline void add_frame(struct stalls *stalls, uint32_t id, const char *function,
			     enum wire_frame_kind kind)
{
	union {
		struct wire_frame record;
		char room[256];
	} frame = {.record = {.header = {.size = sizeof(frame), .kind = WIRE_FRAME},
			      .id = id,
			      .line = 7,
			      .kind = (__u8)kind,
			      .flags = strchr(function, '+') ? 0 : WIRE_FRAME_NAMED,
			      .function_bytes = (__u16)(strlen(function) + 1),
			      .file_bytes = 5,
			      .module_bytes = 1}};
	struct stall stall;

	memcpy(frame.record.text, function, strlen(function) + 1);
	memcpy(frame.record.text + strlen(function) + 1, "a.rs\0", 6);
	assert_int_equal(stalls_feed(stalls, &frame.record.header, &stall), 0);
}

static inline void add_stack(struct stalls *stalls, uint32_t id, const uint32_t *frames,
			     uint32_t count)
{
	union {
		struct wire_stack record;
		char room[256];
	} stack = {.record = {.header = {.size = sizeof(stack), .kind = WIRE_STACK},
			      .id = id,
			      .count = count,
			      .end = WIRE_STACK_COMPLETE}};
	struct stall stall;

	memcpy(stack.record.frames, frames, count * sizeof(*frames));
	assert_int_equal(stalls_feed(stalls, &stack.record.header, &stall), 0);
}

enum {
	KERNEL_WAIT = 1,
	LIBRARY,
	HANDLER,
	RUNTIME_POLL,
	SPIN,
	IN_PLACE,
	TAKEN_OVER,
	TYPE,
	POOL_LOOP,
	RAW_POLL,
	SCHEDULER,
	STRIPPED,
	START,
};

static inline struct stalls *make_with_window(uint64_t window_ns)
{
	struct stalls *stalls = stalls_new(window_ns, runtime_stack_marks());
	const uint32_t wait[] = {KERNEL_WAIT, LIBRARY, HANDLER, RUNTIME_POLL, TAKEN_OVER};
	const uint32_t spin[] = {SPIN, HANDLER, RUNTIME_POLL};
	const uint32_t in_place[] = {LIBRARY, HANDLER, IN_PLACE, RUNTIME_POLL};
	const uint32_t pool[] = {LIBRARY, RAW_POLL, POOL_LOOP};
	const uint32_t stripped[] = {KERNEL_WAIT, LIBRARY, STRIPPED, START};
	const uint32_t exported[] = {STRIPPED, HANDLER, STRIPPED, START};
	const uint32_t worker[] = {LIBRARY, HANDLER, RAW_POLL, SCHEDULER, RAW_POLL};

	assert_non_null(stalls);
	add_frame(stalls, KERNEL_WAIT, "schedule", WIRE_FRAME_KERNEL);
	add_frame(stalls, LIBRARY, "clock_nanosleep", WIRE_FRAME_SYSTEM);
	add_frame(stalls, HANDLER, "app::handle", WIRE_FRAME_USER);
	add_frame(stalls, RUNTIME_POLL, "tokio::runtime::task::core::Core<T,S>::poll",
		  WIRE_FRAME_RUNTIME);
	add_frame(stalls, SPIN, "app::spin", WIRE_FRAME_USER);
	add_frame(stalls, IN_PLACE, "tokio::task::blocking::block_in_place", WIRE_FRAME_RUNTIME);
	add_frame(stalls, TAKEN_OVER,
		  "tokio::runtime::scheduler::multi_thread::worker::block_in_place",
		  WIRE_FRAME_RUNTIME);
	add_frame(stalls, TYPE, "app::serve", WIRE_FRAME_USER);
	add_frame(stalls, POOL_LOOP, "std::sys::thread::start", WIRE_FRAME_STANDARD);
	add_frame(stalls, RAW_POLL, "tokio::runtime::task::raw::poll", WIRE_FRAME_RUNTIME);
	add_frame(stalls, SCHEDULER, "tokio::runtime::scheduler::multi_thread::worker::run",
		  WIRE_FRAME_RUNTIME);
	add_frame(stalls, STRIPPED, "app+0x12", WIRE_FRAME_USER);
	add_frame(stalls, START, "__libc_start_call_main", WIRE_FRAME_STANDARD);
	add_stack(stalls, 1, wait, ARRAY_SIZE(wait));
	add_stack(stalls, 2, spin, ARRAY_SIZE(spin));
	add_stack(stalls, 3, in_place, ARRAY_SIZE(in_place));
	add_stack(stalls, 4, pool, ARRAY_SIZE(pool));
	add_stack(stalls, 5, worker, ARRAY_SIZE(worker));
	add_stack(stalls, 6, stripped, ARRAY_SIZE(stripped));
	add_stack(stalls, 7, exported, ARRAY_SIZE(exported));
	return stalls;
}

static inline struct stalls *make(void)
{
	return make_with_window(0);
}

static inline struct wire_stall record(uint8_t state, uint64_t ns, uint32_t stack)
{
	struct wire_stall stall = {
		.header = {.size = sizeof(stall), .kind = WIRE_STALL, .time_ns = 1000 + ns},
		.start_ns = 1000,
		.duration_ns = ns,
		.tid = 7,
		.kind = WIRE_SPAN_POLL,
		.stack = stack,
		.type = TYPE,
		.longest = {.state = state, .syscall = 1},
		.longest_ns = ns,
	};

	stall.states_ns[state] = ns;
	return stall;
}

static inline const struct hotspot *hotspots_of(struct stalls *stalls, enum hotspot_grouping by,
						size_t *ret_count)
{
	const struct hotspot *hotspots;

	assert_int_equal(stalls_hotspots(stalls, by, &hotspots, ret_count), 0);
	return hotspots;
}

#endif
