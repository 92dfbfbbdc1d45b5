/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stalls of a runtime's workers: attaches the probes of their spans, and turns what they send into
 * records: stacks unwound, every address named, so that a record means the same on another machine.
 */
#ifndef DWELL_CAPTURE_SPANS_H
#define DWELL_CAPTURE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/config.h"
#include "capture/sink.h"
#include "capture/stack_options.h"

/* A function that polls tasks. */
struct span_probe {
	char *path;	 /* of the file, as we can open it */
	uint64_t offset; /* of the function in it */
	enum span_kind kind;
	char *type;   /* of the tasks it polls; NULL: not known */
	char *place;  /* what it is called then */
	bool is_task; /* SPAN_POLL: of nothing else, whatever the type */
};

struct span_options {
	uint32_t pid;
	uint64_t threshold_ns;
	unsigned int frequency; /* of samples, Hz */
	struct stack_options stacks;
	const char *runtime; /* its name */
	char process[64];    /* the process's name */
	struct span_probe *probes;
	size_t probe_count;
	bool turns;	     /* spans of event loops */
	bool turns_rotate;   /* a loop may be another thread's with each */
	uint32_t ring_bytes; /* for what is on its way to us: a power of two */
	char prefix[16];     /* of the names of workers; empty: any */
	size_t named;	     /* threads that had it when we came */
	double budget;	     /* share of the target's CPU time that dwell may cost it; 1: any */
};

/*
 * The runtime's workers wait for events, too: of threads that do, their stacks say which are loops
 * of the program's own.
 */
static inline bool span_turns_are_judged(const struct span_options *options)
{
	return options->turns && options->stacks.library_count;
}

struct dwell_bpf;
struct spans;

/*
 * Starts the helper that reads stacks: before there is anything that it should not have. `options`
 * must outlive it.
 */
int spans_new(struct spans **ret_spans, const struct span_options *options,
	      struct error *error) must_check;

/* After span_probes_configure() and loading. What cannot be attached is reported as missing. */
int spans_attach(struct spans *spans, struct dwell_bpf *bpf, struct record_sink sink,
		 struct error *error) must_check;
void spans_free(struct spans *spans);

/* Takes a record from the hooks of a kind in SPAN_*. 0, -ENOMEM, or what the sink says. */
int spans_take(struct spans *spans, const struct wire_header *record,
	       struct record_sink sink) must_check;

/* CPU time of the helper that reads stacks; 0 for NULL. */
uint64_t spans_helper_cpu_ns(const struct spans *spans);

/* Waits a while for stacks that have been asked for; with the last, nothing is left afterwards. */
int spans_settle(struct spans *spans, bool last, uint64_t deadline_ns,
		 struct record_sink sink) must_check;

/* Whether a turn has shown to be over since the last call: another look at its thread ends it. */
bool spans_take_parked(struct spans *spans);

/* At a snapshot: WIRE_RUNTIME, and WIRE_POLLS where polls are probed. */
int spans_tell(struct spans *spans, uint64_t instant_ns, struct record_sink sink) must_check;

#endif
