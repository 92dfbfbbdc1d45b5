/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF programs of sched_ext schedulers (struct_ops of sched_ext_ops), and how often and how
 * long each ran, by the kernel's own count (BPF_STATS_RUN_TIME). Programs are kept open, so that
 * those of a scheduler that is replaced count up to its end.
 */
#ifndef DWELL_SCHEDULER_PROGRAMS_H
#define DWELL_SCHEDULER_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_NAME_BYTES 64

struct scheduler_program {
	char name[PROGRAM_NAME_BYTES]; /* of its function: "simple_enqueue" */
	uint32_t id;		       /* the kernel's */
	int fd;
	uint64_t calls, ns; /* since it was found; ns: in all calls together */
	uint64_t found_ns;  /* CLOCK_MONOTONIC; the same for all of a scheduler */
	uint64_t ran_ns;    /* when it was last read and had run since */
	uint64_t calls_before, ns_before;
};

struct scheduler_programs {
	struct scheduler_program *items; /* in the order in which the kernel loaded them */
	size_t count, room;
	const char *unknown; /* why nothing is known of them; NULL: it is */
	/* What the count costs, measured on a program that does nothing; 0: not known. All of it is
	 * paid by each call, and `floor_ns` of it is in `ns`. */
	double cost_ns, floor_ns;
	int stats_fd;	  /* the kernel counts until it is closed; -1: not yet */
	uint32_t type_id; /* of sched_ext_ops in the kernel's types; 0: not looked up yet */
};

#define SCHEDULER_PROGRAMS_INIT                                                                    \
	{                                                                                          \
		.stats_fd = -1                                                                     \
	}

/* Finds those that are loaded now, and lets the kernel count from the first one on. */
void scheduler_programs_find(struct scheduler_programs *programs);

/* How much they have run since they were found. */
void scheduler_programs_read(struct scheduler_programs *programs);

/* How long the scheduler of program `number` was seen at work: calls are per this. */
uint64_t scheduler_programs_length(const struct scheduler_programs *programs, size_t number);

/* The kernel counts no more; what was read stays. */
void scheduler_programs_stop(struct scheduler_programs *programs);
void scheduler_programs_release(struct scheduler_programs *programs);

#endif
