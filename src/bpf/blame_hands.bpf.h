/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had a lock for which a thread has waited in vain, until a timer ended its wait: blame.bpf.h.
 *
 * CPython's threads ask for the interpreter lock that way. After 5 ms the one that waits asks, and
 * the one that computes hands the lock over before the other begins its next wait: nothing ends
 * that wait but the timer. It shows in what the one that computed does then: it waits for the same
 * lock at once. Each such hand-over is kept for a while. A thread owes what it has waited to those
 * whose hand-overs lead up to the end of its wait, if it then computes and waits for a lock when a
 * timer has ended another one's wait for this one, or if it ends another one's wait for it. Else it
 * may have given up, and who waits for the lock then does so by chance.
 */
#ifndef DWELL_BPF_BLAME_HANDS_BPF_H
#define DWELL_BPF_BLAME_HANDS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/blame.bpf.h"
#include "bpf/filter.bpf.h"

/*
 * After a thread whose wait a timer has ended has got a CPU, the lock is handed over within that
 * time; and within as much CPU time who hands it over waits for it.
 */
#define HAND_OVER_NS 500000ULL
/* Who had a CPU for less since its last wait, or for less than half of the time, did not compute.
 */
#define HAND_HELD_NS 1000000ULL
#define BLAME_HANDS  16 /* of a lock; a power of two */

/* A thread that has computed, and then waits for a lock. */
struct blame_hand {
	__u64 since_ns; /* it has not been blocked since then, */
	__u64 ran_ns;	/* has had a CPU for so long, */
	__u64 until_ns; /* and begins to wait, */
	__u64 cpu_ns;	/* after so long on a CPU in its life */
	__u64 who;	/* this and the rest as in struct blame_key */
	__u64 comm[2];
	__u32 pid;
	__u32 flags;
};

struct blame_hands {
	__u64 polled_ns; /* a timer has ended a wait for the lock */
	__u32 at;	 /* of the last one, modulo BLAME_HANDS */
	__u32 pad;
	struct blame_hand hands[BLAME_HANDS];
};

struct blame_lock {
	__u32 tgid;
	__u32 lock; /* lock_number() >> 3: is_same_lock() */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, struct blame_lock);
	__type(value, struct blame_hands);
} blame_locks __weak SEC(".maps");

static const struct blame_hands blame_no_hands;

/* When a timer has last ended a wait for any lock: nearly all programs have no such waits. */
static __u64 blame_polled_ns;

static __noinline struct blame_hands *blame_make_hands(__u32 tgid, __u32 lock)
{
	struct blame_lock key = {tgid, lock};
	struct blame_hands *hands = bpf_map_lookup_elem(&blame_locks, &key);

	if (hands)
		return hands;
	bpf_map_update_elem(&blame_locks, &key, &blame_no_hands, BPF_NOEXIST);
	return bpf_map_lookup_elem(&blame_locks, &key);
}

/* Another CPU may have had `then_ns` after this one had looked at the clock. */
static __always_inline bool is_recent(__u64 then_ns, __u64 within_ns, __u64 now_ns)
{
	return now_ns < then_ns + within_ns;
}

/* A timer has ended the task's wait for that lock. */
static __always_inline void blame_note_poll(struct task_struct *task, __u32 lock, __u64 now_ns)
{
	struct blame_hands *hands = blame_make_hands(task->tgid, lock >> 3);

	struct blame_hands *any = blame_make_hands(task->tgid, 0);

	if (hands && any)
		hands->polled_ns = any->polled_ns = now_ns;
	blame_polled_ns = now_ns;
}

/* The thread, whose wait a timer has ended, has got a CPU: only now it can ask for the lock. */
static __noinline int blame_poll_runs(struct task_struct *task, struct blame *blame, __u64 now_ns)
{
	blame->polled_delay = (__u16)turn_smaller((now_ns - blame->waking_ns) >> 16, 0xffff);
	blame_note_poll(task, blame->polled_lock, now_ns);
	return 0;
}

