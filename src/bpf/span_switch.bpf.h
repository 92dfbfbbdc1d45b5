/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sched_switch does for workers in a span: spans.bpf.h. Out of line, so that others pay
 * nothing. */
#ifndef DWELL_BPF_SPAN_SWITCH_BPF_H
#define DWELL_BPF_SPAN_SWITCH_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/blame_sched.bpf.h"
#include "bpf/span_bounds.bpf.h"
#include "bpf/span_ends.bpf.h"
#include "bpf/span_locks.bpf.h"
#include "bpf/span_unprobed.bpf.h"
#include "bpf/spans.bpf.h"
#include "bpf/throttle.bpf.h"
#include "bpf/turn.h"

/* A thread ends; no snapshot may have met it. */
static __attribute__((noinline)) void worker_end(struct task_struct *task, __u64 now_ns)
{
	struct worker *worker = worker_of(task);
	struct span_worker *record;

	if (!worker)
		return;
	span_stacks_release(worker);
	worker->depth = 0;
	if (!worker->kind && !worker->past_kind)
		return;
	record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);
	if (!record) {
		count(&spans_lost);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->header.size = sizeof(*record);
	record->header.kind = SPAN_WORKER;
	record->header.time_ns = now_ns;
	record->start_ns = task->start_boottime;
	record->spans = worker->spans;
	record->stalls = worker->stalls;
	record->longest_ns = worker->longest_ns;
	record->since_ns = now_ns;
	record->site = wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	record->tid = tid_of(task);
	record->pid = pid_of(task);
	record->kind = worker->kind ? worker->kind : worker->past_kind;
	BPF_CORE_READ_STR_INTO(&record->comm, task, comm);
	bpf_ringbuf_submit(record, 0);
}

/* Very many short waits in one span: not each is worth a stack. */
#define CAPTURES_AT_ONCE 16

/* Global for the verifier's sake. */
__weak __attribute__((noinline)) int span_keeps(const struct worker *worker, __u8 state)
{
	if (!worker)
		return 0;
	for (int i = 0; i < SPAN_BLOCKS; i++)
		if (worker->kept & 1U << i && worker->blocks[i].site.state == state)
			return 1;
	return 0;
}

/* The first of its state is. However often it is preempted, that takes no wait's stack. */
static __always_inline bool worth_a_stack(struct worker *worker, __u8 state, __u64 now_ns)
{
	__u32 *captures = state == WIRE_RUNNABLE ? &worker->preempted : &worker->captures;

	if (!span_keeps(worker, state) || (*captures)++ < CAPTURES_AT_ONCE)
		return true;
	return now_ns - worker->captured_ns > span_threshold_ns / 8;
}

#define POLL_LOOKED_AT 4

/*
 * The same, or one for what the first descriptors of poll() are: one of the network decides. Of the
 * current thread.
 */
static __attribute__((noinline)) int span_refine(struct task_struct *task,
						 struct wire_wait_site *site)
{
	const struct pt_regs *regs;
	struct poll_descriptor one;
	__u64 at, count;

	if (!task || !site)
		return 0;
	if (site->state != WIRE_IDLE || site->detail != WIRE_DETAIL_NONE)
		return 0;
	span_refine_child(site);
	if (class_of(site->syscall) == SYSCALL_SELECT) {
		int first = select_first(task);

		if (first >= 0)
			site->detail = any_where(classify_descriptor(task, (__u32)first,
								     site->syscall, false))
					       .detail;
	}
	if (class_of(site->syscall) != SYSCALL_POLL)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	at = arch_argument_0(regs);
	count = arch_argument_1(regs);
	for (__u32 i = 0; i < POLL_LOOKED_AT; i++) {
		struct wire_wait_site found;

		if (i >= count ||
		    bpf_probe_read_user(&one, sizeof(one), (void *)(at + i * sizeof(one))))
			break;
		if (one.fd < 0)
			continue;
		found = any_where(classify_descriptor(task, (__u32)one.fd, site->syscall, false));
		if (found.state == WIRE_NET || site->detail == WIRE_DETAIL_NONE)
			site->detail = found.detail;
		if (found.state == WIRE_NET)
			break;
	}
	return 0;
}

