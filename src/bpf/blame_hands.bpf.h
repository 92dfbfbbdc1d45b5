/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had CPython's interpreter lock while a thread waited for it, until a timer ended its wait:
 * blame.bpf.h.
 *
 * Nothing else ends most waits for it (take_gil() and drop_gil(), Python/ceval_gil.c). After 5 ms
 * who waits asks for the lock, and who computes hands it over before the other begins its next
 * wait. It shows in what the one that computed does then: it waits for the mutex of the lock, for
 * the news that the lock has been taken, or for the lock itself. Each such hand-over is kept for a
 * while. A thread that has asked waits until it has the lock, so at its next wait it has had it,
 * and what it waited is owed to those whose hand-overs lead up to the end of that.
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

/* After who waits has got a CPU and can ask, the lock is handed over within that time. */
#define HAND_OVER_NS 500000ULL
/* Who had a CPU for less since its last wait, or less than half of the time, did not compute. */
#define HAND_HELD_NS 1000000ULL
#define BLAME_HANDS  16 /* of a process; a power of two */
/* Short waits that is_beside_poll() leaves out. */
#define BESIDE_POLL 4

/* A thread that has computed, and then waits. */
struct blame_hand {
	__u64 since_ns; /* it has not been blocked since then, */
	__u64 ran_ns;	/* has had a CPU for so long, */
	__u64 until_ns; /* and begins to wait */
	__u64 who;	/* this and the rest as in struct blame_key */
	__u64 comm[2];
	__u32 pid;
	__u32 flags;
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

/*
 * The hand-over at the end of a wait, up to delay_ns later: its place + 1. 0: there is none, or
 * those of several threads, which compute beside the lock. Global for the verifier's sake: see
 * wait_function_of().
 */
__weak __attribute__((noinline)) int blame_find_hand(const struct blame_hands *hands, __u64 to_ns,
						     __u64 delay_ns)
{
	__u64 who = 0;
	int found = 0;

	if (!hands)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_HANDS; i++) {
		const struct blame_hand *hand = &hands->hands[i];

		/* is_beside_poll() may have moved the end a little */
		if (hand->until_ns + HAND_OVER_NS - to_ns >= 2 * HAND_OVER_NS + delay_ns ||
		    hand->since_ns >= to_ns)
			continue;
		/* not by `found`: the verifier would look at the rest once for each value of it */
		if (who && hand->who != who)
			return 0;
		who = hand->who;
		found = (int)i + 1;
	}
	return found;
}

/* The part of `wait` that the thread of the hand-over has had the lock for, at its end. */
__weak __attribute__((noinline)) int blame_hand(struct blame *blame, struct blame_wait *wait,
						const struct blame_hand *hand)
{
	__u64 since_ns;

	if (!blame || !wait || !hand)
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
	__u64 from_ns, delay_ns;

	if (!blame || !hands)
		return 0;
	delay_ns = (__u64)blame->polled_delay << 16;
	wait.to_ns = blame->waking_ns;
	wait.from_ns = from_ns = wait.to_ns - ((__u64)blame->polled << 10);
	blame->most = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < BLAME_HANDS && wait.to_ns > from_ns; i++) {
		__u32 at = (__u32)blame_find_hand(hands, wait.to_ns, delay_ns) - 1;

		barrier_var(at);
		if (at >= BLAME_HANDS)
			break;
		blame_hand(blame, &wait, &hands->hands[at]);
		delay_ns = 0;
	}
	if (wait.to_ns == blame->waking_ns)
		return 0;
	blame->polled = 0;
	blame->handed.gaps = 0;
	blame_note_lock(blame, blame->polled_lock, from_ns, blame->waking_ns);
	if (wait.to_ns > from_ns) {
		wait.key = (struct blame_key){.how = BLAME_HOW(WIRE_LOCK, WIRE_CULPRIT_TIMER)};
		blame_range(blame, &wait.key, from_ns, wait.to_ns);
	}
	return 0;
}

/* The current thread, which is about to leave its CPU, begins to wait; for a lock, or not. */
static __noinline int blame_hands_begin(struct task_struct *task, struct account *account,
					bool for_lock, __u64 now_ns)
{
	struct blame *blame = blame_of(account);
	struct blame_hands *hands;
	struct blame_hand *hand;
	__u64 ran_ns;

	/* of a thread beside the targets, not all waits have been seen */
	if (is_skipped(account) || own_locks(task, account) != OWN_LOCKS_PYTHON)
		return 0;
	hands = blame_hands_of(task);
	if (!hands)
		return 0;
	if (blame->polled && is_same_lock(blame->polled_lock, hands->lock)) {
		blame_begin(account, now_ns);
		blame_charge_hands(blame, hands);
	}
	ran_ns = (__u64)((__u32)(task->se.sum_exec_runtime >> 10) - blame->woken_ran) << 10;
	if (!for_lock || !is_recent(hands->polled_ns, HAND_OVER_NS, now_ns) ||
	    ran_ns < HAND_HELD_NS || 2 * ran_ns < now_ns - blame->waking_ns)
		return 0;
	hands->at++;
	hand = &hands->hands[hands->at & (BLAME_HANDS - 1)];
	hand->until_ns = 0;
	hand->since_ns = blame->waking_ns;
	hand->ran_ns = ran_ns;
	blame_identify(task, &hand->who, &hand->pid);
	task_name(task, hand->comm);
	hand->flags = blame_target_flag(task);
	hand->until_ns = now_ns;
	return 0;
}

/* The same, where it may matter. */
static __always_inline void blame_wait_begins(struct task_struct *task, struct account *account,
					      bool for_lock, __u64 now_ns)
{
	if (blame_of(account)->polled ||
	    (for_lock && is_recent(blame_polled_ns, HAND_OVER_NS, now_ns)))
		blame_hands_begin(task, account, for_lock, now_ns);
}

#endif
