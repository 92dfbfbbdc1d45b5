/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stalls of workers: why each one was, which function did it, and the functions that did most of
 * it. Pure, as interval.h; memory depends on how many functions and stacks there are, not on how
 * many stalls.
 */
#ifndef DWELL_MODEL_STALLS_H
#define DWELL_MODEL_STALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/wire.h"

/* What took most of a stall's time; key, help. */
#define STALL_CAUSES(X)                                                                            \
	X(CPU, "cpu", "it computed")                                                               \
	X(RUNNABLE, "runnable", "it waited for a CPU that somebody else had")                      \
	X(DISK, "disk", "it waited for a disk, or in a file system")                               \
	X(NET, "net", "it waited for a socket")                                                    \
	X(IPC, "ipc", "it waited for another thread or process")                                   \
	X(LOCK, "lock", "it waited for a lock")                                                    \
	X(SWAP, "swap", "it waited for memory")                                                    \
	X(SLEEP, "sleep", "it slept")                                                              \
	X(STOPPED, "stopped", "a signal or a debugger stopped it")

enum stall_cause {
#define X(name, key, help) CAUSE_##name,
	STALL_CAUSES(X)
#undef X
		STALL_CAUSES_COUNT,
};

struct stall_cause_info {
	const char *key;
	const char *help;
};

extern const struct stall_cause_info stall_cause_info[STALL_CAUSES_COUNT];

struct frame {
	const char *function, *file, *module; /* file, module: "" = none */
	uint32_t line;			      /* 0: not known */
	enum wire_frame_kind kind;
	bool inlined, named;
};

struct stack {
	const uint32_t *frames; /* ids, innermost first */
	uint32_t count;
	enum wire_stack_end end;
};

/* log2 buckets of durations, ns: up to 18 minutes */
#define STALL_BUCKETS 40

struct hotspot {
	enum stall_cause cause;
	uint32_t function; /* frame; 0: no stack told */
	uint32_t type;	   /* frame of the task's type; 0: not known */
	uint32_t stack;	   /* of the longest; 0: none */
	bool in_place;	   /* under block_in_place(): the runtime was told */
	uint64_t count, total_ns, max_ns;
	uint32_t buckets[STALL_BUCKETS];
	struct wire_where where; /* of the longest one's wait */
	/* of the last one that had them */
	struct wire_party waker, culprit;
	uint32_t waker_function; /* frame; 0: not known */
};

struct stall {
	const struct wire_stall *record;
	uint64_t own_ns; /* without the spans inside */
	enum stall_cause cause;
	uint32_t function, stack; /* ids that exist, or 0 */
	struct wire_where where; /* of its longest wait, if that was for this cause; else state 0 */
	bool in_place;
	uint32_t waker_function;
};

struct stall_worker {
	struct wire_worker last;
	uint64_t spans, stalls, stall_ns, longest_ns;
};

struct stalls;

struct stalls *stalls_new(void); /* NULL: out of memory */
void stalls_free(struct stalls *stalls);

/*
 * Takes a record if it is about stalls. 1: it was a stall, and *ret_stall is valid until the next
 * call; 0; -ENOMEM; -EBADMSG for a record that cannot be.
 */
int stalls_feed(struct stalls *stalls, const struct wire_header *record,
		struct stall *ret_stall) must_check;

/* NULL: no such frame or stack. */
const struct frame *stalls_frame(const struct stalls *stalls, uint32_t id);
const struct stack *stalls_stack(const struct stalls *stalls, uint32_t id);

/* By time, the largest first; valid until the next feed. */
const struct hotspot *stalls_hotspots(struct stalls *stalls, size_t *ret_count);

/* By tid. Threads of the blocking pool are among them (last.kind). */
const struct stall_worker *stalls_workers(struct stalls *stalls, size_t *ret_count);

/* The latest; all zeros: none yet. */
const struct wire_runtime *stalls_runtime(const struct stalls *stalls);

struct stall_counts {
	uint64_t stalls, total_ns, max_ns;
	uint64_t max_blamed_ns; /* of those without in_place */
	uint64_t in_place;	/* of those: the runtime was told, nobody is to blame */
	uint64_t pool_stalls;	/* of closures on the blocking pool, and workers' lives: left out */
	uint64_t hotspots_lost; /* stalls of functions that found no room in the table */
};
const struct stall_counts *stalls_counts(const struct stalls *stalls);

#endif
