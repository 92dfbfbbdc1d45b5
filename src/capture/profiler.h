/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code threads spend their time in: attaches samples of the CPUs, and turns them and the
 * stacks of waits (bpf/profile.bpf.h) into records, unwound and named.
 */
#ifndef DWELL_CAPTURE_PROFILER_H
#define DWELL_CAPTURE_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/config.h"
#include "capture/sink.h"
#include "capture/stack_options.h"
#include "capture/target.h"

struct profile_options {
	struct stack_options stacks;
	uint32_t states;	/* 1 << enum wire_state, of which stacks are wanted */
	unsigned int frequency; /* of samples on a CPU, Hz; with WIRE_ON_CPU among the states */
	unsigned int rate;	/* stacks of waits a second and CPU, about */
};

struct dwell_bpf;
struct profiler;

/*
 * Starts the helper that reads stacks: before there is anything that it should not have. `options`
 * must outlive it. The symbols of a process that runs already are read at once.
 */
int profiler_new(struct profiler **ret_profiler, const struct profile_options *options,
		 const struct targets *targets, struct error *error) must_check;

/* Before loading. */
void profiler_configure(struct dwell_bpf *bpf, const struct profile_options *options);

/* What cannot be attached is reported as missing. */
int profiler_attach(struct profiler *profiler, struct dwell_bpf *bpf, struct record_sink sink,
		    struct error *error) must_check;
void profiler_free(struct profiler *profiler); /* takes NULL */

/*
 * Where more stacks come than the helper reads, they wait for room until that time; from then on,
 * they are lost, and counted. Or the ring would never be empty: what comes meanwhile waits as well.
 * Takes NULL.
 */
void profiler_be_patient(struct profiler *profiler, uint64_t deadline_ns);

/* A record from the hooks or the iterator. 0, -ENOMEM, or what the sink says. */
int profiler_take(struct profiler *profiler, const struct wire_header *record,
		  struct record_sink sink) must_check;

/*
 * Readable when what waits is to be walked over (the iterator profile_walk), between the two calls,
 * that is. Takes NULL: false. *ret_take: what the hooks have sent is to be taken before.
 */
int profiler_timer(const struct profiler *profiler);
bool profiler_begin_walk(struct profiler *profiler, bool *ret_take);
void profiler_end_walk(struct profiler *profiler);

/* CPU time of the helper that reads stacks; 0 for NULL. */
uint64_t profiler_helper_cpu_ns(const struct profiler *profiler);

/* Waits a while for stacks that have been asked for; with the last, nothing is left afterwards. */
int profiler_settle(struct profiler *profiler, bool last, uint64_t deadline_ns,
		    struct record_sink sink) must_check;

/* At a snapshot: WIRE_PROFILE. */
int profiler_send(struct profiler *profiler, uint64_t instant_ns,
		  struct record_sink sink) must_check;

#endif
