/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the workers of a group did, put together. */
#ifndef DWELL_LOAD_SUMMARY_H
#define DWELL_LOAD_SUMMARY_H

#include "load/run.h"
#include "load/samples.h"

/* What a group did on the CPUs of a cache or a node. */
struct summary_place {
	uint64_t cpu_ns, work_units;
};

/* Sums are over the workers that reported; `completed` says how many these are. */
struct summary {
	unsigned int workers, completed;
	uint64_t work_units, iterations;
	uint64_t cpu_ns, wall_ns, off_cpu_ns;
	uint64_t run_delay_ns, run_count; /* schedstat's */
	unsigned int schedstats;	  /* workers of which it could be read */
	unsigned int looked;		  /* workers of which gaps and migrations are known */
	uint64_t migrations;
	/* of them, between last-level caches and between NUMA nodes: summary_add_crossings() */
	double cross_llc, cross_node;
	double cpu_squares; /* sum of the squares of the workers' CPU times */
	struct cpus cpus_used;
	uint64_t max_gap_ns, max_gap_at_ns; /* of the worst, and whose: */
	unsigned int max_gap_cpu;
	uint32_t max_gap_tid;
	double iteration_rate;		    /* per second, of all together */
	double slowest, fastest;	    /* of a worker: iterations per second */
	double off_cpu_least, off_cpu_most; /* of a worker, as a share of its wall time */
	unsigned int timed;		    /* workers that have one: these four are of them */
	double throughput_cv;		    /* of units per CPU second; NAN: unknown */
	struct sample_summary samples[SAMPLES_STREAMS];
	uint64_t numa_pages[REPORT_NODES];
	unsigned int numas;	/* workers of which the pages are known */
	uint64_t numa_migrated; /* of the machine; the most of any */
	bool numa_migrated_measured;
};

/* Of one group. 0 or -ENOMEM. */
int summary_make(const struct run_group *worker_group, struct summary *ret_summary) must_check;

/*
 * The streams of `parts` parts of the run, from `first` on, of the workers that reported. 0 or
 * -ENOMEM.
 */
int summary_add_samples(struct summary *summary, const struct run_group *worker_group,
			unsigned int first, unsigned int parts) must_check;

/*
 * Of the group's pages those on `nodes` that have CPUs their worker may use, or, if it has a memory
 * policy with nodes, on these.
 */
uint64_t summary_local_pages(const struct run_group *worker_group,
			     const struct topology_parts *nodes);
/* All of them; 0: none are known. */
uint64_t summary_pages(const struct summary *summary);

/*
 * Looks up where migrations went. A report keeps the first of many (REPORT_MIGRATIONS): then these
 * stand for all.
 */
void summary_add_crossings(struct summary *summary, const struct run_group *worker_group,
			   const struct topology *topology);

/*
 * The same for each of `parts`, of the workers that reported and looked (`looked`), as of the CPUs
 * at their looks: what a worker did between two of them counts for the first one's CPU.
 */
void summary_places(struct summary_place *ret_places, const struct run_group *worker_group,
		    const struct topology_parts *parts);

/*
 * How evenly the workers were served, by the CPU time of each: (sum x)^2 / (n * sum x^2), from 1/n
 * to 1. R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination", DEC
 * TR-301 (1984). NAN below two workers.
 */
double summary_fairness(const struct summary *summary);

/* The stream that shows most of a group's wakeups: wake to run where there is a waker. */
static inline enum report_samples summary_wakes(const struct summary *summary)
{
	return summary->samples[SAMPLES_WAKE_TO_RUN].total ? SAMPLES_WAKE_TO_RUN : SAMPLES_RESUME;
}

/* The time in which it could have worked: frozen by an op it could not. */
uint64_t report_free_ns(const struct worker_report *report);
double report_iteration_rate(const struct worker_report *report); /* per second of wall time */
double report_work_rate(const struct worker_report *report);	  /* units per CPU second */

static inline uint64_t report_off_cpu_ns(const struct worker_report *report)
{
	return report->wall_time_ns > report->cpu_time_ns
		       ? report->wall_time_ns - report->cpu_time_ns
		       : 0;
}

#endif