/*
 * A short wait for another lock, just after one that a timer has ended: to look at what it has
 * waited for, a thread may have to wait for the lock of that, as for a condition variable's mutex.
 */
static __always_inline bool is_beside_poll(const struct blame *blame, const struct blame_wait *wait,
					   __u64 ended_ns)
{
	__u64 delay_ns = (__u64)blame->polled_delay << 16;

	return !is_same_lock(blame->polled_lock, blame->lock) &&
	       wait->from_ns - ended_ns < HAND_OVER_NS + delay_ns &&
	       wait->to_ns - wait->from_ns < HAND_OVER_NS;
}

/* The part of `wait` that the thread of the hand-over has had the lock for, at its end. */
__weak __attribute__((noinline)) int blame_hand(struct blame *blame, struct blame_wait *wait,
						const struct blame_hand *hand)
{
	__u64 since_ns, delay_ns;

	if (!blame || !wait || !hand)
		return 0;
	delay_ns = wait->to_ns == blame->waking_ns ? (__u64)blame->polled_delay << 16 : 0;
	/* is_beside_poll() may have moved the end a little */
	if (hand->until_ns + HAND_OVER_NS - wait->to_ns >= 2 * HAND_OVER_NS + delay_ns ||
	    hand->since_ns >= wait->to_ns)
		return 0;
	wait->key.who = hand->who;
	wait->key.comm[0] = hand->comm[0];
	wait->key.comm[1] = hand->comm[1];
	wait->key.pid = hand->pid;
	wait->key.how = BLAME_HOW(WIRE_LOCK, WIRE_CULPRIT_THREAD) | BLAME_FLAG(hand->flags);
	since_ns = hand->since_ns > wait->from_ns ? hand->since_ns : wait->from_ns;
	blame_site(blame, wait, BLAME_ON_CPU, hand->ran_ns, since_ns);
	wait->key.count = 0;
	if (since_ns < wait->to_ns)
		blame_site(blame, wait, BLAME_RUNNABLE, ~0ULL, since_ns);
	return 0;
}

/* What the thread has waited in vain is owed to who had the lock, as far as that is known. */
__weak __attribute__((noinline)) int blame_charge_hands(struct blame *blame,
							const struct blame_hands *hands)
{
	struct blame_wait wait = {.key.count = 1};
	__u64 from_ns;

	if (!blame || !hands)
		return 0;
	wait.to_ns = blame->waking_ns;
	wait.from_ns = from_ns = wait.to_ns - ((__u64)blame->polled << 10);
	blame->most = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_HANDS && wait.to_ns > from_ns; i++)
		blame_hand(blame, &wait, &hands->hands[(hands->at - i) & (BLAME_HANDS - 1)]);
	if (wait.to_ns == blame->waking_ns)
		return 0;
	blame->polled = 0;
	blame->handed.gaps = 0;
	blame_note_lock(blame, from_ns, blame->waking_ns);
	if (wait.to_ns > from_ns) {
		wait.key = (struct blame_key){.how = BLAME_HOW(WIRE_LOCK, WIRE_CULPRIT_TIMER)};
		blame_range(blame, &wait.key, from_ns, wait.to_ns);
	}
	return 0;
}

/* Of the current thread, which is about to leave its CPU. `ran_ns`: since its last wait. */
static __always_inline void blame_keep_hand(struct task_struct *task, struct blame *blame,
					    struct blame_hand *hand, __u64 ran_ns, __u64 now_ns)
{
	hand->until_ns = 0;
	hand->since_ns = blame->waking_ns;
	hand->ran_ns = ran_ns;
	hand->cpu_ns = task->se.sum_exec_runtime;
	blame_identify(task, &hand->who, &hand->pid);
	task_name(task, hand->comm);
	hand->flags = blame_target_flag(task);
	hand->until_ns = now_ns;
}

