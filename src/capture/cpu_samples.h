/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF program that runs on each CPU many times a second, in whatever the CPU runs then. */
#ifndef DWELL_CAPTURE_CPU_SAMPLES_H
#define DWELL_CAPTURE_CPU_SAMPLES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu_changes.h"
#include "capture/sink.h"

struct bpf_program;

/* All zeros: none. */
struct cpu_samples {
	struct cpu_sample {
		struct bpf_link *link; /* keeps `fd` open */
		int fd;
		uint64_t since_ns; /* its period is of that length; CLOCK_MONOTONIC */
	} * items;
	size_t count, room;
	size_t next; /* to be varied */
	struct bpf_program *program;
	uint64_t period_ns; /* as they were attached */
	uint64_t now_ns;    /* their period now */
	struct cpu_changes changes;
	pthread_mutex_t mutex; /* of `now_ns`, and of `items` where they change */
};

/*
 * On each CPU that is online, `frequency` times a second. What the kernel refuses is reported as
 * missing. 0, -ENOMEM, or what the sink says. Release in either case.
 */
int cpu_samples_attach(struct cpu_samples *samples, struct bpf_program *program,
		       unsigned int frequency, struct record_sink sink) must_check;
/*
 * CPUs that have come since, or come back, are sampled, too. To be called some times a second by
 * the thread that has attached them.
 */
void cpu_samples_follow(struct cpu_samples *samples);
/*
 * Some CPUs begin a new period, of a length by chance: a program that does the same things again
 * and again is not met at the same place each time. To be called some ten times a second.
 */
void cpu_samples_vary(struct cpu_samples *samples);
/*
 * Of a period that is changed each `window_ns`, the next length; `drawn` from 0 to 1. What has
 * passed of the one before is lost, half a period on average: so that there are as many samples as
 * without a change, others are shorter by as much.
 */
uint64_t cpu_samples_varied_ns(uint64_t period_ns, uint64_t window_ns, double drawn);
/*
 * Of all, ns; `samples->period_ns` stays what they were attached with. Any thread may change it.
 */
void cpu_samples_set_period(struct cpu_samples *samples, uint64_t period_ns);
void cpu_samples_release(struct cpu_samples *samples);

#endif
