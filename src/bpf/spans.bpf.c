// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where spans begin and end (probes on the function that polls tasks, or the system calls an event
 * loop waits in), who ends a worker's wait, and samples of what it runs. Loaded only for `dwell
 * blocked`.
 */
#include "bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/spans.bpf.h"

/* A span is sampled from half of the threshold on, and a long one less and less often. */
#define SAMPLE_GAP_NS 10000000

/* Event loops' turns are spans; else it is only noted who waits for events. */
const volatile bool span_turns = false;

struct bpf_perf_event_data;

static __always_inline void span_send_stack(struct span_stack *stack)
{
	__u64 size = __builtin_offsetof(struct span_stack, user) + stack->user_bytes;

	size = (size + 7) & ~7ULL;
	if (size > sizeof(*stack))
		return;
	stack->header.size = (__u32)size;
	stack->header.kind = SPAN_STACK;
	if (bpf_ringbuf_output(&events, stack, size, 0))
		count(&spans_lost);
}

/* The states' totals up to now, of the current thread. */
static __always_inline void span_totals(const struct account *account, __u64 now_ns,
					__u64 states_ns[WIRE_STATES])
{
	__u64 since_ns;
	__u8 state;

	/* once more if it lost its CPU in between */
	for (int attempt = 0; attempt < 2; attempt++) {
		since_ns = account->live.since_ns;
		for (int i = 0; i < WIRE_STATES; i++)
			states_ns[i] = account->live.totals.ns[i];
		if (account->live.since_ns == since_ns)
			break;
	}
	/* it runs; if its switch-in was not seen the account will say otherwise, and so do we */
	state = account->live.where.state;
	for (int i = 0; i < WIRE_STATES; i++)
		if (i == state && now_ns > since_ns)
			states_ns[i] += now_ns - since_ns;
}

/* The storage of a thread that works. Only in probes, where memory may be allocated. */
static __always_inline struct worker *worker_make(struct task_struct *task)
{
	struct worker *worker =
		bpf_task_storage_get(&workers, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u32 slot;

	if (!worker || worker->slot || worker->kind)
		return worker;
	if (bpf_map_pop_elem(&span_slots, &slot))
		count(&span_slots_lacking);
	else
		worker->slot = slot + 1;
	return worker;
}

static __attribute__((noinline)) void span_begin(struct worker *worker,
						 const struct account *account, __u64 task,
						 __u64 cookie, __u64 now_ns)
{
	__u32 depth = worker->depth;
	struct span_level *level;

	worker->kind = SPAN_COOKIE_KIND(cookie);
	worker->depth = depth + 1;
	if (depth >= SPAN_LEVELS)
		return;
	level = span_level_at(worker, depth);
	level->start_ns = now_ns;
	level->inner_ns = 0;
	level->task = task;
	level->cookie = cookie;
	span_totals(account, now_ns, level->states_ns);
	worker->blocks[worker->longest & 1].ns = 0;
	worker->blocks[worker->longest & 1].has_stack = 0;
	worker->off = 0;
	worker->captures = 0;
	worker->sampled_ns = 0;
	worker->culprit_ns = 0;
	worker->culprit.tid = 0;
}

static __always_inline void span_send(struct worker *worker, const struct span_level *level,
				      const struct account *account, __u64 now_ns)
{
	const struct span_block *longest = &worker->blocks[worker->longest & 1];
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 states_ns[WIRE_STATES];
	struct span_stack *stack;
	struct span_end *end;

	worker->stalls++;
	if (longest->ns && longest->has_stack) {
		stack = span_stack_at(worker, worker->longest, 0);
		if (stack) {
			stack->weight_ns = longest->ns;
			span_send_stack(stack);
		}
		stack = longest->has_waker_stack ? span_stack_at(worker, worker->longest, 1) : NULL;
		if (stack)
			span_send_stack(stack);
	}
	end = bpf_ringbuf_reserve(&events, sizeof(*end), 0);
	if (!end) {
		count(&spans_lost);
		return;
	}
	__builtin_memset(end, 0, sizeof(*end));
	end->header.size = sizeof(*end);
	end->header.kind = SPAN_END;
	end->header.time_ns = now_ns;
	end->start_ns = level->start_ns;
	end->inner_ns = level->inner_ns;
	span_totals(account, now_ns, states_ns);
	for (int i = 0; i < WIRE_STATES; i++)
		end->states_ns[i] = states_ns[i] - level->states_ns[i];
	end->task = level->task;
	end->cookie = level->cookie;
	end->tid = tid_of(task);
	end->pid = pid_of(task);
	end->wait = worker->wait;
	if (longest->ns) {
		end->longest_ns = longest->ns;
		end->longest = longest->where;
		end->waker = longest->waker;
	}
	end->culprit_ns = worker->culprit_ns;
	end->culprit = worker->culprit;
	bpf_ringbuf_submit(end, BPF_RB_FORCE_WAKEUP);
}

static __attribute__((noinline)) void span_finish(struct worker *worker,
						  const struct account *account, __u64 now_ns)
{
	__u32 depth = worker->depth - 1;
	struct span_level *level;
	__u64 spent_ns;

	if (!worker->depth)
		return; /* it began before we did */
	worker->depth = depth;
	if (depth >= SPAN_LEVELS)
		return;
	level = span_level_at(worker, depth);
	spent_ns = now_ns - level->start_ns;
	worker->spans++;
	if (depth && depth - 1 < SPAN_LEVELS)
		span_level_at(worker, depth - 1)->inner_ns += spent_ns;
	if (spent_ns - level->inner_ns < span_threshold_ns)
		return;
	if (spent_ns - level->inner_ns > worker->longest_ns)
		worker->longest_ns = spent_ns - level->inner_ns;
	span_send(worker, level, account, now_ns);
}

SEC("?uprobe")
int on_poll(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker;

	if (!account)
		return 0;
	worker = worker_make(task);
	if (!worker)
		return 0;
	if (SPAN_COOKIE_KIND(cookie) == SPAN_POOL)
		worker->kind = SPAN_POOL;
	else
		span_begin(worker, account, arch_argument_0(ctx), cookie, bpf_ktime_get_ns());
	return 0;
}

SEC("?uretprobe")
int on_poll_end(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);

	if (account && worker && worker->depth)
		span_finish(worker, account, bpf_ktime_get_ns());
	return 0;
}

SEC("?tp")
int on_wait(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 wait = (__u32)bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker;

	if (!account)
		return 0;
	worker = worker_make(task);
	if (!worker || wait < worker->wait)
		return 0;
	worker->wait = wait;
	/* a worker of a runtime whose polls are probed waits here too */
	if (!span_turns || worker->kind == SPAN_POLL || worker->kind == SPAN_POOL)
		return 0;
	worker->kind = SPAN_TURN;
	if (worker->depth)
		span_finish(worker, account, bpf_ktime_get_ns());
	return 0;
}

SEC("?tp")
int on_wait_end(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 wait = (__u32)bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);

	if (!account)
		return 0;
	/* it has waited since before we looked */
	if (!worker && span_turns && wait >= SPAN_WAIT_EPOLL) {
		worker = worker_make(task);
		if (worker) {
			worker->wait = wait;
			worker->kind = SPAN_TURN;
		}
	}
	if (!worker || worker->kind != SPAN_TURN || wait != worker->wait)
		return 0;
	/* a poll() may be a single wait of a thread that is no loop: a second one tells */
	if (wait < SPAN_WAIT_EPOLL && !worker->polled++)
		return 0;
	worker->depth = 0;
	span_begin(worker, account, 0, SPAN_COOKIE(SPAN_TURN, 0), bpf_ktime_get_ns());
	return 0;
}

/* In the context of who wakes; sched_wakeup may come later, on another CPU. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct worker *worker = worker_of(task);
	__u64 now_ns = bpf_ktime_get_ns();
	struct span_block *block;
	struct span_stack *stack;

	if (!worker || !worker->depth || !worker->off)
		return 0;
	block = &worker->blocks[(worker->longest + 1) & 1];
	if (block->waker.tid || now_ns - block->since_ns < span_threshold_ns / 2)
		return 0;
	/* an interrupt wakes too, in whatever thread it hit: only one that shares memory is
	 * believed */
	if (waker->tgid != task->tgid || waker == task)
		return 0;
	span_set_thread(&block->waker, waker);
	stack = span_stack_at(worker, worker->longest + 1, 1);
	if (!stack)
		return 0;
	stack->header.time_ns = now_ns;
	stack->span_ns = span_level_at(worker, 0)->start_ns;
	stack->worker_tid = tid_of(task);
	stack->weight_ns = 0;
	stack->of = SPAN_STACK_WAKER;
	stack->where = block->where;
	stack->in_user_mode = 0;
	span_fill_stack(ctx, waker, stack);
	block->has_waker_stack = 1;
	return 0;
}

SEC("?perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct worker *worker = worker_of(task);
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 states_ns[WIRE_STATES], elapsed_ns, gap_ns;
	struct account *account;
	struct span_level *level;
	struct span_stack *stack;
	__u32 cpu = bpf_get_smp_processor_id(), depth;

	if (!worker || !worker->depth || !(account = account_of(task)))
		return 0;
	depth = worker->depth - 1;
	if (depth >= SPAN_LEVELS)
		return 0;
	level = span_level_at(worker, depth);
	elapsed_ns = now_ns - level->start_ns;
	if (elapsed_ns < span_threshold_ns / 2)
		return 0;
	gap_ns = elapsed_ns > 5 * SAMPLE_GAP_NS ? SAMPLE_GAP_NS : span_threshold_ns / 4;
	if (worker->sampled_ns && now_ns - worker->sampled_ns < gap_ns)
		return 0;
	stack = bpf_map_lookup_elem(&span_samples, &cpu);
	if (!stack)
		return 0;
	span_totals(account, now_ns, states_ns);
	if (!worker->sampled_ns)
		worker->sampled_cpu_ns = level->states_ns[WIRE_ON_CPU];
	stack->weight_ns = states_ns[WIRE_ON_CPU] - worker->sampled_cpu_ns;
	worker->sampled_cpu_ns = states_ns[WIRE_ON_CPU];
	worker->sampled_ns = now_ns;
	stack->header.time_ns = now_ns;
	stack->span_ns = level->start_ns;
	stack->worker_tid = tid_of(task);
	stack->of = SPAN_STACK_SAMPLE;
	stack->where = where(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	span_fill_stack(ctx, task, stack);
	/* in a system call it is where the call returns to */
	stack->in_user_mode = !stack->kernel_count;
	span_send_stack(stack);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