/* In the entry of the lock 0: who has computed last, and then waits for any lock. */
static __always_inline struct blame_hand *blame_last_hand(struct blame_hands *hands, __u64 who)
{
	return &hands->hands[(who ^ who >> 4) & (BLAME_HANDS - 1)];
}

/* The current thread has had the lock that it has polled: what it has waited for it is owed. */
static __always_inline void blame_settle(struct account *account, const struct blame_hands *hands,
					 __u64 now_ns)
{
	blame_begin(account, now_ns);
	blame_charge_hands(blame_of(account), hands);
}

/* The current thread ends the wait of another one of its process for that lock. */
static __noinline int blame_returns(struct task_struct *waker, __u32 tgid, __u32 lock, __u64 now_ns)
{
	struct blame_lock key = {.tgid = tgid, .lock = lock >> 3};
	struct account *account = account_of(waker);
	const struct blame_hands *hands;

	if (!account || is_skipped(account) || !blame_of(account)->polled ||
	    !is_same_lock(blame_of(account)->polled_lock, lock) || (__u32)waker->tgid != tgid)
		return 0;
	hands = bpf_map_lookup_elem(&blame_locks, &key);
	if (hands)
		blame_settle(account, hands, now_ns);
	return 0;
}

/* A timer has of late ended waits for the lock. */
static __always_inline struct blame_hands *blame_polled(__u32 tgid, __u32 lock, __u64 now_ns)
{
	struct blame_lock key = {tgid, lock >> 3};
	struct blame_hands *hands = bpf_map_lookup_elem(&blame_locks, &key);

	return hands && is_recent(hands->polled_ns, POLLS_GAP_NS, now_ns) ? hands : NULL;
}

/*
 * The current thread, which is about to leave its CPU, begins to wait for that lock. In between it
 * may have waited for others, for a moment: CPython's for the mutex of the interpreter lock, and
 * for the news that it has been taken.
 */
static __noinline int blame_hand_over(struct task_struct *task, struct account *account, __u32 lock,
				      __u64 now_ns)
{
	struct blame_lock any = {.tgid = task->tgid};
	struct blame_hands *last = bpf_map_lookup_elem(&blame_locks, &any);
	struct blame_hands *hands;
	struct blame *blame;
	struct blame_hand *hand;
	__u64 who, ran_ns;
	__u32 pid;

	/* of a thread beside the targets, not all waits have been seen */
	if (!last || is_skipped(account))
		return 0;
	blame_identify(task, &who, &pid);
	hand = blame_last_hand(last, who);
	blame = blame_of(account);
	ran_ns = (__u64)((__u32)(task->se.sum_exec_runtime >> 10) - blame->woken_ran) << 10;
	if (is_recent(last->polled_ns, HAND_OVER_NS, now_ns) && ran_ns >= HAND_HELD_NS &&
	    2 * ran_ns >= now_ns - blame->waking_ns) {
		blame_keep_hand(task, blame, hand, ran_ns, now_ns);
		hands = blame->polled ? blame_polled(any.tgid, blame->polled_lock, now_ns) : NULL;
		if (hands)
			blame_settle(account, hands, now_ns);
	}
	if (hand->who != who || !hand->until_ns ||
	    task->se.sum_exec_runtime - hand->cpu_ns >= HAND_OVER_NS)
		return 0;
	hands = blame_polled(any.tgid, lock, now_ns);
	if (!hands)
		return 0;
	hands->at++;
	hands->hands[hands->at & (BLAME_HANDS - 1)] = *hand;
	hand->until_ns = 0;
	return 0;
}

/* The same, where it may matter. */
static __always_inline void blame_lock_begins(struct task_struct *task, struct account *account,
					      __u32 lock, __u64 now_ns)
{
	if (is_recent(blame_polled_ns, POLLS_GAP_NS, now_ns))
		blame_hand_over(task, account, lock, now_ns);
	blame_of(account)->lock = lock;
}

#endif
