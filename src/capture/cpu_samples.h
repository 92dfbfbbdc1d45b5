/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF program that runs on each CPU many times a second, in whatever the CPU runs then. */
#ifndef DWELL_CAPTURE_CPU_SAMPLES_H
#define DWELL_CAPTURE_CPU_SAMPLES_H

#include "capture/sink.h"

struct bpf_link;
struct bpf_program;

/*
 * On each CPU that is online, `frequency` times a second. `keep` takes each link, also on failure.
 * What the kernel refuses is reported as missing. 0, -ENOMEM, or what `keep` or the sink say.
 */
int cpu_samples_attach(struct bpf_program *program, unsigned int frequency,
		       int (*keep)(void *data, struct bpf_link *link), void *data,
		       struct record_sink sink) must_check;

#endif
