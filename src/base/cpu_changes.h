/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether CPUs have been offline: a perf event of a CPU is taken from it then
 * (perf_event_exit_cpu()), stays open, and counts nothing any more when the CPU is back. It has to
 * be opened again.
 */
#ifndef DWELL_BASE_CPU_CHANGES_H
#define DWELL_BASE_CPU_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_changes {
	char online[512];      /* as the kernel lists them: "0-3,6" */
	uint64_t suspended_ns; /* so far */
	uint64_t looked_ns;    /* CLOCK_MONOTONIC */
};

/* From now on. To be called before the events are opened. */
void cpu_changes_begin(struct cpu_changes *changes);

/*
 * Whether there were some since it was asked before. It looks once a second; a CPU that is back
 * within one is not noticed, but the machine's suspension is, for which all CPUs but one go and
 * come while no process runs.
 */
bool cpu_changes_came(struct cpu_changes *changes);

#endif