/*
 * Whether a thread of an event loop waits until it is its turn to wait for events: then its turn at
 * what came before is over.
 */
static __always_inline int span_parks(struct worker *worker, const struct account *account,
				      struct task_struct *task, struct wire_wait_site site,
				      __u64 now_ns)
{
	if (!worker || !account || !task)
		return 0;
	if (worker->kind != SPAN_TURN || !worker->depth || !span_is_at_park(task, site))
		return 0;
	span_finish(worker, account, now_ns);
	worker->depth = 0;
	worker->parked = 1;
	return 1;
}

/* Waits of C libraries in one function differ by less. */
#define JOB_BYTES 256

/*
 * Whether a thread whose loop would be in poll() waits for a job: to accept() one, closer to the
 * beginning of its stack than it polled, or, where it polled for what is not a loop's alone, for a
 * condition. Then it is of a pool, and polls in its jobs. How deep a wait is says little, though:
 * user space is asked, and until it answers the thread has no loop.
 */
static __always_inline bool is_job_of_poller(struct worker *worker,
					     const struct wire_wait_site *site, __u64 stack)
{
	enum syscall_class class = class_of(site->syscall);

	if (class == SYSCALL_FUTEX)
		return site->detail != WIRE_DETAIL_FUTEX_LOCK &&
		       (worker->polls_few || stack > worker->poll_stack);
	if (ARCH_IS_ACCEPT(site->syscall))
		return true;
	return (class == SYSCALL_DESCRIPTOR || class == SYSCALL_WRITE || class == SYSCALL_WAIT ||
		class == SYSCALL_SELECT) &&
	       stack >= worker->poll_stack + JOB_BYTES;
}

enum { SPAN_NO_JOB, SPAN_JOB, SPAN_JOB_MAYBE };

/*
 * A loop goes round so often between two such waits of its handlers, and a pool polls less often in
 * a job: of that nothing is asked.
 */
#define POLLS_BETWEEN_MIN 8
/* For each thread: handlers wait in some more places, a pool in one. */
#define ASKED_MAX 32

static __noinline int span_waits_for_job(struct worker *worker, struct task_struct *task,
					 const struct wire_wait_site *site)
{
	__u32 polls;
	__u64 stack;

	if (!worker || !task || !site || span_prefix[0])
		return SPAN_NO_JOB;
	if (worker->wait != SPAN_WAIT_POLL || site->state != WIRE_IDLE ||
	    (worker->kind != SPAN_TURN && !worker->has_jobs))
		return SPAN_NO_JOB;
	stack = user_stack_of(task);
	if (!is_job_of_poller(worker, site, stack))
		return SPAN_NO_JOB;
	polls = worker->polls_between;
	worker->polls_between = 0;
	worker->job_stack = ARCH_IS_ACCEPT(site->syscall) ? 0 : stack;
	if (span_waited_in_handler(worker, task))
		return SPAN_NO_JOB;
	worker->has_jobs = 1;
	worker->polled = 0;
	worker->kind = worker->past_kind = worker->depth = worker->off = 0;
	return worker->job_stack && polls >= POLLS_BETWEEN_MIN ? SPAN_JOB_MAYBE : SPAN_JOB;
}

static __noinline int span_ask_job(void *ctx, struct worker *worker, struct task_struct *task,
				   __u64 now_ns)
{
	struct span_stack *stack;

	if (!worker || !task || worker->asked >= ASKED_MAX)
		return 0;
	span_stack_take(worker, worker->present, 0);
	stack = span_stack_at(worker, worker->present, 0);
	if (!stack)
		return 0;
	worker->asks = 1;
	worker->asked++;
	stack->weight_ns = 0;
	span_send_running(ctx, stack, task, SPAN_STACK_JOB, 0, now_ns);
	span_stacks_return(worker);
	return 0;
}

