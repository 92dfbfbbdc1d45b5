// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Floors for `dwell load`: `bench-spin SECONDS` is the body of a unit of work in a bare loop, and
 * prints units per CPU second. As a shared object, work for `custom`: what a look at the clock
 * costs, and full reservoirs.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dwell/work.h"

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

dwell_work_function looks, samples;

/* The reports say CPU time: a million looks of one worker. */
int looks(struct dwell_work *work)
{
	while (!work->stopping(work) && work->iterations < 1000000) {
		work->iterations++;
		work->progress(work);
	}
	return 0;
}

int samples(struct dwell_work *work)
{
	for (uint64_t i = 0; i < 100000 && !work->stopping(work); i++) {
		work->wait_sample(work, i);
		work->wake_sample(work, i);
		work->cost_sample(work, i);
	}
	work->work_units = work->iterations = 1;
	while (!work->stopping(work))
		work->sleep_ns(work, 100000000);
	return 0;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t begin_ns = now_ns(CLOCK_MONOTONIC), cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	static volatile uint64_t units;

	while ((double)(now_ns(CLOCK_MONOTONIC) - begin_ns) < seconds * 1e9)
		/* long enough for the clock not to count */
		for (int i = 0; i < 1024 * 64; i++) {
			units++;
			relax();
			__asm__ volatile("" ::: "memory");
		}
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	printf("%.0f\n", (double)units / ((double)cpu_ns / 1e9));
	return 0;
}
