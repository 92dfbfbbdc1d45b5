/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ran on a CPU while a thread waited for it: blame.bpf.h. */
#ifndef DWELL_BPF_BLAME_RUNS_BPF_H
#define DWELL_BPF_BLAME_RUNS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/blame_shares.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/wire.h"

#define BLAME_RUNS 128 /* of a CPU; a power of two */

/* What ran on a CPU, from the end of the one before on. */
struct blame_run {
	__u64 until_ns; /* 0: it still runs */
	__u64 who;	/* as in struct blame_key */
	__u32 pid;
	__u16 kind;	  /* thread or idle; unknown: before the first switch that was seen */
	__u16 flags;	  /* WIRE_CULPRIT_* */
	__u64 omitted_ns; /* of it stolen or interrupted */
	__u64 comm[2];
};

#define BLAME_STRETCHES	 64 /* a power of two */
#define BLAME_PARTS	 4
#define BLAME_STRETCH_NS 16000000ULL /* one this long takes in nothing more */

/* Of one culprit in a stretch. */
struct blame_part {
	__u64 ns;
	__u64 who; /* this and the rest as in struct blame_run */
	__u32 pid;
	__u16 kind;
	__u16 flags;
	__u64 comm[2];
};

/* How long each of a few had the CPU in a while before the runs that are kept one by one. */
struct blame_stretch {
	__u64 begin_ns, until_ns;
	__u64 omitted_ns;
	struct blame_part parts[BLAME_PARTS];
};

struct blame_cpu {
	__u64 omitted_ns; /* turn_clock's at the last switch */
	__u32 at;	  /* the run that goes on, modulo BLAME_RUNS */
	__u32 stretch;	  /* the last one, modulo BLAME_STRETCHES */
	__u32 alone_at;	  /* the last run that began while no other thread was ready to run */
	__u32 victim;	  /* whom blame_run() is asked for, by tid */
	__u64 limit_id;	  /* the cgroup whose limit blame_throttle() is asked for; 0: not known */
	__u64 limit_name[2];
	__u64 disk_ns; /* when it last completed a request */
	__u64 disk[2]; /* of the disk of that name */
	struct blame_run runs[BLAME_RUNS];
	struct blame_stretch stretches[BLAME_STRETCHES];
};

/* By CPU. Written by its own switches, read under its run queue's lock. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blame_cpu);
} blame_cpus __weak SEC(".maps");

/* What runs is kept. */
const volatile bool blame_keeps_runs __weak = false;

/* The present one. */
static __always_inline struct blame_cpu *blame_cpu_here(void)
{
	__u32 index = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&blame_cpus, &index);
}

static __always_inline void blame_put_part(struct blame_part *part, const struct blame_run *run,
					   __u64 ns)
{
	part->ns = ns;
	part->who = run->who;
	part->pid = run->pid;
	part->kind = run->kind;
	part->flags = run->flags;
	part->comm[0] = run->comm[0];
	part->comm[1] = run->comm[1];
}

/* The stretch goes on with the run, which is that of one of its parts, or becomes one. */
static __always_inline bool blame_stretch_takes(struct blame_stretch *stretch,
						const struct blame_run *run, __u64 ns)
{
	struct blame_part *part;

	for (int i = 0; i < BLAME_PARTS; i++) {
		part = &stretch->parts[i];
		if (!part->ns)
			blame_put_part(part, run, 0);
		if (part->who != run->who || part->kind != run->kind)
			continue;
		part->ns += ns;
		return true;
	}
	/* there is no room for another thread: its process may have a part */
	for (int i = 0; i < BLAME_PARTS; i++) {
		part = &stretch->parts[i];
		if (!run->pid || part->pid != run->pid || part->kind != run->kind)
			continue;
		part->who = 0;
		part->ns += ns;
		return true;
	}
	return false;
}

/*
 * The oldest run but for that in whose place the next one comes becomes part of a stretch. Asked
 * for only where threads have been waiting for the CPU since then: else none will owe it anything.
 */
__weak __attribute__((noinline)) int blame_forget(struct blame_cpu *cpu)
{
	const struct blame_run *run;
	struct blame_stretch *stretch;
	__u64 begin_ns;

	if (!cpu)
		return 0;
	begin_ns = cpu->runs[cpu->at & (BLAME_RUNS - 1)].until_ns;
	run = &cpu->runs[(cpu->at + 1) & (BLAME_RUNS - 1)];
	stretch = &cpu->stretches[cpu->stretch & (BLAME_STRETCHES - 1)];
	if (!begin_ns || run->until_ns <= begin_ns)
		return 0;
	if (stretch->until_ns == begin_ns && begin_ns - stretch->begin_ns < BLAME_STRETCH_NS &&
	    blame_stretch_takes(stretch, run, run->until_ns - begin_ns)) {
		stretch->until_ns = run->until_ns;
		stretch->omitted_ns += run->omitted_ns;
		return 0;
	}
	cpu->stretch++;
	stretch = &cpu->stretches[cpu->stretch & (BLAME_STRETCHES - 1)];
	stretch->begin_ns = begin_ns;
	stretch->until_ns = run->until_ns;
	stretch->omitted_ns = run->omitted_ns;
	for (int i = 1; i < BLAME_PARTS; i++)
		stretch->parts[i].ns = 0;
	blame_put_part(&stretch->parts[0], run, run->until_ns - begin_ns);
	return 0;
}

