/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long, and how often, the threads of a process waited for each reason: kept only for the one
 * a user looks at, because every reason of every thread would be too much for all.
 *
 * Most threads wait for one reason. Where all that is watched has its reasons kept, the first of a
 * thread is in its account, which the hooks have at hand; the map is for the others.
 */
#ifndef DWELL_BPF_REASONS_BPF_H
#define DWELL_BPF_REASONS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/config.h"
#include "bpf/kernel_types.h"

/* All that is watched; else `reasons_pid`, 0 = none. */
const volatile bool reasons_all __weak = false;
volatile __u32 reasons_pid __weak = 0;
/* Reasons that found no room; entries there were in the map, ever. */
volatile __u64 reasons_refused __weak = 0;
volatile __u64 reasons_kept __weak = 0;

/* With its memory from the start: nothing may be allocated under a run-queue lock. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_REASONS);
	__type(key, struct reason_key);
	__type(value, struct reason_total);
} reasons __weak SEC(".maps");

static __always_inline void reason_put(const struct reason_key *key,
				       const struct reason_total *total)
{
	count(bpf_map_update_elem(&reasons, key, total, BPF_ANY) ? &reasons_refused
								 : &reasons_kept);
}

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
	reason_put(&key, &first);
}

/* Whether it is the first reason of the thread. */
static __always_inline bool reason_is_first(struct account *account, struct wire_wait_site site)
{
	if (!account->reason_count)
		account->reason = site;
	return *(const __u32 *)&account->reason == *(const __u32 *)&site;
}

static __always_inline void reason_add(struct task_struct *task, struct account *account,
				       struct wire_wait_site site, __u64 spent_ns)
{
	if (!(reasons_all || reasons_pid) || is_skipped(account))
		return;
	if (reasons_all && reason_is_first(account, site)) {
		account->reason_ns += spent_ns;
		account->reason_count++;
	} else {
		reason_count(task, account, &site, spent_ns);
	}
}

/* The thread ends, and its account with it: from the map its reasons are sent once more. */
static __attribute__((noinline, unused)) int reason_end(struct task_struct *task,
							const struct account *account)
{
	struct reason_key key;
	struct reason_total total;

	if (!task || !account || !account->reason_count)
		return 0;
	key = (struct reason_key){.tid = tid_of(task), .site = account->reason};
	total = (struct reason_total){.origin_ns = account->origin_ns,
				      .ns = account->reason_ns,
				      .count = account->reason_count,
				      .pid = pid_of(task),
				      .sent_ns = account->read_ns};
	reason_put(&key, &total);
	return 0;
}

#endif
