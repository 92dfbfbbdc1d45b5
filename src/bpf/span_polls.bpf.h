/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probes on the functions that poll tasks do: spans begin and end, closures of pools. */
#ifndef DWELL_BPF_SPAN_POLLS_BPF_H
#define DWELL_BPF_SPAN_POLLS_BPF_H

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/span_bounds.bpf.h"
#include "bpf/span_unprobed.bpf.h"
#include "bpf/spans.bpf.h"

/* It begins its life as a worker, in which it polls tasks: that is no span. */
static __always_inline void send_launch(struct worker *worker, __u64 now_ns)
{
	struct span_launch *launch;

	if (!worker->woken_by)
		return;
	launch = bpf_ringbuf_reserve(&events, sizeof(*launch), 0);
	if (launch) {
		launch->header.size = sizeof(*launch);
		launch->header.kind = SPAN_LAUNCH;
		launch->header.time_ns = now_ns;
		launch->span_ns = worker->woken_span_ns;
		launch->tid = worker->woken_by;
		launch->pad = 0;
		bpf_ringbuf_submit(launch, 0);
	}
	worker->woken_by = 0;
}

/* Of the probes of polls, on each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span_poll_counts);
} span_polls SEC(".maps");

/* One of so many takes its time; one that was interrupted for longer says nothing. */
#define TIMED_POLLS  64
#define TIMED_MAX_NS 20000

/* 0: it is not timed. */
static __always_inline __u64 poll_timer(struct span_poll_counts *counts)
{
	return counts && counts->polls % TIMED_POLLS == 0 ? bpf_ktime_get_ns() : 0;
}

static __always_inline void poll_timed(struct span_poll_counts *counts, __u64 start_ns, bool ends)
{
	__u64 ns = start_ns ? bpf_ktime_get_ns() - start_ns : TIMED_MAX_NS;

	if (!counts || ns >= TIMED_MAX_NS)
		return;
	counts->timed[ends & 1]++;
	counts->timed_ns[ends & 1] += ns;
}

static __always_inline struct span_poll_counts *poll_counts(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&span_polls, &key);
}

/* Those that began on a stack that is not known as their thread's own. */
__u64 polls_elsewhere;

struct stack_area {
	__u64 start, end;
};

static long note_area(struct task_struct *task, struct vm_area_struct *area,
		      struct stack_area *noted)
{
	(void)task;
	noted->start = area->vm_start;
	noted->end = area->vm_end;
	return 0;
}

/*
 * Whether the thread's own stack is in use, rather than that of a coroutine or a signal handler.
 * The first thread's is where the kernel has put its arguments; C libraries have the memory that
 * the thread pointer is of at the upper end of all others. False where the kernel cannot say now,
 * because the process maps memory.
 */
static __noinline int is_own_stack(struct task_struct *task, struct worker *worker, __u64 pointer)
{
	struct stack_area area = {0};
	__u64 within, high;
	bool is_first;

	if (!task || !worker)
		return 0;
	if (pointer >= worker->own_low && pointer < worker->own_high)
		return 1;
	if (bpf_find_vma(task, pointer, note_area, &area, 0))
		return 0;
	is_first = task->pid == task->tgid;
	within = is_first ? BPF_CORE_READ(task, mm, start_stack) : arch_thread_pointer(task);
	high = is_first ? area.end : within;
	if (within < area.start || within > area.end || pointer >= high)
		return 0;
	worker->own_low = area.start;
	worker->own_high = high;
	return 1;
}

/* What is known of closures, by their number. */
enum { CLOSURE_UNKNOWN, CLOSURE_LIFE, CLOSURE_POOL };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} closures SEC(".maps");

static __always_inline __u8 closure_kind(__u32 number)
{
	const __u8 *kind = bpf_map_lookup_elem(&closures, &number);

	return kind ? *kind : CLOSURE_UNKNOWN;
}

static __always_inline void closure_learn(__u32 number, __u8 kind)
{
	bpf_map_update_elem(&closures, &number, &kind, BPF_ANY);
}

/*
 * A closure begins. One in which tasks are polled is a worker's life; one that another follows on
 * its thread, without that, is the pool's. Until either is seen, whose span has started it may be
 * in block_in_place(), and is not blamed.
 */
static __noinline int enter_closure(struct worker *worker, __u32 number, __u64 now_ns)
{
	__u8 kind;

	if (!worker)
		return 0;
	if (worker->closure && closure_kind(worker->closure) == CLOSURE_UNKNOWN)
		closure_learn(worker->closure, CLOSURE_POOL);
	kind = closure_kind(number);
	worker->closure = kind == CLOSURE_LIFE ? 0 : number;
	worker->kind = kind == CLOSURE_LIFE ? SPAN_POLL : SPAN_POOL;
	if (kind != CLOSURE_POOL)
		send_launch(worker, now_ns);
	return 0;
}

/* Whether its end is to be seen. `own`: only where it is on its thread's own stack. */
static __always_inline bool poll_begins(struct pt_regs *ctx, struct span_poll_counts *counts,
					bool own)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker;
	__u64 now_ns, stack;
	__u32 depth;

	if (!account)
		return false;
	if (!worker_may_be(task))
		return false;
	worker = worker_make(task);
	if (!worker)
		return false;
	if (SPAN_COOKIE_KIND(cookie) == SPAN_POOL) {
		worker->kind = SPAN_POOL;
		return false;
	}
	now_ns = bpf_ktime_get_ns();
	if (SPAN_COOKIE_KIND(cookie) == SPAN_CLOSURE)
		return enter_closure(worker, cookie >> 8, now_ns);
	if (SPAN_COOKIE_KIND(cookie) == SPAN_LIFE) {
		worker->kind = SPAN_POLL;
		send_launch(worker, now_ns);
		return false;
	}
	if (worker->closure) {
		closure_learn(worker->closure, CLOSURE_LIFE);
		worker->closure = 0;
	}
	stack = arch_user_frame(ctx).stack;
	if (counts)
		counts->polls++;
	if (own && !is_own_stack(task, worker, stack)) {
		__sync_fetch_and_add(&polls_elsewhere, 1);
		return false;
	}
	worker->pending = 0;
	span_refresh(worker, account);
	span_learn_slot(worker, stack);
	if (span_is_run(worker))
		span_end_run(worker, account, now_ns, now_ns);
	/* the probes are about to go: its return would not be seen */
	if (span_unprobed)
		return false;
	if (span_is_endless(worker))
		span_finish(worker, account, now_ns);
	span_forget_gone(worker, stack);
	span_begin(worker, account, arch_argument_0(ctx), cookie, now_ns);
	depth = worker->depth - 1;
	if (depth < SPAN_LEVELS)
		span_level_at(worker, depth)->stack = stack;
	return true;
}

static __always_inline int poll_ends(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);

	__u64 now_ns = bpf_ktime_get_ns();

	if (!account || !worker || !worker->depth || worker->generation != span_generation)
		return 0;
	span_finish(worker, account, now_ns);
	if (worker->root && !worker->depth)
		span_begin(worker, account, 0, SPAN_COOKIE(SPAN_ROOT, 0), now_ns);
	return 0;
}

#endif