/*
 * A thread waited while `run`, which began at begin_ns, had the CPU in [from_ns, to_ns). What the
 * hypervisor or interrupts took of the run is theirs, in proportion. A function of its own, so that
 * its part of the stack (512 bytes for all that call each other) is there once.
 */
__weak __attribute__((noinline)) int blame_one_run(struct blame *blame, const struct blame_run *run,
						   __u64 begin_ns, __u64 from_ns, __u64 to_ns)
{
	struct blame_key key = {.count = 1};
	__u64 omitted_ns;

	if (!blame || !run || from_ns >= to_ns)
		return 0;
	omitted_ns = run->omitted_ns;
	if (omitted_ns && run->until_ns > begin_ns && run->kind == WIRE_CULPRIT_THREAD) {
		key.how = BLAME_HOW(WIRE_RUNNABLE,
				    steal_seen ? WIRE_CULPRIT_STEAL : WIRE_CULPRIT_IRQ);
		omitted_ns = turn_before(omitted_ns, to_ns - from_ns, run->until_ns - begin_ns);
		omitted_ns = turn_smaller(omitted_ns, to_ns - from_ns);
		blame_range(blame, &key, to_ns - omitted_ns, to_ns);
		to_ns -= omitted_ns;
	}
	key.who = run->who;
	key.how = BLAME_HOW(WIRE_RUNNABLE, run->kind) | BLAME_FLAG(run->flags);
	key.comm[0] = run->comm[0];
	key.comm[1] = run->comm[1];
	key.pid = run->pid;
	return blame_range(blame, &key, from_ns, to_ns);
}

/*
 * Whether what had a CPU was the victim itself, by its tid. Threads beyond our pid namespace, which
 * have no pid, may have the same one.
 */
static __always_inline bool blame_is_own(__u64 who, __u32 pid, __u16 kind, __u32 victim)
{
	return (__u32)who == victim && pid && kind == WIRE_CULPRIT_THREAD;
}

/*
 * What the run at `at` has of [from_ns, to_ns), in which cpu->victim waited. Returns up to when
 * that one waited for what was before; 0: for nothing. The verifier could not bear it in a loop.
 */
__weak __attribute__((noinline)) __u64 blame_run(struct blame *blame, struct blame_cpu *cpu,
						 __u32 at, __u64 from_ns, __u64 to_ns)
{
	const struct blame_run *run;
	__u64 begin_ns, since_ns = from_ns;

	if (!blame || !cpu)
		return 0;
	run = &cpu->runs[at & (BLAME_RUNS - 1)];
	begin_ns = cpu->runs[(at - 1) & (BLAME_RUNS - 1)].until_ns;
	if (blame_is_own(run->who, run->pid, run->kind, cpu->victim)) {
		/* the end of its own turn, by the kernel's clock: turn.h. What came then is to
		 * blame */
		run = &cpu->runs[(at + 1) & (BLAME_RUNS - 1)];
		begin_ns = 0;
	} else if (!begin_ns) {
		return 0; /* neither when it began has been seen, nor what was before */
	} else if (begin_ns > from_ns) {
		since_ns = begin_ns;
	}
	blame_one_run(blame, run, begin_ns ?: to_ns, since_ns, to_ns);
	return begin_ns > from_ns ? turn_smaller(begin_ns, to_ns) : 0;
}

/* Who ended a wait did that at charged_ns; the thread was ready at `end_ns`. */
static __always_inline void blame_end_wait(struct blame *blame, __u64 end_ns)
{
	__u32 last = blame->last - 1;

	blame->last = 0;
	if (last < BLAME_CULPRITS && end_ns > blame->charged_ns)
		blame->culprits[last].total_ns += end_ns - blame->charged_ns;
}

__weak __attribute__((noinline)) int
blame_throttle(struct blame *blame, const struct blame_cpu *cpu, __u64 from_ns, __u64 to_ns)
{
	struct blame_key key = {.how = BLAME_HOW(WIRE_RUNNABLE, WIRE_CULPRIT_THROTTLE), .count = 1};

	if (!blame || !cpu)
		return 0;
	key.who = cpu->limit_id;
	key.comm[0] = cpu->limit_name[0];
	key.comm[1] = cpu->limit_name[1];
	return blame_range(blame, &key, from_ns, to_ns);
}

/* In blame_runs()'s `victim`: it might not run, whatever else did. */
#define BLAME_THROTTLED (1ULL << 32)
/* It has got the CPU, whose present run is its own. */
#define BLAME_SWITCHED (1ULL << 33)

/*
 * A thread, `victim` by tid, waited for this CPU in [from_ns, to_ns), to_ns being now. Under the
 * lock of the CPU's run queue, and after blame_begin(). Returns up to when it waited for what is
 * longer ago than the runs reach; 0: for nothing.
 */
