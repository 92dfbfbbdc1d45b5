/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a turn on a CPU divides, by the kernel's own clocks. Pure arithmetic, which unit tests try
 * with turns that no hypervisor produces on demand; the hooks are in account.bpf.h.
 *
 * CLOCK_MONOTONIC at the two switches gives the length of a turn. The kernel charges the thread by
 * the run queue's task clock (`sum_exec_runtime`), which stands still while the hypervisor has the
 * CPU or the CPU serves an interrupt, where the kernel accounts for these (update_rq_clock_task()
 *in kernel/sched/core.c).
 *
 *	length = charged + stolen + interrupted + hidden + early
 *
 * stolen, interrupted: what the task clock has left out since the turn began.
 * hidden: neither charged nor left out. Another thread had the CPU, in a switch that no tracepoint
 * reported (some hosts hide a process of theirs). The kernel's run_delay of the thread grows by the
 * same time.
 * early: the kernel reads its clock once for a wakeup and the switch that follows, so its turns end
 * some microseconds before the tracepoint.
 *
 * For the same reason its turns begin early: the kernel charges a thread from its wakeup on, so for
 * more than the turn's length. That is a debt, which the wait for the CPU pays. Early ends and
 *debts mostly cancel each other out; only a balance above TURN_TOLERANCE_NS is corrected.
 */
#ifndef DWELL_BPF_TURN_H
#define DWELL_BPF_TURN_H

#include <linux/types.h>

#define TURN_TOLERANCE_NS 2000

/* The longest way from a reading of the run queue's clock to the switch, without interrupts. */
#define TURN_EARLY_MAX_NS 50000

/* No switch can owe more: the clocks have jumped. */
#define TURN_DEBT_MAX_NS 10000000

/* Of a run queue: cumulative time that its task clock has left out, and how much by interrupts. */
struct turn_clock {
	__u64 omitted_ns;
	__u64 irq_ns;
};

/* What every switch touches. */
struct turn {
	__u64 omitted_ns; /* turn_clock's when the turn began */
	__s64 balance_ns; /* turns so far, less what was charged for them: below zero a debt */
	__u32 is_divided; /* `parts` say what of the turn that ends was not the thread's own */
	__u32 overdue_ns; /* of the debt what the wait for the CPU did not pay: any wait pays it */
};

/* The rest. */
struct turn_parts {
	__u64 begin_irq_ns; /* turn_clock's when the turn began */
	__u64 stolen_ns, irq_ns, hidden_ns;
};

/* How much of what passed between two readings was stolen, and interrupted. */
struct turn_loss {
	__u64 stolen_ns, irq_ns;
	__u32 is_backward; /* a clock went back: nothing is known */
};

#define TURN_INLINE static inline __attribute__((always_inline))

