/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler's hooks do for blame.bpf.h. */
#ifndef DWELL_BPF_BLAME_SCHED_BPF_H
#define DWELL_BPF_BLAME_SCHED_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/blame.bpf.h"
#include "bpf/blame_chain.bpf.h"
#include "bpf/blame_hands.bpf.h"
#include "bpf/connection.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/record.bpf.h"
#include "bpf/sites.bpf.h"
#include "bpf/throttle.bpf.h"

/*
 * A switch may be hidden from tracepoints: then another thread has the CPU than the one that was
 * seen to get it, and who had it how long is not known.
 */
static __always_inline bool blame_is_run_of(const struct blame_run *run,
					    const struct task_struct *task)
{
	if (!task->pid)
		return run->kind == WIRE_CULPRIT_IDLE;
	return run->kind == WIRE_CULPRIT_THREAD &&
	       run->who >> 32 == (__u32)(task->start_boottime >> 20) &&
	       (pid_namespace || (__u32)run->who == (__u32)task->pid);
}

static __always_inline void blame_clear_run(struct blame_run *run, __u16 kind)
{
	run->kind = kind;
	run->flags = 0;
	run->pid = 0;
	run->who = run->comm[0] = run->comm[1] = 0;
}

/* The run is that of the task, up to now: only then its name is known. */
static __always_inline void blame_check_run(struct blame_run *run, const struct task_struct *task)
{
	if (!blame_is_run_of(run, task))
		blame_clear_run(run, WIRE_CULPRIT_UNKNOWN);
	else if (run->kind == WIRE_CULPRIT_THREAD)
		task_name(task, run->comm);
}

/* On the present CPU one run ends, and that of `next` begins. */
static __always_inline void blame_switch(struct blame_cpu *cpu, struct task_struct *prev,
					 struct task_struct *next, const struct rq *rq,
					 const struct turn_clock *clock, __u64 now_ns)
{
	struct blame_run *run = &cpu->runs[cpu->at & (BLAME_RUNS - 1)];

	run->until_ns = now_ns;
	blame_check_run(run, prev);
	run->omitted_ns = clock->omitted_ns - cpu->omitted_ns;
	cpu->omitted_ns = clock->omitted_ns;
	cpu->at++;
	run = &cpu->runs[cpu->at & (BLAME_RUNS - 1)];
	if (rq->nr_running <= 1)
		cpu->alone_at = cpu->at;
	else if (cpu->at - cpu->alone_at >= BLAME_RUNS)
		blame_forget(cpu);
	run->until_ns = 0;
	if (next->pid) {
		run->kind = WIRE_CULPRIT_THREAD;
		run->flags = blame_target_flag(next);
		blame_identify(next, &run->who, &run->pid);
		return;
	}
	blame_clear_run(run, WIRE_CULPRIT_IDLE);
}

/* How much of [from_ns, now) the run at `at` had, which is not the present one. */
static __always_inline __u64 blame_run_since(const struct blame_cpu *cpu, __u32 at, __u64 from_ns)
{
	__u64 begin_ns = cpu->runs[(at - 1) & (BLAME_RUNS - 1)].until_ns;
	__u64 until_ns = cpu->runs[at & (BLAME_RUNS - 1)].until_ns;

	if (begin_ns < from_ns)
		begin_ns = from_ns;
	return until_ns > begin_ns ? until_ns - begin_ns : 0;
}

/* Which thread had the CPU for most of the time since then. */
struct blame_vote {
	__u64 from_ns;
	__u64 who, votes_ns;
	__u64 sum_ns;
	__u32 main; /* one of its runs, modulo BLAME_RUNS */
};

/*
 * The run at `at` votes. False: it had nothing of the time, and so had what was before. By itself,
 * like the next one: in a loop it took the verifier half a second.
 */
__weak __attribute__((noinline)) int blame_take_vote(const struct blame_cpu *cpu,
						     struct blame_vote *vote, __u32 at)
{
	__u64 who, ns;

	if (!cpu || !vote)
		return 0;
	who = cpu->runs[at & (BLAME_RUNS - 1)].who;
	ns = blame_run_since(cpu, at, vote->from_ns);
	if (who == vote->who) {
		vote->votes_ns += ns;
	} else if (ns > vote->votes_ns) {
		vote->who = who;
		vote->main = at;
		vote->votes_ns = ns - vote->votes_ns;
	} else {
		vote->votes_ns -= ns;
	}
	return ns > 0;
}

/* What it had, if it was of the one that was elected. */
__weak __attribute__((noinline)) int blame_count_vote(const struct blame_cpu *cpu,
						      struct blame_vote *vote, __u32 at)
{
	__u64 ns;

