/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF program that runs on each CPU many times a second, in whatever the CPU runs then. */
#ifndef DWELL_CAPTURE_CPU_SAMPLES_H
#define DWELL_CAPTURE_CPU_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "capture/sink.h"

struct bpf_program;

/* All zeros: none. */
struct cpu_samples {
	struct cpu_sample {
		struct bpf_link *link; /* keeps `fd` open */
		int fd;
	} * items;
	size_t count, room;
	size_t next; /* to be varied */
	uint64_t period_ns;
};

/*
 * On each CPU that is online, `frequency` times a second. What the kernel refuses is reported as
 * missing. 0, -ENOMEM, or what the sink says. Release in either case.
 */
int cpu_samples_attach(struct cpu_samples *samples, struct bpf_program *program,
		       unsigned int frequency, struct record_sink sink) must_check;
/*
 * Some CPUs begin a new period, of a length by chance: a program that does the same things again
 * and again is not met at the same place each time. To be called some ten times a second.
 */
void cpu_samples_vary(struct cpu_samples *samples);
/* Of all, ns; `samples->period_ns` stays what they were attached with. */
void cpu_samples_set_period(const struct cpu_samples *samples, uint64_t period_ns);
void cpu_samples_release(struct cpu_samples *samples);

#endif