/*
 * Whether it leaves its CPU in a span, or in what may be one while the probes are off.
 */
static __always_inline int span_leaves_span(struct worker *worker, const struct account *account,
					    struct task_struct *task, __u8 state, __u64 now_ns)
{
	/* a worker's loop waits like this, too; by the stack it is known where names say nothing */
	bool may_be_loop = state == WIRE_IDLE || state == WIRE_IPC || state == WIRE_UNKNOWN;
	bool idle = state == WIRE_IDLE, parks;

	if (!worker || !account || !task)
		return 0;
	/* a switch to it that no tracepoint reported */
	if (worker->alone)
		worker->off = 0;
	worker->alone = 0;
	if (worker->kind == SPAN_POLL && idle && !worker->depth && !span_unprobed)
		span_learn_park(worker, user_stack_of(task));
	parks = idle && (span_is_run(worker) || !worker->depth) &&
		span_is_park(worker, user_stack_of(task));
	if (span_is_run(worker) && parks)
		span_end_run(worker, account, now_ns, now_ns);
	else if (idle && span_is_endless(worker))
		span_finish(worker, account, now_ns);
	if (worker->depth)
		return 1;
	if (!span_unprobed || worker->kind != SPAN_POLL || parks)
		return 0;
	worker->alone = 1;
	worker->in_poll = may_be_loop && span_signature(worker, user_stack_of(task));
	worker->captures = worker->preempted = 0;
	span_no_culprit(worker);
	return 1;
}

/*
 * These two are not inlined: 6.1 adds up the stack of all functions on the way to the deepest one,
 * and their callers' have no room for them.
 */
static __noinline int span_note_limit(struct worker *worker, struct task_struct *task)
{
	if (worker)
		worker->limit = limit_reached(task);
	return 0;
}

/* Whatever had the CPU, the worker might not run: the cgroup whose limit it had reached. */
static __noinline int span_set_limit(struct worker *worker, struct task_struct *task)
{
	struct span_thread *limit;
	__u64 id;

	if (!worker)
		return 0;
	limit = &worker->culprit;
	limit_identify(task, worker->limit, &id, (__u64 *)limit->comm);
	limit->tid = (__u32)id;
	limit->pid = (__u32)(id >> 32);
	worker->culprit_is_limit = limit->comm[0] != 0;
	return 0;
}

/* The current thread leaves its CPU, and its account says for what. */
static __attribute__((noinline)) void span_leave_cpu(void *ctx, struct task_struct *task,
						     const struct account *account, __u64 now_ns)
{
	struct worker *worker = worker_of(task);
	struct wire_wait_site site;
	struct span_block *block;
	struct span_stack *stack;
	__u32 depth;
	int job;

	if (!worker)
		return;
	site = account->live.site;
	/* it has come back to where it waits for work */
	if (site.state == WIRE_IDLE)
		worker->pending = 0;
	span_refresh(worker, account);
	if (span_loop_is_over(worker, task))
		return;
	job = span_waits_for_job(worker, task, &site);
	if (job == SPAN_JOB_MAYBE)
		span_ask_job(ctx, worker, task, now_ns);
	if (job != SPAN_NO_JOB || span_parks(worker, account, task, site, now_ns) ||
	    span_waits_for_lock(worker, account, task, site, now_ns))
		return;
	if (!span_leaves_span(worker, account, task, site.state, now_ns))
		return;
	depth = worker->depth - 1;
	if (worker->depth && depth >= SPAN_LEVELS)
		return;
	/* a switch to it that no tracepoint reported */
	if (worker->off)
		span_end_block(worker, now_ns);
	span_refine(task, &site);
	block = span_block_at(worker, worker->present);
	block->since_ns = now_ns;
	block->site = site;
	block->waker.tid = 0;
	block->has_stack = 0;
	block->has_waker_stack = 0;
	worker->off = 1;
	if (site.detail == WIRE_DETAIL_THROTTLED)
		span_note_limit(worker, task);
	if (!worth_a_stack(worker, site.state, now_ns))
		return;
	span_stack_take(worker, worker->present, 0);
	stack = span_stack_at(worker, worker->present, 0);
	if (!stack)
		return;
	worker->captured_ns = now_ns;
	stack->header.time_ns = now_ns;
	stack->span_ns = worker->depth ? span_level_at(worker, depth)->start_ns : now_ns;
	stack->worker_tid = tid_of(task);
	stack->of = SPAN_STACK_BLOCK;
	stack->site = site;
	span_fill_stack(ctx, task, stack);
	block->has_stack = 1;
}

