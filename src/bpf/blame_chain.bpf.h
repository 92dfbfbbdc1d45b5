/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had a lock before the thread that handed it on: blame.bpf.h.
 *
 * Of each wait for a lock that a thread has ended it is kept who that was, and since when it had
 * the lock: since the end of its own wait for it. So these waits lead back from one that had a lock
 * to the one before, and what a thread has waited in a queue is owed to each in turn, for as long
 * as it had the lock. In programs with locks of their own on condition variables, each thread waits
 * at another word: there, a wait is taken to be for the same lock as the one before.
 */
#ifndef DWELL_BPF_BLAME_CHAIN_BPF_H
#define DWELL_BPF_BLAME_CHAIN_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/blame.bpf.h"
#include "bpf/blame_hands.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/sites.bpf.h"

#define BLAME_HOLDS 4  /* of one waiter */
#define BLAME_CHAIN 32 /* of one wait */
/* How long a thread that has the lock may have to wait for a CPU before it can hand it over. */
#define ANY_POLL_NS 500000000ULL

/* A thread that had a lock, and ended another's wait for it. */
struct blame_hold {
	__u64 since_ns; /* 0: it had not waited for it */
	__u64 delay_ns; /* as in struct blame_chain */
	__u64 until_ns;
	struct blame_key key; /* of the holder */
	__u32 holder;	      /* its number, as the kernel has it, */
	__u32 waiter;	      /* and that of who waited */
};

struct blame_holds {
	__u64 at; /* the last one, modulo BLAME_HOLDS */
	struct blame_hold holds[BLAME_HOLDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blame_holds);
} blame_holds __weak SEC(".maps");

static __always_inline struct blame_holds *blame_holds_of(__u32 waiter)
{
	__u32 slot = waiter & (BLAME_HOLD_SLOTS - 1);

	return bpf_map_lookup_elem(&blame_holds, &slot);
}

/* A file, say, has one number for all who wait for it: then that says what lock it is. */
static __always_inline bool is_of_own_kind(__u8 kind, __u32 lock)
{
	return kind == OWN_LOCKS_EVENTS || (kind != OWN_LOCKS_NONE && !(lock & 3));
}

/* Since when the thread of `holder` has had a lock; 0: it did not wait for it. */
static __always_inline __u64 blame_had_since(const struct blame *holder, __u32 lock, bool is_any,
					     __u64 *ret_delay_ns)
{
	*ret_delay_ns = 0;
	if (holder->polled && (is_any || is_same_lock(holder->polled_lock, lock))) {
		*ret_delay_ns = (__u64)holder->polled_delay << 16;
		return holder->waking_ns;
	}
	return is_any || is_same_lock(holder->handed.lock, lock) ? holder->handed.until_ns : 0;
}

/* As blame_by_hand(): whose wait for the lock ended just when the chain's does, and by whom. */
__weak __attribute__((noinline)) int blame_by_hold(struct blame *blame, struct blame_chain *chain,
						   const struct blame_holds *holds)
{
	const struct blame_hold *hold;
	__u64 since_ns;
	__u32 i = 0;

	if (!blame || !chain || !holds)
		return 0;
#pragma clang loop unroll(disable)
	for (; i < BLAME_HOLDS; i++)
		if (holds->holds[i].waiter == chain->holder &&
		    holds->holds[i].until_ns == chain->wait.to_ns)
			break;
	barrier_var(i);
	if (i >= BLAME_HOLDS)
		return 0;
	hold = &holds->holds[i];
	if (hold->since_ns >= hold->until_ns)
		return 0;
	since_ns = hold->since_ns > chain->wait.from_ns ? hold->since_ns : chain->wait.from_ns;
	chain->wait.key = hold->key;
	blame_range(blame, &chain->wait.key, since_ns, chain->wait.to_ns);
	chain->wait.to_ns = since_ns;
	chain->delay_ns = hold->delay_ns;
	chain->holder = hold->holder;
	return 1;
}

/*
 * The wait up to when chain->holder got the lock is owed to who had it before, and so on; what is
 * left after that stays in chain->wait. `hands`: of CPython, else NULL.
 */
static __always_inline void blame_back(struct blame *blame, struct blame_chain *chain,
				       const struct blame_hands *hands)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < BLAME_CHAIN && chain->wait.to_ns > chain->wait.from_ns; i++) {
		struct blame_holds *holds = blame_holds_of(chain->holder);
		int is_known = holds ? blame_by_hold(blame, chain, holds) : 0;

		if (!is_known && hands)
			is_known = blame_by_hand(blame, chain, hands);
		if (!is_known)
			break;
	}
}

/* What is left of the wait. */
__weak __attribute__((noinline)) int blame_rest(struct blame *blame, struct blame_chain *chain,
						__u8 kind)
{
	if (!blame || !chain || chain->wait.to_ns <= chain->wait.from_ns)
		return 0;
	chain->wait.key = (struct blame_key){.how = BLAME_HOW(WIRE_LOCK, kind), .count = 1};
	return blame_range(blame, &chain->wait.key, chain->wait.from_ns, chain->wait.to_ns);
}

/*
 * The current thread, that of wait.key, ends the wait of `task`: what has been charged of it is
 * owed to that one, and the largest part says what it did meanwhile.
 */
