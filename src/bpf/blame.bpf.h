/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose fault a wait was. A thread that was ready owes its wait to what ran on its CPU instead:
 * each CPU keeps its last runs (blame_runs.bpf.h). One that was blocked owes it to the thread that
 * ended the wait, and to what that one did meanwhile: each account keeps what its thread did of
 * late. Threads that are no targets have accounts for that alone (filter.bpf.h).
 *
 * Shares are those of an interval. The first hook that charges a thread after a snapshot's instant
 * sends what there is, if the reader has not come yet, and starts from zero.
 */
#ifndef DWELL_BPF_BLAME_BPF_H
#define DWELL_BPF_BLAME_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/blame_runs.bpf.h"
#include "bpf/blame_shares.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/wire.h"

/* A culprit of WIRE_SESSION_CAUSED. */
static __always_inline __u32 blame_target_flag(struct task_struct *task)
{
	const struct account *account;

	if (!watch_beside || skip_beside)
		return 0;
	account = account_of(task);
	return account && !account->is_beside ? WIRE_CULPRIT_TARGET : 0;
}

/* Threads beyond our pid namespace have no pid, and a tid that is not for people. */
static __always_inline void blame_identify(struct task_struct *task, __u64 *who, __u32 *ret_pid)
{
	__u32 tid = task->pid, pid = task->tgid;

	if (pid_namespace) {
		const struct account *account = account_of(task);

		pid = account ? account->pid : 0;
		if (account)
			tid = account->tid;
	}
	*who = BLAME_WHO(tid, task->start_boottime >> 20);
	*ret_pid = pid;
}

/* A wait that `key`, a thread, has ended; it is charged from its end on, by what that did. */
struct blame_wait {
	struct blame_key key;
	__u64 from_ns, to_ns;
};

/* The beginning of a wait for a lock that `holder` has had since wait.to_ns. */
struct blame_chain {
	struct blame_wait wait;
	__u64 delay_ns; /* it had asked for the lock, and needed a CPU for so long before it got it
			 */
	__u32 holder;	/* its number, as the kernel has it; 0: not known */
	__u32 pad;
};

/* As blame_range(), of a wait: which part is the largest matters where it was for a lock. */
static __always_inline int blame_part(struct blame *blame, struct blame_key *key, __u64 from_ns,
				      __u64 to_ns)
{
	int place = blame_range(blame, key, from_ns, to_ns);
	__u32 length = (__u32)((to_ns - from_ns) >> 10);

	if (length >= blame->most) {
		blame->most = length;
		blame->handed.most = (__u8)place;
	}
	return place;
}

/* `ns` at a site (0: not known), but not beyond from_ns. */
static __always_inline void blame_site(struct blame *blame, struct blame_wait *wait, __u32 site,
				       __u64 ns, __u64 from_ns)
{
	ns = turn_smaller(ns, wait->to_ns - from_ns);
	wait->key.how &= BLAME_HOW(0xff, 0xff) | BLAME_FLAG(WIRE_CULPRIT_TARGET);
	if (site)
		wait->key.how |= site | BLAME_FLAG(WIRE_CULPRIT_MEANWHILE);
	if (ns)
		blame_part(blame, &wait->key, wait->to_ns - ns, wait->to_ns);
	wait->to_ns -= ns;
}

/* As span_part(), of all parts. */
struct blame_parts {
	__u64 ns[2 + BLAME_SITES];
};

/*
 * Of a span of `length_ns` part_ns, in proportion. By itself, as the verifier would go through what
 * comes after it once for each way through it: that took it a fifth of a second.
 */
__weak __attribute__((noinline)) int blame_divide(struct blame_parts *parts,
						  const struct blame_span *span, __u64 part_ns,
						  __u64 length_ns)
{
	if (!parts || !span)
		return 0;
	for (int i = 0; i < 2 + BLAME_SITES; i++) {
		__u64 ns = span_part(span, i, length_ns);

		parts->ns[i] = part_ns < length_ns && ns ? turn_before(ns, part_ns, length_ns) : ns;
	}
	return 0;
}