	if (!cpu || !vote)
		return 0;
	ns = blame_run_since(cpu, at, vote->from_ns);
	if (cpu->runs[at & (BLAME_RUNS - 1)].who == vote->who)
		vote->sum_ns += ns;
	return ns > 0;
}

/*
 * A run of the thread that had the CPU for most of the time from from_ns to when its present run
 * began, and for least_ns or more: its place + 1. 0: none had, or not for certain. A vote by
 * length: what has the majority outlasts all others together (Boyer and Moore, "MJRTY", 1981); the
 * second loop counts what it has.
 */
__weak __attribute__((noinline)) int blame_main_run(const struct blame_cpu *cpu, __u64 from_ns,
						    __u64 least_ns)
{
	struct blame_vote vote = {.from_ns = from_ns};

	if (!cpu)
		return 0;
	for (__u32 i = 1; i < BLAME_RUNS - 1; i++)
		if (!blame_take_vote(cpu, &vote, cpu->at - i))
			break;
	if (!vote.who)
		return 0;
	for (__u32 i = 1; i < BLAME_RUNS - 1; i++)
		if (!blame_count_vote(cpu, &vote, cpu->at - i))
			break;
	return vote.sum_ns && vote.sum_ns >= least_ns ? (int)(vote.main & (BLAME_RUNS - 1)) + 1 : 0;
}

/* As blame_runs(), but all of it. */
static __always_inline void blame_wait_for(struct blame *blame, struct blame_cpu *cpu,
					   __u64 from_ns, __u64 to_ns, __u64 victim)
{
	__u64 charged_ns = blame->charged_ns;
	__u64 rest_ns = blame_runs(blame, cpu, from_ns, to_ns, victim);

	if (rest_ns)
		blame_stretches(blame, cpu, charged_ns > from_ns ? charged_ns : from_ns, rest_ns);
}

/* The victim of blame_runs() that has waited at a site. */
static __always_inline __u64 blame_victim(struct task_struct *task, struct account *account,
					  struct wire_wait_site waited, struct blame_cpu *cpu)
{
	if (waited.detail != WIRE_DETAIL_THROTTLED)
		return account->tid;
	if (cpu)
		limit_identify(task, blame_of(account)->limit, &cpu->limit_id, cpu->limit_name);
	return account->tid | BLAME_THROTTLED;
}

/*
 * Nearly always one run had the CPU all the time, and it is the culprit of the time before: it is
 * charged without a call, which costs more than the rest. False: it is not so.
 */
static __always_inline bool blame_run_again(struct blame *blame, const struct blame_cpu *cpu,
					    __u64 from_ns, __u64 to_ns, __u32 victim)
{
	const struct blame_run *run = &cpu->runs[(cpu->at - 1) & (BLAME_RUNS - 1)];
	__u32 place = blame->again[1];
	struct wire_culprit *culprit;

	blame_end_wait(blame, from_ns);
	if (blame->charged_ns > from_ns)
		from_ns = blame->charged_ns;
	if (place >= BLAME_CULPRITS || place >= blame->count)
		return false;
	culprit = &blame->culprits[place];
	if (run->omitted_ns || (__u32)run->who == victim || from_ns >= to_ns ||
	    from_ns < blame->frozen_ns || blame_who(culprit) != run->who ||
	    blame_how(culprit) != (BLAME_HOW(WIRE_RUNNABLE, run->kind) | BLAME_FLAG(run->flags)) ||
	    cpu->runs[(cpu->at - 2) & (BLAME_RUNS - 1)].until_ns > from_ns + TURN_TOLERANCE_NS)
		return false;
	blame->charged_ns = to_ns;
	culprit->total_ns += to_ns - from_ns;
	culprit->count++;
	/* it may have become another program */
	((__u64 *)culprit->comm)[0] = run->comm[0];
	((__u64 *)culprit->comm)[1] = run->comm[1];
	return true;
}

/* The thread has got this CPU, for which it waited, in the state `waited`, from since_ns on. */
static __always_inline void blame_queue(struct blame_cpu *cpu, struct task_struct *task,
					struct account *account, struct wire_wait_site waited,
					__u64 since_ns, __u64 now_ns)
{
	__u64 victim;

	blame_begin(account, now_ns);
	if (blame_of(account)->polled && waited.detail == WIRE_DETAIL_WOKEN)
		blame_poll_runs(task, account, now_ns);
	if (!cpu || (waited.detail != WIRE_DETAIL_THROTTLED &&
		     blame_run_again(blame_of(account), cpu, since_ns, now_ns, account->tid)))
		return;
	victim = blame_victim(task, account, waited, cpu) | BLAME_SWITCHED;
	blame_wait_for(blame_of(account), cpu, since_ns, now_ns, victim);
}