static __always_inline void blame_note_hold(struct task_struct *task, const struct blame *blame,
					    const struct blame_chain *chain, __u64 now_ns)
{
	const struct blame_key *key = &chain->wait.key;
	struct blame_holds *holds = blame_holds_of((__u32)task->pid);
	__u32 place = blame->handed.most - 1;
	const struct wire_culprit *most;
	struct blame_hold *hold;
	__u64 how = key->how;

	if (!holds)
		return;
	barrier_var(place);
	/* else it was next to nothing */
	if (place < BLAME_CULPRITS) {
		barrier_var(place);
		most = &blame->culprits[place];
		if (blame_who(most) == key->who)
			how = blame_how(most);
	}
	hold = &holds->holds[++holds->at & (BLAME_HOLDS - 1)];
	hold->until_ns = 0;
	hold->since_ns = chain->wait.to_ns;
	hold->delay_ns = chain->delay_ns;
	hold->key = *key;
	hold->key.how = how & ~BLAME_FLAG(WIRE_CULPRIT_EARLIER);
	hold->key.count = 1;
	hold->holder = chain->holder;
	hold->waiter = (__u32)task->pid;
	hold->until_ns = now_ns;
}

/*
 * The current thread, that of wait.key, ends the wait of `task` for a lock at now_ns. Charges what
 * of it is before wait.to_ns; after that it has been charged.
 */
static __noinline int blame_past_lock(struct task_struct *task, struct account *account,
				      struct blame_chain *chain, __u64 now_ns)
{
	struct task_struct *holder = bpf_get_current_task_btf();
	struct account *past = account_of(holder);
	struct blame *blame = blame_of(account);
	__u64 from_ns, since_ns = 0;

	if (!task || !account || !chain)
		return 0;
	from_ns = chain->wait.from_ns;
	if (past)
		since_ns = blame_had_since(blame_of(past), blame->lock,
					   is_of_own_kind(own_locks(task, account), blame->lock),
					   &chain->delay_ns);
	since_ns = turn_smaller(since_ns, chain->wait.to_ns);
	if (since_ns > from_ns)
		chain->wait.from_ns = since_ns;
	if (chain->wait.from_ns < chain->wait.to_ns) {
		if (past)
			blame_past(blame, &chain->wait, blame_of(past));
		else
			blame_site(blame, &chain->wait, 0, ~0ULL, chain->wait.from_ns);
	}
	chain->wait.from_ns = from_ns;
	chain->wait.to_ns = since_ns;
	chain->holder = (__u32)holder->pid;
	blame_note_hold(task, blame, chain, now_ns);
	blame->handed.until_ns = now_ns;
	blame->handed.lock = blame->lock;
	/* asked again: verifiers up to 6.1 have no room on the stack for what it was */
	blame_back(blame, chain,
		   own_locks(task, account) == OWN_LOCKS_PYTHON ? blame_hands_of(task) : NULL);
	blame_rest(blame, chain, WIRE_CULPRIT_UNKNOWN);
	return 0;
}

/* What the thread has waited in vain is owed to who had the lock, as far as that is known. */
__weak __attribute__((noinline)) int blame_charge_hands(struct blame *blame,
							const struct blame_hands *hands)
{
	struct blame_chain chain = {};

	if (!blame || !hands)
		return 0;
	chain.delay_ns = (__u64)blame->polled_delay << 16;
	chain.wait.to_ns = blame->waking_ns;
	chain.wait.from_ns = chain.wait.to_ns - ((__u64)blame->polled << 10);
	blame_back(blame, &chain, hands);
	if (chain.wait.to_ns == blame->waking_ns)
		return 0;
	blame->polled = 0;
	blame->handed.gaps = 0;
	blame->handed.until_ns = blame->waking_ns;
	blame->handed.lock = blame->polled_lock;
	blame_rest(blame, &chain, WIRE_CULPRIT_TIMER);
	return 0;
}

/* The current thread, which is about to leave its CPU, begins to wait; for a lock, or not. */
static __noinline int blame_hands_begin(struct task_struct *task, struct account *account,
					bool for_lock, __u64 now_ns)
{
	struct blame *blame = blame_of(account);
	struct blame_hands *hands;

	/* of a thread beside the targets, not all waits have been seen */
	if (is_skipped(account) || own_locks(task, account) != OWN_LOCKS_PYTHON)
		return 0;
	hands = blame_hands_of(task);
	if (!hands)
		return 0;
	if (for_lock && hands->polled_ns >= blame->waking_ns &&
	    (is_recent(hands->polled_ns, HAND_OVER_NS, now_ns) ||
	     is_recent(account->live.since_ns, HAND_OVER_NS, now_ns)))
		blame_add_hand(hands, task, blame, now_ns - account->live.since_ns, now_ns);
	if (blame->polled && is_same_lock(blame->polled_lock, hands->lock)) {
		blame_begin(account, now_ns);
		blame_charge_hands(blame, hands);
	}
	return 0;
}

/* The same, where it may matter. */
static __always_inline void blame_wait_begins(struct task_struct *task, struct account *account,
					      bool for_lock, __u64 now_ns)
{
	if (blame_of(account)->polled ||
	    (for_lock && is_recent(blame_polled_ns, ANY_POLL_NS, now_ns)))
		blame_hands_begin(task, account, for_lock, now_ns);
}

/*
 * The current thread, which has had its CPU for run_ns, ends the wait of `task` for a lock: if that
 * is the interpreter's, it hands it over.
 */
static __noinline int blame_hands_wake(struct task_struct *task, struct account *account,
				       __u64 run_ns, __u64 now_ns)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct account *past = account_of(waker);
	struct blame_hands *hands;

	if (!task || !account || !past || is_skipped(account) || waker->tgid != task->tgid ||
	    own_locks(task, account) != OWN_LOCKS_PYTHON)
		return 0;
	hands = blame_hands_of(task);
	if (hands && is_same_lock(hands->lock, blame_of(account)->lock))
		blame_add_hand(hands, waker, blame_of(past), run_ns, now_ns);
	return 0;
}

#endif
