/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that are frozen in the middle of a wait: by the freezer of cgroups v1, and while the
 * machine is suspended (6.1 on, commit f5d39b020809). Only their scheduler state changes, and no
 * hook is called, so the iterator looks for it at each snapshot.
 *
 * Between two snapshots that find a thread frozen in the same wait it was stopped. Between one that
 * finds it frozen and one that does not, it is not known for how long. The iterator cannot write
 * totals, which are the hooks': what it moves from one state to another it keeps here.
 */
#ifndef DWELL_BPF_FREEZER_BPF_H
#define DWELL_BPF_FREEZER_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/wire.h"

struct freeze {
	__u64 since_ns; /* the snapshot that first found it frozen, in its last wait of the kind */
	__u64 seen_ns;	/* the one that last found it so; 0: the last one did not */
	__u64 wait_ns;	/* of the wait that since_ns lies in: how much has been moved */
	__s64 moved_ns[WIRE_STATES]; /* to add to the totals; their sum is 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct freeze);
} freezes __weak SEC(".maps");

static __always_inline struct freeze *freeze_of(struct task_struct *task)
{
	return bpf_task_storage_get(&freezes, task, NULL, 0);
}

/*
 * What the thread waited in when it was frozen, to which it will return; 0: it is not frozen, or
 * will be woken when it is thawed, as before 6.7 (commit 8f0eed4a78a8).
 */
static __always_inline unsigned int freeze_saved_state(const struct task_struct *task)
{
	const struct task_struct___saved_state *saving = (const void *)task;

	if (!(task->__state & TASK_FROZEN) || !bpf_core_field_exists(saving->saved_state))
		return 0;
	return BPF_CORE_READ(saving, saved_state);
}

static __always_inline void freeze_apply(const struct freeze *freeze, struct wire_totals *totals)
{
	for (int state = 0; state < WIRE_STATES; state++)
		totals->ns[state] += (__u64)freeze->moved_ns[state];
}

/*
 * In the iterator: `record` is what the account says of the snapshot; `before_ns` is the instant of
 * the snapshot that read it last.
 */
static __attribute__((noinline, unused)) int freeze_look(struct task_struct *task,
							 struct account *account,
							 struct wire_thread *record,
							 __u64 before_ns)
{
	bool is_frozen;
	struct freeze *freeze;
	__u64 from_ns;
	__u32 from, to = WIRE_UNKNOWN;

	if (!task || !account || !record)
		return 0;
	is_frozen = task->__state & TASK_FROZEN;
	from = record->site.state;
	barrier_var(from);
	if (from >= WIRE_STATES)
		return 0;
	/* frozen, but not while it waited: a switch has said so, or comes after the instant */
	is_frozen = is_frozen && from > WIRE_RUNNABLE && from != WIRE_STOPPED;
	freeze = bpf_task_storage_get(&freezes, task, NULL,
				      is_frozen ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	if (!freeze)
		return 0;
	account->was_frozen = 1;
	from_ns = freeze->seen_ns;
	if (from_ns && record->since_ns <= from_ns) {
		to = is_frozen ? WIRE_STOPPED : WIRE_UNKNOWN;
	} else if (is_frozen) {
		from_ns = record->since_ns > before_ns ? record->since_ns : before_ns;
		freeze->since_ns = record->end_ns;
		freeze->wait_ns = 0;
	} else {
		from_ns = record->end_ns;
	}
	freeze->moved_ns[from] -= (__s64)(record->end_ns - from_ns);
	freeze->moved_ns[to] += (__s64)(record->end_ns - from_ns);
	freeze->wait_ns += record->end_ns - from_ns;
	freeze->seen_ns = is_frozen ? record->end_ns : 0;
	freeze_apply(freeze, &record->totals);
	if (is_frozen) {
		record->site = wait_site(WIRE_STOPPED, WIRE_DETAIL_FREEZER, WIRE_SYSCALL_NONE);
		record->since_ns = freeze->since_ns;
	}
	return 0;
}

/* A thread that just got its account, and is frozen since before that. */
static __attribute__((noinline, unused)) int freeze_seed(struct task_struct *task,
							 struct account *account)
{
	struct freeze *freeze;

	if (!task || !account || account->live.site.state <= WIRE_RUNNABLE)
		return 0;
	freeze = bpf_task_storage_get(&freezes, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!freeze)
		return 0;
	freeze->since_ns = freeze->seen_ns = account->live.since_ns;
	account->was_frozen = 1;
	return 0;
}

/*
 * A wait, from `since_ns` on, in `state`, has ended for a thread that was frozen at some time.
 * Returns how much of it was not spent in that state, or may not have been.
 */
static __attribute__((noinline, unused)) __u64
freeze_end_wait(struct task_struct *task, struct account *account, __u32 state, __u64 since_ns)
{
	__u64 instant_ns = snapshot_ns, now_ns, from_ns;
	struct freeze *freeze;

	if (!task || !account)
		return 0;
	freeze = freeze_of(task);
	if (!freeze || freeze->since_ns < since_ns)
		return 0;
	from_ns = freeze->seen_ns;
	if (!from_ns)
		return freeze->wait_ns;
	now_ns = account->live.since_ns; /* account_enter() */
	since_ns = from_ns;
	/* up to the snapshot's instant the iterator moves it, or has done so */
	if (now_ns >= instant_ns && from_ns < instant_ns)
		from_ns = instant_ns;
	barrier_var(state);
	if (state >= WIRE_STATES || now_ns < from_ns)
		return freeze->wait_ns;
	account->live.totals.ns[state] -= now_ns - from_ns;
	account->live.totals.ns[WIRE_UNKNOWN] += now_ns - from_ns;
	return freeze->wait_ns + (now_ns - since_ns);
}

#endif
