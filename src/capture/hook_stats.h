/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long dwell's hooks in the kernel take, by the kernel's own count. */
#ifndef DWELL_CAPTURE_HOOK_STATS_H
#define DWELL_CAPTURE_HOOK_STATS_H

#include <stdint.h>

struct bpf_object;

struct hook_stats {
	uint64_t runs, ns; /* without what calls them: some 50 ns each */
};

/* The kernel counts until the descriptor is closed, at some ns a run; or a negative errno. */
int hook_stats_begin(void);

/* Adds what the scheduler's hooks among the object's programs have taken so far. */
void hook_stats_add(struct hook_stats *stats, const struct bpf_object *object);

#endif