TURN_INLINE __u64 turn_smaller(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* Of at most `most_ns`. */
TURN_INLINE struct turn_loss turn_loss(const struct turn *turn, const struct turn_parts *parts,
				       const struct turn_clock *now, __u64 most_ns)
{
	struct turn_loss loss = {0, 0, 0};
	__u64 omitted_ns = now->omitted_ns - turn->omitted_ns;
	__u64 irq_ns = now->irq_ns - parts->begin_irq_ns;

	if ((__s64)omitted_ns < 0 || (__s64)irq_ns < 0) {
		loss.is_backward = 1;
		return loss;
	}
	omitted_ns = turn_smaller(omitted_ns, most_ns);
	loss.irq_ns = turn_smaller(irq_ns, omitted_ns);
	loss.stolen_ns = omitted_ns - loss.irq_ns;
	return loss;
}

/* Something was left out of the turn: how much of it is left. */
TURN_INLINE __u64 turn_divide(struct turn *turn, struct turn_parts *parts, __u64 length_ns,
			      __u64 charged_ns, const struct turn_clock *now, __u32 *ret_clamped)
{
	__u64 omitted_ns = now->omitted_ns - turn->omitted_ns, room_ns = length_ns;
	struct turn_loss loss;

	/*
	 * More than there was: believe what was charged. A hypervisor that takes the CPU between
	 * the kernel's look at its clock and the switch takes from the turn before, but shows in
	 * this one. More than such a pause is a clock that jumped.
	 */
	if ((__s64)omitted_ns >= 0 && omitted_ns + charged_ns > length_ns + TURN_EARLY_MAX_NS)
		room_ns = charged_ns < length_ns ? length_ns - charged_ns : 0;
	if ((__s64)omitted_ns >= 0 && omitted_ns > length_ns + TURN_DEBT_MAX_NS)
		*ret_clamped = 1;
	loss = turn_loss(turn, parts, now, room_ns);
	if (loss.is_backward)
		*ret_clamped = 1;
	parts->stolen_ns = loss.stolen_ns;
	parts->irq_ns = loss.irq_ns;
	parts->hidden_ns = 0;
	turn->is_divided = 1;
	return length_ns - loss.stolen_ns - loss.irq_ns;
}

/*
 * The turn of `length_ns` ends; the kernel has charged the thread `charged_ns` for it. Fills the
 * parts that were not its own, and returns `early`: how long before now it ended. *ret_clamped
 * becomes 1 where the clocks contradict each other, and what they said was left out.
 */
TURN_INLINE __u64 turn_end(struct turn *turn, struct turn_parts *parts, __u64 length_ns,
			   __u64 charged_ns, const struct turn_clock *now, __u32 *ret_clamped)
{
	__s64 rest_ns;

	if (now->omitted_ns != turn->omitted_ns)
		length_ns = turn_divide(turn, parts, length_ns, charged_ns, now, ret_clamped);
	rest_ns = (__s64)(length_ns - charged_ns);
	if (rest_ns > TURN_EARLY_MAX_NS) {
		if (!turn->is_divided)
			parts->stolen_ns = parts->irq_ns = 0;
		parts->hidden_ns = (__u64)rest_ns;
		turn->is_divided = 1;
		return 0;
	}
	turn->balance_ns += rest_ns;
	if (turn->balance_ns < -TURN_DEBT_MAX_NS) {
		turn->balance_ns = 0;
		*ret_clamped = 1;
	}
	if (turn->balance_ns <= TURN_TOLERANCE_NS)
		return 0;
	/* a turn cannot end before it began */
	length_ns = turn_smaller((__u64)turn->balance_ns, length_ns);
	turn->balance_ns -= (__s64)length_ns;
	return length_ns;
}

/*
 * Of `part_ns` in a turn of `length_ns`, of which `before_ns` lay before an instant: how much of it
 * lay before. When it was is not known, so in proportion.
 */
TURN_INLINE __u64 turn_before(__u64 part_ns, __u64 before_ns, __u64 length_ns)
{
	/* in units of 1,024 ns the product fits, for turns of up to an hour */
	__u64 share_ns = (part_ns >> 10) * (before_ns >> 10) / ((length_ns >> 10) | 1) << 10;
	__u64 least_ns = part_ns > length_ns - before_ns ? part_ns - (length_ns - before_ns) : 0;

	share_ns = turn_smaller(turn_smaller(share_ns, part_ns), before_ns);
	return share_ns > least_ns ? share_ns : least_ns;
}

/*
 * A time off the CPU of `spent_ns` has ended; returns how much of it was charged to the thread. The
 * wait for a CPU comes last before a turn, so it pays first: another wait pays only what it left.
 */
TURN_INLINE __u64 turn_pay(struct turn *turn, __u64 spent_ns, _Bool waited_for_cpu)
{
	__u64 debt_ns = turn->balance_ns < 0 ? (__u64)-turn->balance_ns : 0, paid_ns;

	if (!waited_for_cpu)
		debt_ns = turn_smaller(debt_ns, turn->overdue_ns);
	paid_ns = turn_smaller(debt_ns, spent_ns);
	turn->balance_ns += (__s64)paid_ns;
	turn->overdue_ns = (__u32)(debt_ns - paid_ns);
	return paid_ns;
}

#endif
