/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had CPython's interpreter lock while a thread waited for it, until a timer ended its wait:
 * blame.bpf.h.
 *
 * Nothing else ends most waits for it (take_gil() and drop_gil(), Python/ceval_gil.c). After 5 ms
 * who waits asks for the lock, and who computes hands it over before the other begins its next
 * wait. It shows in what the one that computed does then: it wakes another that waits for the lock,
 * or it waits for the mutex of the lock, for the news that the lock has been taken, or for the lock
 * itself. Each such hand-over is kept for a while. A thread that has asked waits until it has the
 * lock, so at its next wait it has had it, and what it waited is owed to those whose hand-overs
 * lead up to the end of that.
 *
 * Of other programs' timed waits for locks this is not known: they may have given up.
 */
#ifndef DWELL_BPF_BLAME_HANDS_BPF_H
#define DWELL_BPF_BLAME_HANDS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/blame.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/sites.bpf.h"

/*
 * After who waits has got a CPU and can ask, and who has the lock has got one and can look, the
 * lock is handed over within that time.
 */
#define HAND_OVER_NS 500000ULL
/* Who had a CPU for less since its last wait did not compute. */
#define HAND_HELD_NS 1000000ULL
#define BLAME_HANDS  16 /* of a process; a power of two */
/* Short waits that is_beside_poll() leaves out. */
#define BESIDE_POLL 4

/* A thread that has computed, and then waits or wakes another. */
struct blame_hand {
	__u64 since_ns; /* it has not been blocked since then, */
	__u64 delay_ns; /* but if it had to look for the lock, it needed a CPU for that first, */
	__u64 ran_ns;	/* has had one for so long, */
	__u64 until_ns; /* and hands the lock over */
	__u64 who;	/* this and the next as in struct blame_key */
	__u64 comm[2];
	__u32 pid;
	__u32 flags;
	__u32 holder; /* its number, as the kernel has it */
	__u32 pad;
};

struct blame_hands {
	__u64 polled_ns; /* a timer has ended a wait for the lock, or who waited has got a CPU */
	__u32 lock;	 /* that one: of several interpreters, the last */
	__u32 at;	 /* of the last hand-over, modulo BLAME_HANDS */
	struct blame_hand hands[BLAME_HANDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, __u32); /* tgid */
	__type(value, struct blame_hands);
} blame_hands __weak SEC(".maps");

static const struct blame_hands blame_no_hands;

/* The latest polled_ns: nearly all machines have no such waits at a time. */
static __u64 blame_polled_ns;

/* Another CPU may have had `then_ns` after this one had looked at the clock. */
static __always_inline bool is_recent(__u64 then_ns, __u64 within_ns, __u64 now_ns)
{
	return now_ns < then_ns + within_ns;
}

static __always_inline struct blame_hands *blame_hands_of(const struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return bpf_map_lookup_elem(&blame_hands, &tgid);
}

/* A timer has ended the task's wait for that lock. */
static __noinline int blame_note_poll(struct task_struct *task, struct account *account, __u32 lock,
				      __u64 now_ns)
{
	__u32 tgid = task->tgid;
	struct blame_hands *hands;

	if (is_skipped(account) || own_locks(task, account) != OWN_LOCKS_PYTHON)
		return 0;
	hands = blame_hands_of(task);
	if (!hands) {
		bpf_map_update_elem(&blame_hands, &tgid, &blame_no_hands, BPF_NOEXIST);
		hands = blame_hands_of(task);
	}
	if (!hands)
		return 0;
	hands->lock = lock;
	hands->polled_ns = blame_polled_ns = now_ns;
	return 0;
}

/* The thread, whose wait a timer has ended, has got a CPU: only now it can ask for the lock. */
static __noinline int blame_poll_runs(struct task_struct *task, struct account *account,
				      __u64 now_ns)
{
	struct blame *blame = blame_of(account);
	__u64 delay_ns = now_ns > blame->waking_ns ? now_ns - blame->waking_ns : 0;

	blame->polled_delay = (__u16)turn_smaller(delay_ns >> 16, 0xffff);
	/* else it was another wait that has ended */
	if (!blame->polled_beside)
		blame_note_poll(task, account, blame->polled_lock, now_ns);
	return 0;
}

/*
 * A short wait for another lock, just after one that a timer has ended: to look at what it has
 * waited for, a thread may have to wait for the lock of that, as for a condition variable's mutex.
 */
static __always_inline bool is_beside_poll(struct blame *blame, const struct blame_wait *wait,
					   __u64 ended_ns)
{
	__u64 delay_ns = (__u64)blame->polled_delay << 16;

	return !is_same_lock(blame->polled_lock, blame->lock) &&
	       wait->from_ns - ended_ns < HAND_OVER_NS + delay_ns &&
	       wait->to_ns - wait->from_ns < HAND_OVER_NS && blame->polled_beside++ < BESIDE_POLL;
}

/* The lock was handed over at the end of a wait, up to delay_ns later, by who had it before that.
 */
static __always_inline bool hand_is_at(const struct blame_hand *hand, __u64 to_ns, __u64 delay_ns)
{
	/* is_beside_poll() may have moved the end a little */
	return hand->until_ns + HAND_OVER_NS - to_ns < 2 * HAND_OVER_NS + delay_ns &&
	       hand->since_ns < to_ns;
}