/* What the culprit did in a span of `length_ns`, of which the wait has part_ns: in proportion. */
__weak __attribute__((noinline)) int blame_span(struct blame *blame, struct blame_wait *wait,
						const struct blame_span *span, __u64 part_ns,
						__u64 length_ns)
{
	struct blame_parts parts = {};
	__u64 from_ns;

	if (!blame || !wait || !span)
		return 0;
	from_ns = wait->to_ns - part_ns;
	blame_divide(&parts, span, part_ns, length_ns);
	if (parts.ns[2])
		blame_site(blame, wait, span->site[0], parts.ns[2], from_ns);
	if (parts.ns[3])
		blame_site(blame, wait, span->site[1], parts.ns[3], from_ns);
	if (parts.ns[1])
		blame_site(blame, wait, BLAME_RUNNABLE, parts.ns[1], from_ns);
	/* with what of the proportions was rounded */
	blame_site(blame, wait, parts.ns[0] ? BLAME_ON_CPU : span->site[0] ?: BLAME_RUNNABLE, ~0ULL,
		   from_ns);
	return 0;
}

/* The spans before wait->to_ns, of one ring; true: there may be more. */
static __always_inline bool blame_spans(struct blame *blame, struct blame_wait *wait,
					const struct blame_span *spans, __u32 at)
{
	for (__u32 i = 0; i < BLAME_SPANS; i++, at--) {
		const struct blame_span *span = &spans[at & (BLAME_SPANS - 1)];
		__u64 begin_ns = span->begin_ns, end_ns = wait->to_ns;

		if (!begin_ns || begin_ns >= end_ns)
			return true;
		if (begin_ns <= wait->from_ns) {
			blame_span(blame, wait, span, end_ns - wait->from_ns, end_ns - begin_ns);
			return false;
		}
		blame_span(blame, wait, span, end_ns - begin_ns, end_ns - begin_ns);
		wait->to_ns = begin_ns;
		/* what it did at other times, too, is one wait */
		wait->key.count = 0;
	}
	return true;
}

/*
 * The rest of a wait that the thread of `waker` has ended, before it got its CPU. What is longer
 * ago than its spans reach is not known.
 */
__weak __attribute__((noinline)) int blame_past(struct blame *blame, struct blame_wait *wait,
						const struct blame *waker)
{
	if (!blame || !wait || !waker)
		return 0;
	if (blame_spans(blame, wait, waker->recent, waker->recent_at) &&
	    blame_spans(blame, wait, waker->older, waker->older_at))
		blame_site(blame, wait, 0, ~0ULL, wait->from_ns);
	return 0;
}

/* Of two lock_number()s. A condition variable's waiters take turns at two words: that is one. */
static __always_inline bool is_same_lock(__u32 a, __u32 b)
{
	return a == b || (a >> 3 == b >> 3 && a >> 3);
}

/*
 * A thread may wait for a lock by calls that end after a while, to look whether it still has to:
 * CPython's every 5 ms, HotSpot's and MySQL's less often. The timer is not to blame, but who ends
 * the last of them, for all. They are one wait if they are made at one place of the stack and for
 * one lock, one after the other; in between the thread may have had to wait for a CPU, but not for
 * longer than half of what it waited for the lock. What nothing else has ended after so long is the
 * timer's.
 */
#define POLLS_GAP_NS 50000000ULL
#define POLLS_MAX_NS 2000000000ULL

/* Such waits, up to ended_ns, become a part of this one, at `place`, or are the timer's. */
__weak __attribute__((noinline)) int blame_polls(struct blame *blame, struct blame_wait *wait,
						 __u32 place, __u64 ended_ns)
{
	struct blame_key key = {.how = BLAME_HOW(WIRE_LOCK, WIRE_CULPRIT_TIMER), .count = 1};
	__u64 polled_ns, gap_ns, gaps_ns;

	if (!blame || !wait)
		return 0;
	polled_ns = (__u64)blame->polled << 10;
	gap_ns = wait->from_ns - ended_ns;
	gaps_ns = ((__u64)blame->handed.gaps << 16) + gap_ns;
	blame->polled = 0;
	if (place && place == blame->polled_from && gap_ns < POLLS_GAP_NS &&
	    2 * gaps_ns <= polled_ns + wait->to_ns - wait->from_ns) {
		wait->from_ns -= polled_ns;
		blame->handed.gaps = (__u16)(gaps_ns >> 16);
	} else {
		blame_range(blame, &key, ended_ns - polled_ns, ended_ns);
		blame->handed.gaps = 0;
	}
	return 0;
}

#endif
