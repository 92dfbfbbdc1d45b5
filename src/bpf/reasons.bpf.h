/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long, and how often, the threads of a process waited for each reason: kept for the one a user
 * looks at, or for all that is watched.
 *
 * Most threads wait for a few reasons. Where all have theirs kept, a thread's account, which the
 * hooks have at hand, has a place for each, found by the reason's hash; the map is for those whose
 * place another one has.
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

/* Its place in the account; NULL: another reason has it. */
static __always_inline struct account_reason *reason_in(struct account *account,
							struct wire_wait_site site)
{
	__u32 word = *(const __u32 *)&site, hash = word * 0x9e3779b1;
	struct account_reason *reason = &account->reasons[hash >> (32 - ACCOUNT_REASON_BITS)];

	if (!reason->count)
		reason->site = site;
	return *(const __u32 *)&reason->site == word ? reason : NULL;
}

static __always_inline void reason_add(struct task_struct *task, struct account *account,
				       struct wire_wait_site site, __u64 spent_ns)
{
	struct account_reason *reason;

	if (!(reasons_all || reasons_pid) || is_skipped(account))
		return;
	reason = reasons_all ? reason_in(account, site) : NULL;
	if (reason) {
		reason->ns += spent_ns;
		reason->count++;
	} else {
		reason_count(task, account, &site, spent_ns);
	}
}

/* The thread ends, and its account with it: from the map its reasons are sent once more. */
static __attribute__((noinline, unused)) int reason_end(struct task_struct *task,
							const struct account *account)
{
	struct reason_key key = {};
	struct reason_total total = {};

	if (!task || !account)
		return 0;
	/* it is no longer in the process table, which knows its numbers in a pid namespace */
	key.tid = pid_namespace ? account->tid : task->pid;
	total.origin_ns = account->origin_ns;
	total.pid = pid_namespace ? account->pid : task->tgid;
	total.sent_ns = account->read_ns;
	for (__u32 i = 0; i < ACCOUNT_REASONS; i++) {
		const struct account_reason *reason = &account->reasons[i];

		if (!reason->count)
			continue;
		key.site = reason->site;
		total.ns = reason->ns;
		total.count = reason->count;
		reason_put(&key, &total);
	}
	return 0;
}

#endif
