/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker reports of itself when it stops: the bytes that go through its report pipe. Both
 * ends are the same program, so the structure is sent as it lies in memory; still, a worker may be
 * cut short or overwritten by what it ran, so nothing is believed before report_check().
 */
#ifndef DWELL_LOAD_REPORT_H
#define DWELL_LOAD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/cpus.h"

#define REPORT_MIGRATIONS 1024 /* kept; all are counted */
#define REPORT_NODES	  64
#define REPORT_TEXT	  160

/* Streams of samples; the values lie in the worker's part of the shared memory. */
enum report_samples {
	SAMPLES_RESUME,	     /* ns across a blocking call */
	SAMPLES_WAKE_TO_RUN, /* ns from the waker's time stamp to the wakee's first instruction */
	SAMPLES_COST,	     /* ns of wall time of an iteration */
	SAMPLES_STREAMS,
};

struct report_migration {
	uint64_t at_ns; /* since the start of the work */
	uint32_t from_cpu, to_cpu;
};

struct worker_report {
	uint64_t magic;
	uint32_t bytes; /* of everything: this and the migrations behind it */
	uint32_t tid;
	uint64_t work_units;
	uint64_t iterations;
	uint64_t began_ns;    /* CLOCK_MONOTONIC */
	uint64_t late_ns;     /* after that it waited for a CPU first, and then its work began */
	uint64_t cpu_time_ns; /* CLOCK_THREAD_CPUTIME_ID, over the work */
	/* from the end of its setup to the end of its loop, and what it was frozen before that */
	uint64_t wall_time_ns;
	uint64_t paused_ns; /* of it frozen by an op, so no fault */
	uint64_t migration_count;
	uint64_t looks;	     /* at the clock: without any, gaps and migrations are not known */
	uint64_t max_gap_ns; /* between two looks at the clock; without what it asked to sleep */
	uint64_t max_gap_at_ns;
	uint32_t max_gap_cpu; /* where it ran before the gap */
	uint32_t migrations_kept;
	uint64_t sample_totals[SAMPLES_STREAMS];
	uint64_t schedstat[3];	      /* ns on a CPU, ns waiting for one, times it got one */
	uint64_t schedstat_before[3]; /* when its work began */
	uint64_t numa_pages[REPORT_NODES];
	uint64_t alarms; /* SIGUSR2s sent to the scheduler */
	uint64_t program_user_ns, program_system_ns, program_rss_bytes; /* exec */
	uint8_t schedstat_measured;
	uint8_t numa_measured;
	uint8_t program_ended; /* exec: by itself, before the stop */
	uint8_t pad;
	int32_t program_status; /* exec: as of waitpid(2); -1: no program */
	struct cpus cpus_used;
	/* "" = none; the work went on all the same, but for work_error */
	char affinity_error[REPORT_TEXT];
	char policy_error[REPORT_TEXT];
	char memory_policy_error[REPORT_TEXT];
	char nice_error[REPORT_TEXT];
	char work_error[REPORT_TEXT]; /* what the type could not do */
	char note[REPORT_TEXT];	      /* it works, but this is not as its type says */
};

#define REPORT_MAGIC 0x317472706c6c7764ULL
#define REPORT_BYTES_MAX                                                                           \
	(sizeof(struct worker_report) + REPORT_MIGRATIONS * sizeof(struct report_migration))

/*
 * Whether `length` bytes are a whole report: 1 yes, 0 not yet, -EBADMSG if they never will be. What
 * is said of a whole one holds afterwards: counts within bounds, strings ended.
 */
int report_check(const void *bytes, size_t length) must_check;

#endif
