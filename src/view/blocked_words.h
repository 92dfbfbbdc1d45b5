/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How stalls and what belongs to them are put into words, the same everywhere. */
#ifndef DWELL_VIEW_BLOCKED_WORDS_H
#define DWELL_VIEW_BLOCKED_WORDS_H

#include "base/output.h"
#include "model/stalls.h"

struct starvation;  /* model/starvation.h */
struct stall_blame; /* view/blamed.h */

/* A worker that has not come back for so long is reported as stuck. */
#define BLOCKED_STUCK_NS (1000 * 1000 * 1000ULL)

/* How a worker was found, by enum wire_found_by. */
const char *blocked_found_by(unsigned int number);

/* Whether what is missing changes what is reported of stalls. */
bool blocked_is_about_stalls(const struct wire_missing *missing);

/* "lock futex_wait": why, and in what. */
#define BLOCKED_CAUSE_BYTES 96
/* In place of a function, where none is known, or none is to blame. */
const char *blocked_without_function(enum stall_cause cause);
void blocked_cause(char into[BLOCKED_CAUSE_BYTES], enum stall_cause cause,
		   struct wire_wait_site site);

/* "audit.rs:41"; empty where that is not known. */
#define BLOCKED_PLACE_BYTES 128
void blocked_place(char into[BLOCKED_PLACE_BYTES], const struct frame *frame);

/* In place of the name of a frame that is made at run time; and what to do about it. */
#define MADE_AT_RUN_TIME "(code made at run time)"
#define MADE_AT_RUN_TIME_HINT                                                                      \
	"Code made at run time has no names here: Node.js lists them with --perf-basic-prof, "     \
	"Java with jcmd PID Compiler.perfmap (and -XX:+PreserveFramePointer), "                    \
	"Erlang with +JPperf true, .NET with DOTNET_PerfMapEnabled=1."

/* The name of a function as people read it: without what compilers make of an async body. */
#define BLOCKED_NAME_BYTES 256
void blocked_name(char into[BLOCKED_NAME_BYTES], const struct frame *frame);

/* In place: "f(int, std::vector<int> const&) const" says no more than "f". */
void blocked_cut_parameters(char *name);

/* In so many columns; of one that is too long its end, which says more, behind an ellipsis. */
void blocked_write_name(struct output *out, const char *name, size_t columns);

/* Others had the CPU: no limit of its own was reached, and it was not announced. */
bool blocked_lost_its_cpu(const struct hotspot *hotspot);

/* That the thread which computed most is no worker; false: none did so much. */
#define BLOCKED_UNJUDGED_BYTES 256
bool blocked_unjudged(char into[BLOCKED_UNJUDGED_BYTES], const struct stalls *stalls);

/* The name of a type of task; of the sum of those that found no room, what it is. */
void blocked_task_name(char into[BLOCKED_NAME_BYTES], const struct stalls *stalls,
		       const struct task *task);

/* The figures of one, which has been polled: "~" is an estimate, ">=" what was seen of more. */
struct task_words {
	char polls[32], busy[24], mean[24], longest[24], stalls[32];
};
struct task_words blocked_task_words(const struct stalls *stalls, const struct task *task);

/* Four names at most, with their shares. */
#define STARVED_BYTES 768

/* "cc1 (9 processes) 60 %, its own threads 20 %, others 20 %"; empty: no wait at all. */
void blocked_starved_text(char into[STARVED_BYTES], const struct starvation *starvation,
			  uint32_t process, const struct stalls *stalls);

/* "cpu.max of /system.slice/pg": whose CPU limit was reached; empty: none. */
#define BLOCKED_LIMIT_BYTES 256
void blocked_limit(char into[BLOCKED_LIMIT_BYTES], const struct wire_peer *limit,
		   const struct stalls *stalls);

/* "CPU taken by cc1 (4711)", "ended by pool 4712 in flush": through whom; empty: not known. */
#define BLOCKED_THROUGH_BYTES 512
void blocked_through(char into[BLOCKED_THROUGH_BYTES], const struct stall_blame *blame,
		     const struct stalls *stalls);

#define BLOCKED_PROBES_BYTES 64

/* Of the target's CPU time without the probes, what they added; below 0: not measured. */
double blocked_probes_cost(const struct wire_runtime *runtime);

/* Whether all polls are probed, and what that costs; "": there is nothing to say. */
void blocked_probes_text(char text[BLOCKED_PROBES_BYTES], const struct wire_runtime *runtime);

/* Some polls were not probed. */
static inline bool blocked_is_sampled(const struct wire_runtime *runtime)
{
	return runtime->probed_ns < runtime->observed_ns;
}

#endif