/* The thread leaves the queue of its CPU for that of another one. */
static __always_inline void blame_migrate(struct task_struct *task, struct account *account,
					  __u64 now_ns)
{
	__u32 index = task_cpu(task);
	struct blame_cpu *cpu = bpf_map_lookup_elem(&blame_cpus, &index);
	const struct rq *rq = run_queue_of(task);
	__u64 victim = blame_victim(task, account, account->live.site, cpu);

	blame_begin(account, now_ns);
	if (cpu && rq)
		blame_check_run(&cpu->runs[cpu->at & (BLAME_RUNS - 1)], FOLLOW(rq, curr));
	if (cpu)
		blame_wait_for(blame_of(account), cpu, account->live.since_ns, now_ns, victim);
}

/*
 * What ended the wait was no thread. A timer fires in a hard interrupt, packets come in a soft one.
 */
static __always_inline __u8 blame_interrupt(__u8 state, __u32 context)
{
	if (state == WIRE_SLEEP || state == WIRE_LOCK || state == WIRE_IPC)
		return WIRE_CULPRIT_TIMER;
	if (state == WIRE_DISK || state == WIRE_NET || state == WIRE_SWAP)
		return WIRE_CULPRIT_DEVICE;
	if (state == WIRE_IDLE)
		return context & HARDIRQ_OR_NMI ? WIRE_CULPRIT_TIMER : WIRE_CULPRIT_DEVICE;
	return WIRE_CULPRIT_UNKNOWN;
}

/*
 * An interrupt that completes a request of a disk wakes who waits for it at once. What is woken
 * later, or after a switch, is woken by something else.
 */
#define DISK_WAKES_NS 200000ULL

static __always_inline void blame_disk(struct blame_cpu *cpu, struct request *request, __u64 now_ns)
{
	cpu->disk[0] = cpu->disk[1] = 0;
	cpu->disk_ns = now_ns;
	bpf_probe_read_kernel_str(cpu->disk, sizeof(cpu->disk),
				  BPF_CORE_READ(request, q, disk)->disk_name);
}

/* The disk that has ended the wait, if it was one. */
static __always_inline void blame_device(const struct blame_cpu *cpu, struct blame_key *key,
					 __u64 now_ns)
{
	__u8 state = (__u8)(key->how >> 32), kind = (__u8)(key->how >> 40);

	if (kind != WIRE_CULPRIT_DEVICE || (state != WIRE_DISK && state != WIRE_SWAP) ||
	    now_ns - cpu->disk_ns > DISK_WAKES_NS ||
	    cpu->disk_ns < cpu->runs[(cpu->at - 1) & (BLAME_RUNS - 1)].until_ns)
		return;
	key->comm[0] = cpu->disk[0];
	key->comm[1] = cpu->disk[1];
}

/* include/linux/sched/jobctl.h: to stop, to freeze, or to wait for who traces it */
#define JOBCTL_PENDING 0x009a0000UL

/*
 * A signal, a stop or a debugger interrupts the wait. Most such calls are made again and wait on
 * (SA_RESTART), and who makes them wait has not changed: nothing is owed to the signal's sender.
 */
static __always_inline bool blame_interrupted(const struct task_struct *task, __u8 state)
{
	__u64 signals;

	if ((state != WIRE_LOCK && state != WIRE_IPC && state != WIRE_NET) ||
	    !(task->__state & TASK_INTERRUPTIBLE))
		return false;
	signals = task->pending.signal.sig[0] | FOLLOW(task, signal, shared_pending.signal.sig[0]);
	return signals & ~task->blocked.sig[0] || task->jobctl & JOBCTL_PENDING;
}

/*
 * Where on its stack a thread that is in a system call has made it, and for which lock; never 0.
 * The two words of glibc's condition variables that its waiters take turns at are one lock here.
 */
static __always_inline __u32 poll_place(struct task_struct *task, __u32 lock)
{
	return ((__u32)(user_frame_of(task).stack >> 3) ^ (lock >> 3) * 0x9e3779b1U) | 1;
}

#define POLL_OF_LOCK 1 /* the wait is for a lock, */
#define POLL_ENDS    2 /* and a timer has ended it */

/*
 * blame_polls() of the wait that ends now, after one that ended at ended_ns. True: this one, too,
 * is charged with what comes after it. No part of its caller, for the sake of verifiers up to 6.1.
 */
static __noinline int blame_defer(struct blame *blame, struct blame_wait *wait,
				  struct task_struct *task, __u64 ended_ns, __u32 poll)
{
	__u32 place;

