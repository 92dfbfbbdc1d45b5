/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread had of a turn on a CPU, by the kernel's own clocks. Pure arithmetic, so that unit
 * tests try it with turns that nobody can order from a hypervisor; the hooks are in account.bpf.h.
 *
 * Two clocks measure a turn. CLOCK_MONOTONIC at the two switches gives its length. The kernel
 * charges the thread by its run queue's task clock (`sum_exec_runtime`), which stands still while
 * the hypervisor has the CPU or an interrupt is served, where the kernel accounts for these
 * (update_rq_clock_task(), kernel/sched/core.c). The difference is not the thread's:
 *
 *	length = charged + stolen + interrupted + hidden + early
 *
 * stolen, interrupted: what the task clock has left out since the turn began. hidden: neither
 * charged nor left out, so another thread had the CPU, in a switch that no tracepoint reported (a
 * host may hide a process of its own); the kernel's run_delay of the thread grows by the same.
 * early: the kernel reads its clock once for a wakeup and the switch that follows, so it ends turns
 * some microseconds before the tracepoint.
 *
 * For the same reason it begins turns early: a thread is charged from its wakeup on, so for more
 * than its turn's length. That is `owed`, and paid from the time it waits for its next turn; so is
 * what was stolen on the way from the wakeup to the switch.
 */
#ifndef DWELL_BPF_TURN_H
#define DWELL_BPF_TURN_H

#include <linux/types.h>

/* The longest way from a reading of the run queue's clock to the switch, without interrupts. */
#define TURN_EARLY_MAX_NS 50000

/* More than a switch can owe: the clocks have jumped. */
#define TURN_OWED_MAX_NS 10000000

/* Of a run queue: cumulative time that its task clock has left out, and how much by interrupts. */
struct turn_clock {
	__u64 omitted_ns;
	__u64 irq_ns;
};

struct turn {
	struct turn_clock begin;
	/* not the thread's own, of the turn that ends; 0 while it goes on */
	__u64 stolen_ns, irq_ns, hidden_ns;
	__u32 owed_ns;	  /* by the last turn: what it waits for the next CPU pays */
	__u32 overdue_ns; /* by those before: whatever it does off the CPU pays */
};

/* How much of what passed between two readings was stolen, and interrupted. */
struct turn_loss {
	__u64 stolen_ns, irq_ns;
	__u32 is_backward; /* a clock went back: nothing is known */
};

static inline __attribute__((always_inline)) __u64 turn_smaller(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* Of at most `most_ns`. */
static inline __attribute__((always_inline)) struct turn_loss
turn_loss(const struct turn_clock *begin, const struct turn_clock *end, __u64 most_ns)
{
	struct turn_loss loss = {0, 0, 0};
	__u64 omitted_ns = end->omitted_ns - begin->omitted_ns;
	__u64 irq_ns = end->irq_ns - begin->irq_ns;

	if ((__s64)omitted_ns < 0 || (__s64)irq_ns < 0) {
		loss.is_backward = 1;
		return loss;
	}
	omitted_ns = turn_smaller(omitted_ns, most_ns);
	loss.irq_ns = turn_smaller(irq_ns, omitted_ns);
	loss.stolen_ns = omitted_ns - loss.irq_ns;
	return loss;
}

/*
 * The turn of `length_ns` ends; the kernel has charged the thread `charged_ns` for it. Fills what
 * was not its own, and returns `early`: how long before now it ended. *ret_clamped becomes 1 where
 * the clocks contradict each other, and what they said was left out.
 */
static inline __attribute__((always_inline)) __u64 turn_end(struct turn *turn, __u64 length_ns,
							    __u64 charged_ns,
							    const struct turn_clock *now,
							    __u32 *ret_clamped)
{
	__u64 omitted_ns = now->omitted_ns - turn->begin.omitted_ns;
	__u64 room_ns = length_ns, rest_ns;
	struct turn_loss loss;

	/* what the wait before did not pay is overdue */
	turn->overdue_ns += turn->owed_ns;
	turn->owed_ns = 0;
	if (turn->overdue_ns > TURN_OWED_MAX_NS) {
		turn->overdue_ns = 0;
		*ret_clamped = 1;
	}
	/* more was left out than there was: a clock that jumped; believe what was charged */
	if ((__s64)omitted_ns >= 0 && omitted_ns > length_ns + TURN_OWED_MAX_NS) {
		room_ns = charged_ns < length_ns ? length_ns - charged_ns : 0;
		*ret_clamped = 1;
	}
	loss = turn_loss(&turn->begin, now, room_ns);
	if (loss.is_backward)
		*ret_clamped = 1;
	turn->stolen_ns = loss.stolen_ns;
	turn->irq_ns = loss.irq_ns;
	room_ns = length_ns - loss.stolen_ns - loss.irq_ns;
	if (charged_ns >= room_ns) {
		if (charged_ns - room_ns > TURN_OWED_MAX_NS)
			*ret_clamped = 1;
		else
			turn->owed_ns = (__u32)(charged_ns - room_ns);
		return 0;
	}
	rest_ns = room_ns - charged_ns;
	if (rest_ns > TURN_EARLY_MAX_NS) {
		turn->hidden_ns = rest_ns;
		return 0;
	}
	if (rest_ns < turn->overdue_ns) {
		turn->overdue_ns -= (__u32)rest_ns;
		return 0;
	}
	rest_ns -= turn->overdue_ns;
	turn->overdue_ns = 0;
	return rest_ns;
}

static inline __attribute__((always_inline)) __u64 turn_not_own(const struct turn *turn)
{
	return turn->stolen_ns + turn->irq_ns + turn->hidden_ns;
}

/*
 * Of `part_ns` in a turn of `length_ns`, of which `before_ns` lay before an instant: how much of it
 * lay before. When it was is not known, so in proportion.
 */
static inline __attribute__((always_inline)) __u64 turn_before(__u64 part_ns, __u64 before_ns,
							       __u64 length_ns)
{
	/* microseconds, so that the product fits: 71 minutes of turn */
	__u64 share_ns = (part_ns >> 10) * (before_ns >> 10) / ((length_ns >> 10) | 1) << 10;

	__u64 least_ns = part_ns > length_ns - before_ns ? part_ns - (length_ns - before_ns) : 0;

	share_ns = turn_smaller(turn_smaller(share_ns, part_ns), before_ns);
	return share_ns > least_ns ? share_ns : least_ns;
}

/* A time off the CPU of `spent_ns` has ended; returns how much of it was charged to the thread. */
static inline __attribute__((always_inline)) __u32 turn_pay(struct turn *turn, __u64 spent_ns,
							    _Bool waited_for_cpu)
{
	__u32 paid_ns = turn->overdue_ns;
	__u32 rest_ns;

	if (paid_ns > spent_ns)
		paid_ns = (__u32)spent_ns;
	turn->overdue_ns -= paid_ns;
	if (!waited_for_cpu)
		return paid_ns;
	rest_ns = turn->owed_ns;
	if (rest_ns > spent_ns - paid_ns)
		rest_ns = (__u32)(spent_ns - paid_ns);
	turn->owed_ns -= rest_ns;
	return paid_ns + rest_ns;
}

#endif
