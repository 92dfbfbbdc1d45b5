/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long, and how often, the threads of a process waited for each reason: kept only for the one
 * a user looks at, because every reason of every thread would be too much for all.
 */
#ifndef DWELL_BPF_REASONS_BPF_H
#define DWELL_BPF_REASONS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/config.h"
#include "bpf/kernel_types.h"

/* All that is watched; else `reasons_pid`, 0 = none. */
const volatile bool reasons_all = false;
volatile __u32 reasons_pid = 0;
/* Reasons that found no room. */
volatile __u64 reasons_refused = 0;

/* With its memory from the start: nothing may be allocated under a run-queue lock. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_REASONS);
	__type(key, struct reason_key);
	__type(value, struct reason_total);
} reasons SEC(".maps");

/* A wait of `spent_ns` has ended. The lock of the thread's run queue keeps others out. */
static __attribute__((noinline)) void reason_count(struct task_struct *task,
						   const struct account *account,
						   const struct wire_wait_site *site,
						   __u64 spent_ns)
{
	struct reason_key key = {.site = *site};
	struct reason_total *total, first;

	if (!reasons_all && reasons_pid != pid_of(task))
		return;
	key.tid = tid_of(task);
	total = bpf_map_lookup_elem(&reasons, &key);
	if (total && total->origin_ns == account->origin_ns) {
		total->ns += spent_ns;
		total->count++;
		return;
	}
	first = (struct reason_total){
		.origin_ns = account->origin_ns, .ns = spent_ns, .count = 1, .pid = pid_of(task)};
	if (bpf_map_update_elem(&reasons, &key, &first, BPF_ANY))
		count(&reasons_refused);
}

static __always_inline void reason_add(struct task_struct *task, const struct account *account,
				       struct wire_wait_site site, __u64 spent_ns)
{
	if ((reasons_all || reasons_pid) && !is_skipped(account))
		reason_count(task, account, &site, spent_ns);
}

#endif
