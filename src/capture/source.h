/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where records come from, live: BPF, the kernel's taskstats, or /proc. One of them gives the
 * threads; taskstats can add delay accounting to BPF's. Nothing behind the sink can see which it
 * was but by what the first record, WIRE_SESSION, says.
 */
#ifndef DWELL_CAPTURE_SOURCE_H
#define DWELL_CAPTURE_SOURCE_H

#include <stdbool.h>

#include "base/error.h"
#include "capture/hook_stats.h"
#include "capture/profiler.h"
#include "capture/sink.h"
#include "capture/spans.h"
#include "capture/target.h"

struct source;

enum source_choice {
	SOURCE_AUTO, /* the best that is permitted */
	SOURCE_BPF,
	SOURCE_TASKSTATS,
	SOURCE_PROCFS,
};

/* Of threads that are no targets, where there are targets: with blame, by BPF, without spans. */
enum source_beside {
	BESIDE_IGNORED = 0,
	BESIDE_FOLLOWED, /* what they did while a target waited for them is known; not sent */
	BESIDE_SENT,	 /* marked: whom the targets made wait. WIRE_SESSION_CAUSED */
};

struct source_options {
	enum source_choice choice;
	uint64_t interval_ns;
	const struct span_options *spans;      /* NULL: none; else needs BPF, and must outlive it */
	const struct profile_options *profile; /* the same; not beside spans */
	bool blame;			       /* WIRE_BLAME too; only BPF has it */
	bool reasons; /* WIRE_REASON of all that is watched, also of a whole machine; only BPF */
	enum source_beside beside;
};

/*
 * Measuring begins here. Sends WIRE_SESSION and WIRE_MISSING. The targets must outlive the
 * source, which follows their cgroup. Errors explain themselves.
 */
int source_open(struct source **ret_source, const struct source_options *options,
		struct targets *targets, struct record_sink sink, struct error *error) must_check;
void source_close(struct source *source);

/*
 * One snapshot of all watched threads, in two steps: begin sends WIRE_THREAD records, and WIRE_EXIT
 * records of those that ended (also later than the instant); end the WIRE_INTERVAL since the
 * snapshot before. In between source_await(), while threads are missing that were there before:
 * they are about to end, and have not sent their totals yet. `final`: it is the last one, so those
 * that are leaving are waited for, too, and those that are `missing` all the same are lost.
 */
int source_begin(struct source *source, bool final, struct error *error) must_check;
int source_end(struct source *source, uint64_t missing, struct error *error) must_check;

/*
 * Waits until threads have ended, at most `timeout_ms`, and sends their records. 1: there may be
 * more; 0: nothing came in that time; or a negative errno.
 */
int source_await(struct source *source, int timeout_ms, struct error *error) must_check;

/* The next intervals are to be of this length. */
void source_set_interval(struct source *source, uint64_t interval_ns);

/* Of the last snapshot, CLOCK_MONOTONIC. */
uint64_t source_instant_ns(const struct source *source);

/*
 * Threads that no snapshot has met, neither this one, and whose end has not been reported: born
 * since the one before, and on their way to the end. After source_end() of the last one they are
 * lost.
 */
uint64_t source_leaving(const struct source *source);

/*
 * When one of the descriptors is readable, source_work() has something to do between snapshots.
 * At most SOURCE_DESCRIPTORS; returns how many.
 */
#define SOURCE_DESCRIPTORS 2
int source_descriptors(const struct source *source, int descriptors[SOURCE_DESCRIPTORS]);
int source_work(struct source *source, struct error *error) must_check;

/*
 * A process the user looks at: its waits are kept by reason (WIRE_REASON), its delays read
 * (WIRE_DELAYS). 0 = none. Where targets are given, they are looked at already.
 */
void source_look_at(struct source *source, uint32_t pid);

/* Adds what its hooks in the kernel have taken: of use after hook_stats_begin(). */
void source_hooks(const struct source *source, struct hook_stats *stats);

#endif