/*
 * The last of such hand-overs: its place + 1. 0: there is none, or there are those of several
 * threads at a time, which compute beside the lock. Global for the verifier's sake: see
 * wait_function_of().
 */
__weak __attribute__((noinline)) int blame_find_hand(const struct blame_hands *hands, __u64 to_ns,
						     __u64 delay_ns)
{
	__u64 who = 0, began_ns = 0, until_ns = 0;
	int found = 0;

	if (!hands)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_HANDS; i++) {
		const struct blame_hand *hand = &hands->hands[i];

		if (!hand_is_at(hand, to_ns, delay_ns) || hand->until_ns < until_ns)
			continue;
		until_ns = hand->until_ns;
		began_ns = hand->since_ns + hand->delay_ns + HAND_OVER_NS;
		who = hand->who;
		found = (int)i + 1;
	}
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_HANDS; i++) {
		const struct blame_hand *hand = &hands->hands[i];

		if (hand_is_at(hand, to_ns, delay_ns) && hand->who != who &&
		    hand->until_ns > began_ns)
			return 0;
	}
	return found;
}

/* When the thread of the hand-over got the lock: if it had to look for it, from whom it got it. */
static __always_inline __u64 hand_since(const struct blame_hands *hands,
					const struct blame_hand *hand, __u64 to_ns)
{
	__u64 since_ns = hand->since_ns;
	__u32 at;

	if (!hand->delay_ns)
		return since_ns;
	at = (__u32)blame_find_hand(hands, since_ns, hand->delay_ns) - 1;
	barrier_var(at);
	if (at >= BLAME_HANDS || hands->hands[at].until_ns <= since_ns)
		return since_ns;
	return turn_smaller(hands->hands[at].until_ns, to_ns);
}

/* The part of `wait` that the thread of the hand-over has had the lock for, at its end. */
static __always_inline void blame_hand(struct blame *blame, struct blame_wait *wait,
				       const struct blame_hands *hands,
				       const struct blame_hand *hand)
{
	__u64 since_ns = hand_since(hands, hand, wait->to_ns);

	wait->key.who = hand->who;
	wait->key.comm[0] = hand->comm[0];
	wait->key.comm[1] = hand->comm[1];
	wait->key.pid = hand->pid;
	wait->key.count = 1;
	wait->key.how = BLAME_HOW(WIRE_LOCK, WIRE_CULPRIT_THREAD) | BLAME_FLAG(hand->flags);
	if (since_ns < wait->from_ns)
		since_ns = wait->from_ns;
	blame_site(blame, wait, BLAME_ON_CPU, hand->ran_ns, since_ns);
	wait->key.count = 0;
	if (since_ns < wait->to_ns)
		blame_site(blame, wait, BLAME_RUNNABLE, ~0ULL, since_ns);
}

/*
 * The end of a wait is owed to who had the lock up to then, if a hand-over says so, which came up
 * to chain->delay_ns later. True: it was charged, up to when that one got it.
 */
__weak __attribute__((noinline)) int blame_by_hand(struct blame *blame, struct blame_chain *chain,
						   const struct blame_hands *hands)
{
	const struct blame_hand *hand;
	__u32 at;

	if (!blame || !chain || !hands)
		return 0;
	at = (__u32)blame_find_hand(hands, chain->wait.to_ns, chain->delay_ns) - 1;
	barrier_var(at);
	if (at >= BLAME_HANDS)
		return 0;
	hand = &hands->hands[at];
	blame_hand(blame, &chain->wait, hands, hand);
	chain->holder = hand->holder;
	chain->delay_ns = 0;
	return 1;
}

/* The current thread hands the lock over. In its present run it has had its CPU for run_ns. */
static __always_inline void blame_add_hand(struct blame_hands *hands, struct task_struct *task,
					   const struct blame *blame, __u64 run_ns, __u64 now_ns)
{
	struct blame_hand *hand = &hands->hands[hands->at & (BLAME_HANDS - 1)];
	__u64 ran_ns = (__u64)((__u32)(task->se.sum_exec_runtime >> 10) - blame->woken_ran) << 10;
	__u64 who;
	__u32 pid;

	/* the kernel has counted up to its last tick */
	if (ran_ns < run_ns)
		ran_ns = run_ns;
	ran_ns = turn_smaller(ran_ns, now_ns - blame->waking_ns);
	if (ran_ns < HAND_HELD_NS)
		return;
	blame_identify(task, &who, &pid);
	/* it has woken another, and waits itself now */
	if (hand->who == who && hand->since_ns == blame->waking_ns)
		return;
	hands->at++;
	hand = &hands->hands[hands->at & (BLAME_HANDS - 1)];
	hand->until_ns = 0;
	hand->who = who;
	hand->pid = pid;
	hand->holder = (__u32)task->pid;
	hand->since_ns = blame->waking_ns;
	hand->delay_ns = blame->polled ? (__u64)blame->polled_delay << 16 : 0;
	hand->ran_ns = ran_ns;
	task_name(task, hand->comm);
	hand->flags = blame_target_flag(task);
	hand->until_ns = now_ns;
}

#endif
