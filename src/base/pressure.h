/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What others did to this process and its children meanwhile: the CPU time that they took, and the
 * hypervisor. What has not run may have been kept from it by them, and then says nothing about a
 * scheduler.
 */
#ifndef DWELL_BASE_PRESSURE_H
#define DWELL_BASE_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine_time.h"

/* At an instant. */
struct pressure_mark {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	bool measured;
	struct machine_time machine;
	struct machine_time *cpus; /* by number; NULL: not known; owned */
	unsigned int cpu_count;
	uint64_t own_ns;    /* CPU time of this process, and of all its children that have ended */
	uint64_t beside_ns; /* of a process that counts as ours, and is no child of it */
	/* in which a task waited for a CPU; /proc/pressure/cpu, "some":
	 * Documentation/accounting/psi.rst */
	bool has_waiting;
	uint64_t waiting_ns;
	uint64_t throttled_ns; /* by a limit around all of them */
};

/* Between two of them. */
struct pressure {
	bool measured;
	uint64_t elapsed_ns;
	uint64_t cpu_ns;  /* of all CPUs that were on: elapsed time, for each */
	uint64_t busy_ns; /* all of them: own, of others and stolen */
	uint64_t own_ns, others_ns, stolen_ns; /* own: also `beside_ns` */
	bool has_waiting;
	uint64_t waiting_ns;
	/* of all CPUs together, as cpu.stat counts it */
	uint64_t throttled_ns;
};

/* `cpu_count`: the highest number of a CPU, + 1; 0: none is wanted by itself. */
void pressure_mark(struct pressure_mark *mark, unsigned int cpu_count, uint64_t beside_ns,
		   uint64_t throttled_ns);
void pressure_mark_release(struct pressure_mark *mark);

/* To be taken after the children have been reaped. In steps of 10 ms. */
void pressure_between(struct pressure *pressure, const struct pressure_mark *before,
		      const struct pressure_mark *after);

/*
 * Busy time of a CPU between the two, of whomever, with what was stolen; 0 where that is not known.
 */
uint64_t pressure_busy_ns(const struct pressure_mark *before, const struct pressure_mark *after,
			  unsigned int cpu);

/* CPU time that was not ours to use; 0 where that is not known. */
static inline uint64_t pressure_taken_ns(const struct pressure *pressure)
{
	return pressure->measured ? pressure->others_ns + pressure->stolen_ns : 0;
}

/* The same as a share of all CPUs' time. */
static inline double pressure_taken(const struct pressure *pressure)
{
	return pressure->cpu_ns ? (double)pressure_taken_ns(pressure) / (double)pressure->cpu_ns
				: 0;
}

/*
 * Of what this many CPUs (or all, if these are fewer) could have had, the share that others left
 * too little for; 0 where there was enough beside them.
 */
double pressure_lacked(const struct pressure *pressure, unsigned int wanted);

#endif