/*
 * The thread that had this CPU for most of the time that the worker waited: the last one that had
 * it may have had it for microseconds only. Not inlined either.
 */
static __noinline int span_set_culprit(struct worker *worker, const struct task_struct *task,
				       __u64 waited_ns, __u64 now_ns)
{
	const struct rq *rq = run_queue_of(task);
	struct blame_cpu *cpu = blame_cpu_here();
	const struct blame_run *run;
	__u64 here_ns = waited_ns;
	__u32 place;

	if (!worker || !cpu)
		return 0;
	/* it may have waited for another CPU before */
	if (rq && bpf_core_field_exists(task->sched_info.last_queued))
		here_ns = turn_smaller(here_ns, rq->clock - task->sched_info.last_queued);
	place = (__u32)blame_main_run(cpu, now_ns - here_ns, waited_ns / 2);
	if (!place)
		return 0;
	run = &cpu->runs[(place - 1) & (BLAME_RUNS - 1)];
	if (!run->pid)
		return 0;
	worker->culprit.tid = (__u32)run->who;
	worker->culprit.pid = run->pid;
	__builtin_memcpy(worker->culprit.comm, run->comm, sizeof(run->comm));
	return 0;
}

/*
 * It has a CPU again; `waited_ns` since it could have run. `before` had the CPU; NULL: whatever
 * had it, the worker might not run, for its budget was used up.
 */
static __attribute__((noinline)) void span_take_cpu(struct task_struct *task,
						    struct task_struct *before,
						    const struct account *account, __u64 waited_ns,
						    __u64 now_ns)
{
	struct worker *worker = worker_of(task);

	if (!worker)
		return;
	if (worker->root && !worker->depth && !span_unprobed)
		span_begin(worker, account, 0, SPAN_COOKIE(SPAN_ROOT, 0), now_ns);
	if (worker->parked && !worker->depth) {
		worker->parked = 0;
		span_begin(worker, account, 0, SPAN_COOKIE(SPAN_TURN, 0), now_ns);
		return;
	}
	/* its poll began before the probes were detached: of that, only the wait is known */
	if (worker->generation != span_generation && worker->depth && !worker->is_loop &&
	    !span_is_run(worker)) {
		worker->alone = worker->off && worker->kind == SPAN_POLL;
		worker->depth = 0;
	}
	if (!worker->off || (!worker->depth && !worker->alone))
		return;
	if (waited_ns > worker->culprit_ns && waited_ns > span_threshold_ns / 8 &&
	    (!before || before->pid)) {
		span_no_culprit(worker);
		worker->culprit_ns = waited_ns;
		if (!before)
			span_set_limit(worker, task);
		else
			span_set_culprit(worker, task, waited_ns, now_ns);
	}
	if (worker->alone || span_is_long_wait(worker, waited_ns, now_ns)) {
		worker->alone = 0;
		worker->off = 0;
		worker->depth = 0;
		if (worker->announced)
			span_alarm(worker, tid_of(task), SPAN_ALARM_OVER);
		span_send_wait(worker, task, waited_ns, now_ns);
		span_stacks_return(worker);
		return;
	}
	span_end_block(worker, now_ns);
}

#endif