__weak __attribute__((noinline)) __u64 blame_runs(struct blame *blame, struct blame_cpu *cpu,
						  __u64 from_ns, __u64 to_ns, __u64 victim)
{
	const struct blame_run *run;
	__u64 begin_ns;
	__u32 at;

	if (!blame || !cpu)
		return 0;
	blame_end_wait(blame, from_ns);
	if (blame->charged_ns > from_ns)
		from_ns = blame->charged_ns;
	blame->charged_ns = to_ns;
	if (victim & BLAME_THROTTLED) {
		blame_throttle(blame, cpu, from_ns, to_ns);
		return 0;
	}
	at = cpu->at - !!(victim & BLAME_SWITCHED);
	/* nearly always it was one */
	run = &cpu->runs[at & (BLAME_RUNS - 1)];
	begin_ns = cpu->runs[(at - 1) & (BLAME_RUNS - 1)].until_ns;
	/* its own: it has lost the CPU in a switch that was not seen */
	if (blame_is_own(run->who, run->pid, run->kind, (__u32)victim))
		return 0;
	if (begin_ns <= from_ns + TURN_TOLERANCE_NS) {
		blame_one_run(blame, run, begin_ns, from_ns, to_ns);
		return 0;
	}
	cpu->victim = (__u32)victim;
	/* when the oldest one began is not known any more */
	for (__u32 i = 0; i < BLAME_RUNS - 2 && to_ns; i++, at--)
		to_ns = blame_run(blame, cpu, at, from_ns, to_ns);
	return to_ns;
}

/*
 * The thread waited in [from_ns, to_ns) of the stretch: each part is charged in proportion, but for
 * the thread's own, which was before or after.
 */
__weak __attribute__((noinline)) int blame_stretch(struct blame *blame,
						   const struct blame_stretch *stretch,
						   __u64 from_ns, __u64 to_ns, __u32 victim)
{
	struct blame_key key = {.how = BLAME_HOW(WIRE_RUNNABLE, steal_seen ? WIRE_CULPRIT_STEAL
									   : WIRE_CULPRIT_IRQ)};
	__u64 length_ns, whole_ns, ns;

	if (!blame || !stretch)
		return 0;
	length_ns = stretch->until_ns - stretch->begin_ns;
	ns = turn_before(stretch->omitted_ns, to_ns - from_ns, length_ns);
	blame_range(blame, &key, from_ns, from_ns + turn_smaller(ns, to_ns - from_ns));
	from_ns += turn_smaller(ns, to_ns - from_ns);
	for (int i = 0; i < BLAME_PARTS; i++)
		if (stretch->parts[i].ns &&
		    blame_is_own(stretch->parts[i].who, stretch->parts[i].pid,
				 stretch->parts[i].kind, victim))
			length_ns -= stretch->parts[i].ns;
	whole_ns = to_ns - from_ns;
	for (int i = 0; i < BLAME_PARTS; i++) {
		const struct blame_part *part = &stretch->parts[i];

		if (!part->ns || blame_is_own(part->who, part->pid, part->kind, victim))
			continue;
		ns = turn_smaller(turn_before(part->ns, whole_ns, length_ns), to_ns - from_ns);
		key.who = part->who;
		key.how = BLAME_HOW(WIRE_RUNNABLE, part->kind) | BLAME_FLAG(part->flags);
		key.comm[0] = part->comm[0];
		key.comm[1] = part->comm[1];
		key.pid = part->pid;
		blame_range(blame, &key, from_ns, from_ns + ns);
		from_ns += ns;
	}
	return 0;
}

/* What the stretch at `at` has of [from_ns, to_ns): as blame_run(). */
__weak __attribute__((noinline)) __u64 blame_stretch_at(struct blame *blame,
							const struct blame_cpu *cpu, __u32 at,
							__u64 from_ns, __u64 to_ns)
{
	const struct blame_stretch *stretch;
	__u64 begin_ns;

	if (!blame || !cpu)
		return 0;
	stretch = &cpu->stretches[at & (BLAME_STRETCHES - 1)];
	if (stretch->until_ns <= from_ns)
		return 0;
	to_ns = turn_smaller(to_ns, stretch->until_ns);
	begin_ns = stretch->begin_ns < from_ns ? from_ns : stretch->begin_ns;
	if (begin_ns >= to_ns)
		return to_ns;
	blame_stretch(blame, stretch, begin_ns, to_ns, cpu->victim);
	return begin_ns > from_ns ? begin_ns : 0;
}

/* The rest of a wait for the CPU: blame_runs(). What the stretches have not, is not known. */
__weak __attribute__((noinline)) int
blame_stretches(struct blame *blame, const struct blame_cpu *cpu, __u64 from_ns, __u64 to_ns)
{
	if (!blame || !cpu)
		return 0;
	for (__u32 i = 0; i < BLAME_STRETCHES && to_ns; i++)
		to_ns = blame_stretch_at(blame, cpu, cpu->stretch - i, from_ns, to_ns);
	return 0;
}

#endif
