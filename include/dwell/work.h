/* SPDX-License-Identifier: MIT */
/*
 * Work of your own for `dwell load`: a shared object with a function of this type.
 *
 *     #include <dwell/work.h>
 *
 *     int dwell_work(struct dwell_work *work)
 *     {
 *             while (!work->stopping(work)) {
 *                     ... some work ...
 *                     work->work_units++;
 *                     work->iterations++;
 *                     work->progress(work);
 *             }
 *             return 0;
 *     }
 *
 *     cc -shared -fPIC -o mine.so mine.c
 *     dwell load --work custom:library=./mine.so --workers 4
 *
 * It runs in a process of its own (or a thread: `--mode thread`), in its cgroup, with its affinity,
 * policy and nice value, and takes over from there: the report has what the function counts and
 * samples, and nothing else. dwell-work(3) has the whole story. The layout only grows at its end.
 */
#ifndef DWELL_WORK_H
#define DWELL_WORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DWELL_WORK_VERSION 1

struct dwell_work {
	uint32_t version; /* DWELL_WORK_VERSION of the program that calls */
	uint32_t index;	  /* of this worker among all of the run, from 0 */
	uint64_t seed;	  /* for random choices: another for each worker, the same in each run */
	const char *argument; /* of the spec: custom:argument=...; "" if there is none */

	/* yours: count as you go */
	uint64_t work_units;
	uint64_t iterations;

	/* Whether to return. Look at least every 100 ms; blocking calls get EINTR when it is time.
	 */
	int (*stopping)(struct dwell_work *work);
	/*
	 * Publishes the two counts, and looks at the clock and the CPU: migrations, and the longest
	 * time without progress, are known from that.
	 */
	void (*progress)(struct dwell_work *work);
	/* Sleeps; the time does not count as being stuck. 0, or -1 when it is time to stop. */
	int (*sleep_ns)(struct dwell_work *work, uint64_t ns);
	/* Samples, in ns: of a wait, from a wakeup to the first instruction after, of an iteration.
	 */
	void (*wait_sample)(struct dwell_work *work, uint64_t ns);
	void (*wake_sample)(struct dwell_work *work, uint64_t ns);
	void (*cost_sample)(struct dwell_work *work, uint64_t ns);
	/* A line for the report: the run fails by it. Return then. */
	void (*fail)(struct dwell_work *work, const char *message);

	void *dwell; /* the caller's own */
};

/* 0, or a number that goes into the report: the run fails by it. */
typedef int dwell_work_function(struct dwell_work *work);

#ifdef __cplusplus
}
#endif

#endif
