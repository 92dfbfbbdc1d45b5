/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel functions that show why an uninterruptible thread waits, found in /proc/kallsyms. */
#ifndef DWELL_CAPTURE_KERNEL_WAITS_H
#define DWELL_CAPTURE_KERNEL_WAITS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "bpf/config.h"

/*
 * Fills the table, sorted. Returns how many functions were found; 0 if the kernel hides its
 * addresses (kptr_restrict, no CAP_SYSLOG): then dwell cannot distinguish page faults and kernel
 * locks. Negative errno if the file cannot be read; the table is then still valid, and empty.
 */
int kernel_waits_load(struct wait_function table[WAIT_FUNCTIONS], const char *kallsyms,
		      struct error *error) must_check;

/* What a thread waits for in the kernel function `name`; false: it does not say. */
bool kernel_waits_find(const char *name, __u8 *ret_state, __u8 *ret_detail);

/*
 * The same of /proc/kallsyms, by a thread: the kernel takes 0.1 s to write it, in which the caller
 * has its programs verified. Begun once; what has begun is ended, also more than once.
 */
struct kernel_waits_search {
	struct wait_function table[WAIT_FUNCTIONS]; /* valid after the end */
	int found;				    /* what kernel_waits_load() returned */
	bool has_thread;
	pthread_t thread;
};

void kernel_waits_begin(struct kernel_waits_search *search);
int kernel_waits_end(struct kernel_waits_search *search);

#endif