	if (!blame || !wait || !task)
		return 0;
	if (poll == POLL_OF_LOCK && blame->polled && is_beside_poll(blame, wait, ended_ns))
		return 0;
	place = poll & POLL_OF_LOCK ? poll_place(task, blame->lock) : 0;
	if (blame->polled)
		blame_polls(blame, wait, place, ended_ns);
	else
		blame->handed.gaps = 0;
	if (!(poll & POLL_ENDS) || wait->to_ns - wait->from_ns >= POLLS_MAX_NS)
		return 0;
	blame->polled = (__u32)((wait->to_ns - wait->from_ns) >> 10);
	blame->polled_from = place;
	blame->last = 0;
	blame->polled_lock = blame->lock;
	blame->polled_delay = 0;
	blame->polled_beside = 0;
	return 1;
}

/* The current thread, or an interrupt in it, ends the wait that the task's account is in. */
static __always_inline void blame_waking(struct task_struct *task, struct account *account,
					 __u64 now_ns)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	__u32 context = interrupt_context(waker);
	struct blame_chain chain = {
		.wait.key.count = 1,
		.wait.from_ns = site_counts_from(account),
		.wait.to_ns = now_ns,
	};
	struct blame_wait *wait = &chain.wait;
	__u32 index = bpf_get_smp_processor_id();
	struct blame_cpu *cpu = bpf_map_lookup_elem(&blame_cpus, &index);
	struct blame *blame = blame_of(account);
	__u64 begin_ns = now_ns, ended_ns = blame->waking_ns;
	__u8 state = account->live.site.state;
	bool interrupted = blame_interrupted(task, state);
	__u32 poll = state == WIRE_LOCK ? POLL_OF_LOCK : 0;
	struct account *past;

	blame_begin(account, now_ns);
	blame->charged_ns = blame->waking_ns = now_ns;
	blame->waking_cpu = (__u16)(index + 1);
	blame->woken_ran = (__u32)(task->se.sum_exec_runtime >> 10);
	if (context == SOFTIRQ_SERVED && state == WIRE_NET && connects(task, waker))
		context = 0;
	if (poll && (context || !waker->pid) && !interrupted)
		poll |= POLL_ENDS;
	if ((blame->polled || poll & POLL_ENDS) && blame_defer(blame, wait, task, ended_ns, poll)) {
		blame_note_poll(task, account, blame->lock, now_ns);
		return;
	}
	if (context || !waker->pid || interrupted) {
		wait->key.how = BLAME_HOW(state, interrupted ? WIRE_CULPRIT_UNKNOWN
							     : blame_interrupt(state, context));
		if (cpu)
			blame_device(cpu, &wait->key, now_ns);
		blame->last = blame_range(blame, &wait->key, wait->from_ns, now_ns);
		return;
	}
	blame_identify(waker, &wait->key.who, &wait->key.pid);
	task_name(waker, wait->key.comm);
	if (cpu && cpu->runs[cpu->at & (BLAME_RUNS - 1)].who == wait->key.who)
		begin_ns = cpu->runs[(cpu->at - 1) & (BLAME_RUNS - 1)].until_ns;
	/* since it got its CPU, the waker has run: nearly always all the time */
	if (begin_ns <= wait->from_ns + TURN_TOLERANCE_NS || begin_ns > now_ns)
		begin_ns = wait->from_ns;
	wait->key.how = BLAME_HOW(state, WIRE_CULPRIT_THREAD) |
			BLAME_FLAG(WIRE_CULPRIT_MEANWHILE | blame_target_flag(waker)) |
			BLAME_ON_CPU;
	blame->most = 0;
	blame->last = blame_part(blame, &wait->key, begin_ns, now_ns);
	if (state == WIRE_LOCK) {
		blame_hands_wake(task, account, now_ns - begin_ns, now_ns);
		wait->to_ns = begin_ns;
		blame_past_lock(task, account, &chain, now_ns);
	} else if (begin_ns > wait->from_ns) {
		wait->to_ns = begin_ns;
		past = account_of(waker);
		if (past)
			blame_past(blame, wait, blame_of(past));
		else
			blame_site(blame, wait, 0, ~0ULL, wait->from_ns);
	}
}

/* When the wait was ended, if that was just now, on this CPU; else now. */
static __always_inline __u64 blame_end_ns(struct account *account)
{
	struct blame *blame = blame_of(account);
	__u32 cpu = blame->waking_cpu;

	blame->waking_cpu = 0;
	return cpu == bpf_get_smp_processor_id() + 1 ? blame->waking_ns : bpf_ktime_get_ns();
}

/* With the thread's last totals. `is_last`: it ends in the last interval, with all it has. */
static __always_inline void blame_end_thread(struct account *account, bool is_last)
{
	__u64 end_ns = account->live.since_ns;
	struct blame_wait none = {};

	if (!is_last)
		blame_begin(account, end_ns);
	if (blame_of(account)->polled)
		blame_polls(blame_of(account), &none, 0, blame_of(account)->waking_ns);
	blame_send((struct blamed_account *)account, end_ns);
}

#endif
