/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stalls summed up by what they have in common: the function that stalled, its file, or the task it
 * did so in; and by cause, always. Pure. Memory depends on how many of those there are, not on how
 * many stalls, and is bounded.
 */
#ifndef DWELL_MODEL_HOTSPOTS_H
#define DWELL_MODEL_HOTSPOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/identities.h"
#include "bpf/wire.h"
#include "model/state.h"

/* What took most of a stall's time; key, the state it shows as, help. */
#define STALL_CAUSES(X)                                                                            \
	X(CPU, "cpu", STATE_USER, "it computed")                                                   \
	X(RUNNABLE, "runnable", STATE_RUNNABLE, "it waited for a CPU that another thread had")     \
	X(DISK, "disk", STATE_DISK, "it waited for a disk, or in a file system")                   \
	X(NET, "net", STATE_NET, "it waited for a socket")                                         \
	X(IPC, "ipc", STATE_IPC, "it waited for another thread or process")                        \
	X(LOCK, "lock", STATE_LOCK, "it waited for a lock")                                        \
	X(SWAP, "swap", STATE_SWAP, "it waited for memory")                                        \
	X(SLEEP, "sleep", STATE_SLEEP, "it slept")                                                 \
	X(STOPPED, "stopped", STATE_STOPPED, "a signal or a debugger stopped it")                  \
	X(STOLEN, "stolen", STATE_STOLEN, "the hypervisor took its CPU away")                      \
	X(IRQ, "irq", STATE_IRQ, "its CPU served interrupts")                                      \
	X(UNKNOWN, "unknown", STATE_UNKNOWN, "it waited in what dwell does not recognize")

enum stall_cause {
#define X(name, key, state, help) CAUSE_##name,
	STALL_CAUSES(X)
#undef X
		STALL_CAUSES_COUNT,
};

struct stall_cause_info {
	const char *key;
	enum state state;
	const char *help;
};

extern const struct stall_cause_info stall_cause_info[STALL_CAUSES_COUNT];

/* Nothing that any thread did: no code and no thread is blamed for it. */
static inline bool stall_cause_is_machine(enum stall_cause cause)
{
	return cause == CAUSE_STOLEN || cause == CAUSE_IRQ;
}

/* What stalls have in common; key in options, heading. */
#define HOTSPOT_GROUPINGS(X)                                                                       \
	X(FUNCTION, "function", "FUNCTION")                                                        \
	X(FILE, "file", "FILE")                                                                    \
	X(TASK, "task", "TASK")

enum hotspot_grouping {
#define X(name, key, heading) HOTSPOTS_BY_##name,
	HOTSPOT_GROUPINGS(X)
#undef X
		HOTSPOT_GROUPINGS_COUNT,
};

extern const char *const hotspot_grouping_keys[HOTSPOT_GROUPINGS_COUNT];
extern const char *const hotspot_grouping_headings[HOTSPOT_GROUPINGS_COUNT];

/* log2 buckets of durations, ns: up to 18 minutes */
#define STALL_BUCKETS 40

/* Workers that a hotspot lists separately; what others did is a sum. */
#define HOTSPOT_WORKERS 8

struct hotspot {
	enum stall_cause cause;
	bool in_place; /* under block_in_place(): announced to the runtime */
	/* frames of stalls.h, 0 = not known: of the longest; by what they are summed up, of all */
	uint32_t function;
	uint32_t type;				/* of the task */
	uint32_t stack;				/* of the longest; 0: none */
	uint64_t keys[HOTSPOT_GROUPINGS_COUNT]; /* text_hash() of the names */
	uint64_t count, total_ns, max_ns;
	uint32_t buckets[STALL_BUCKETS];
	struct wire_wait_site site; /* of the longest one's wait */
	/* of the last one that had them */
	struct wire_peer waker, culprit;
	struct wire_peer limit;	 /* as in struct stall_part */
	uint32_t waker_function; /* frame; 0: not known */
	struct hotspot_worker {
		uint32_t tid; /* 0: free */
		uint64_t count, total_ns;
	} workers[HOTSPOT_WORKERS]; /* in order of arrival */
	uint64_t others;	    /* stalls of workers that found no place there */
};

/* All zeros is empty. */
struct hotspots {
	struct identities keys; /* (cause and in_place, hash) */
	struct hotspot *items;	/* by number in keys */
	size_t room;
	uint64_t lost; /* stalls that found no room */
};

/* The bucket a duration is counted in. */
unsigned int hotspot_bucket(uint64_t ns);

/* By function and task: nothing is mixed that some grouping separates. 0 or -ENOMEM. */
int hotspots_add(struct hotspots *hotspots, const struct hotspot *hotspot) must_check;

/* Adds all of `from`. 0 or -ENOMEM. */
int hotspots_merge(struct hotspots *hotspots, enum hotspot_grouping by,
		   const struct hotspots *from) must_check;

/*
 * The largest time first, but what was announced to the runtime behind the rest. Then nothing can
 * be added before hotspots_clear().
 */
void hotspots_sort(struct hotspots *hotspots);

void hotspots_clear(struct hotspots *hotspots); /* keeps the memory */
void hotspots_release(struct hotspots *hotspots);

#endif
