/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPU time of a process by thread, since the beginning. */
#ifndef DWELL_MODEL_PROCESS_CPU_H
#define DWELL_MODEL_PROCESS_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/identities.h"
#include "model/interval.h"

struct thread_cpu {
	uint64_t ns;
	char comm[17]; /* any bytes but NUL */
};

/* All zeros is empty. */
struct process_cpu {
	struct identities keys;
	struct thread_cpu *items; /* by number in `keys` */
	size_t room;
	uint64_t all_ns; /* also of those that found no place, as too many have come and gone */
};

void process_cpu_add(struct process_cpu *cpu, const struct row *row);
void process_cpu_release(struct process_cpu *cpu);

#endif
