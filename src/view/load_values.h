/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that workers and groups of a load have alike. */
#ifndef DWELL_VIEW_LOAD_VALUES_H
#define DWELL_VIEW_LOAD_VALUES_H

#include "emit/schema.h"
#include "load/cpus.h"
#include "load/report.h"
#include "load/samples.h"

/* A list of their numbers, whose elements are value_cpu(). */
void value_cpus(struct value *value, const struct cpus *cpus);

/* The element `cpu` of such a list. */
void value_cpu(struct value *value, const struct cpus *cpus, size_t cpu);

/* Pages on a node, in a map by its number; absent without any. */
void value_node(struct value *value, const uint64_t pages[REPORT_NODES], size_t node);

/* The row is a struct sample_summary. */
extern const struct schema sample_schema;

/* Null without samples. */
void value_samples(struct value *value, const struct sample_summary *summary);

/* Key of the distribution, of how many there were, and of the samples themselves. */
#define STREAMS(X)                                                                                 \
	X(RESUME, "resume", "wake_sample_total", "resume_latencies_ns",                            \
	  "how long waits took, whole calls")                                                      \
	X(WAKE_TO_RUN, "wake_to_run", "wake_to_run_total", "wake_to_run_ns",                       \
	  "from the wakeup to the first instruction after")                                        \
	X(COST, "iteration_cost", "iteration_cost_sample_total", "iteration_costs_ns",             \
	  "wall time of iterations")

#endif
