// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where spans begin and end (probes on the function that polls tasks, or the system calls an event
 * loop waits in), who ends a worker's wait, and samples of what it runs. Loaded only for `dwell
 * blocked`.
 */
#include "bpf/kernel_types.h"

#define FOLLOW_BY_COPY

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/connection.bpf.h"
#include "bpf/span_bounds.bpf.h"
#include "bpf/span_locks.bpf.h"
#include "bpf/span_loops.bpf.h"
#include "bpf/span_polls.bpf.h"
#include "bpf/span_unprobed.bpf.h"
#include "bpf/spans.bpf.h"

/* A span is sampled from half of the threshold on, and a long one less and less often. */
#define SAMPLE_GAP_NS 10000000

struct bpf_perf_event_data;

#define SEED_SAMPLE_GAP_NS 10000000

static __u64 seed_samples, seed_sample_ns;

SEC("?uprobe")
int on_poll(struct pt_regs *ctx)
{
	struct span_poll_counts *counts = poll_counts();
	__u64 start_ns = poll_timer(counts);

	poll_begins(ctx, counts, false);
	poll_timed(counts, start_ns, false);
	return 0;
}

SEC("?uretprobe")
int on_poll_end(struct pt_regs *ctx)
{
	struct span_poll_counts *counts = poll_counts();
	__u64 start_ns = poll_timer(counts);

	poll_ends();
	poll_timed(counts, start_ns, true);
	return 0;
}

/*
 * Both, where the kernel has sessions. It keeps calls whose returns are probed in the order of one
 * stack: where a thread has several, it would drop one that is not over, and kill the process when
 * that returns. So a poll on any other stack than the thread's own gets no probe at its end.
 */
SEC("?uprobe")
int on_poll_session(struct pt_regs *ctx)
{
	struct span_poll_counts *counts = poll_counts();
	__u64 start_ns = poll_timer(counts);
	bool ends = arch_user_frame(ctx).address != bpf_get_func_ip(ctx);
	/* of none: what a probe costs is measured by both its ends */
	bool wanted = !(bpf_get_attach_cookie(ctx) >> 8);

	if (ends)
		poll_ends();
	else
		wanted |= poll_begins(ctx, counts, true);
	poll_timed(counts, start_ns, ends);
	return !ends && !wanted;
}

/* A word of the stack has been written to where polls begin: capture/stack_watch.h. */
SEC("?perf_event")
int on_poll_again(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);
	__u64 now_ns = bpf_ktime_get_ns();

	if (account && worker && span_is_run(worker))
		span_end_run(worker, account, now_ns, now_ns);
	return 1; /* or the watch would go on */
}

/* The head of an event of syscalls:sys_enter_*: its format file in tracefs. */
struct enter_event {
	__u64 common;
	__s64 number;
	__u64 arguments[6];
};

#define IORING_ENTER_GETEVENTS 1 /* include/uapi/linux/io_uring.h */
#define SYSCALL_EPOLL_PWAIT2   441

/* Its arguments, the lower halves. */
struct entered {
	__u32 argument[4];
	int number;
};

/* Not of the event: a program that reads a fourth argument there cannot be at calls with three. */
static __always_inline struct entered entered_of(const struct enter_event *ctx,
						 struct task_struct *task)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	return (struct entered){{(__u32)arch_argument_0(regs), (__u32)arch_argument_1(regs),
				 (__u32)arch_argument_2(regs), (__u32)arch_argument_3(regs)},
				(int)ctx->number};
}

/*
 * A call that returns at once, which a handler makes of another queue of events: libinput's, that
 * of a loop within the loop; or one that only submits requests.
 */
static __always_inline bool cannot_wait(const struct entered *call, __u32 wait)
{
	if (wait == SPAN_WAIT_URING)
		return !(call->argument[3] & IORING_ENTER_GETEVENTS) || !call->argument[2];
	/* the last has a pointer there, which need not be 0 to say so */
	return wait == SPAN_WAIT_EPOLL && call->number != SYSCALL_EPOLL_PWAIT2 &&
	       !call->argument[3];
}

/* poll() and select() of nothing. */
static __always_inline bool is_sleep(const struct entered *call, __u32 wait)
{
	return wait == SPAN_WAIT_POLL &&
	       !(class_of(call->number) == SYSCALL_POLL ? call->argument[1] : call->argument[0]);
}

SEC("?tp")
int on_wait(struct enter_event *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 wait = (__u32)bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct polled polled = {};
	struct worker *worker;
	struct entered call;

	if (!account || !span_waits_seen || !worker_may_be(task))
		return 0;
	worker = worker_make(task);
	if (!worker || (wait < worker->wait && !span_turns))
		return 0;
	if (worker->pending == SPAN_PENDING_TURN)
		worker->pending = 0;
	if (span_turns && span_answers && is_answer(worker, task)) {
		worker->is_nested = 1;
		return 0;
	}
	if (span_turns && wait == SPAN_WAIT_EPOLL)
		span_loop_is_over(worker, task);
	call = entered_of(ctx, task);
	if (span_turns && wait == SPAN_WAIT_POLL) {
		polled.is_poll = class_of((int)ctx->number) == SYSCALL_POLL;
		polled_read(&polled, task, ctx->arguments[0], ctx->arguments[1]);
	}
	if (wait < worker->wait && wait == SPAN_WAIT_URING) {
		if (cannot_wait(&call, wait) ||
		    !become_uring_loop(worker, task, (__u32)ctx->arguments[0]))
			return 0;
	} else if (wait < worker->wait) {
		/* the turn goes on, in a handler */
		if (is_sleep(&call, wait))
			return 0;
		if (!is_outer_poll(worker, task, &polled, bpf_ktime_get_ns())) {
			if (worker->is_doubtful)
				send_inner(ctx, worker, task, &polled);
			return 0;
		}
		become_poll_loop(worker, task, &polled);
	}
	if (is_sleep(&call, wait) ||
	    (wait > worker->wait && ((cannot_wait(&call, wait) &&
				      (!span_turns || wait != SPAN_WAIT_EPOLL ||
				       !is_busy_loop(worker, task, account, call.argument[0]))) ||
				     is_in_other_loop(worker, task, bpf_ktime_get_ns())))) {
		worker->is_nested = 1;
		return 0;
	}
	if (wait != worker->wait)
		worker->loop_waits = worker->nested_waits = 0;
	if (worker->is_doubtful)
		worker->depth = 0;
	else
		worker->outer_turns = 0;
	worker->is_busy &= cannot_wait(&call, wait);
	worker->pure_turns += !worker->is_doubtful;
	worker->wait = wait;
	worker->is_nested = worker->outer_waits = worker->is_doubtful = 0;
	if (worker->interrupted && worker->kind == SPAN_TURN && worker->depth == 1) {
		bool same = worker->interrupted == SPAN_RESTARTED;

		span_forget_stop(worker, account, bpf_ktime_get_ns());
		if (same)
			return 0;
	}
	if (span_turns && wait != SPAN_WAIT_POLL) {
		__u32 fd = (__u32)ctx->arguments[0];

		if (fd == worker->loop_fd && worker->loop_waits) {
			worker->loop_waits += !cannot_wait(&call, wait);
			worker->nested_waits = 0;
		} else if (is_nested(worker, task, fd, bpf_ktime_get_ns())) {
			worker->is_nested = 1;
			return 0;
		}
		if (span_turns_rotate)
			note_waiter(worker, task);
		if (wait == SPAN_WAIT_EPOLL)
			send_loop(ctx, worker, task, is_after_stall(worker));
	}
	if (span_turns && wait == SPAN_WAIT_POLL &&
	    is_nested_poll(worker, task, &polled, bpf_ktime_get_ns()) &&
	    worker->kind == SPAN_TURN) {
		worker->is_nested = 1;
		return 0;
	}
	/* a worker of a runtime whose polls are probed waits here too */
	if (!span_turns ||
	    (!worker->is_loop && (span_turns_judged || worker->kind == SPAN_POLL ||
				  worker->kind == SPAN_POOL || worker->kind == SPAN_ROOT)))
		return 0;
	if (wait == SPAN_WAIT_POLL) {
		__u64 last = worker->poll_stack;
		bool is_loop = polls_as_loop(worker, task, &polled);

		if (worker->asks ||
		    (is_loop && (worker->polls_sent < LOOPS_SENT_MAX || is_after_stall(worker))))
			send_poll(ctx, worker, task, is_loop, &polled);
		else if (is_loop && last && last != worker->poll_stack)
			send_inner(ctx, worker, task, &polled);
		if (!is_loop)
			return 0;
	}
	worker->kind = SPAN_TURN;
	/* a poll whose end was not seen */
	if (worker->is_loop && worker->depth > 1)
		worker->depth = 1;
	/* that it had to wait for its lock was of no handler: this once the turn is left out */
	if (worker->depth && span_learn_lock(worker, task))
		worker->depth = 0;
	if (worker->depth)
		span_finish(worker, account, bpf_ktime_get_ns());
	return 0;
}

/* The head of an event of syscalls:sys_exit_*. */
struct exit_event {
	__u64 common;
	__s64 number;
	__s64 result;
};

SEC("?tp")
int on_wait_end(struct exit_event *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 wait = (__u32)bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);

	if (!account || !span_waits_seen)
		return 0;
	/* it has waited since before we looked */
	if (span_turns && !span_turns_judged && wait != SPAN_WAIT_POLL &&
	    (!worker || (!worker->wait && !worker->is_nested)) && worker_may_be(task)) {
		worker = worker_make(task);
		if (worker) {
			worker->wait = wait;
			worker->kind = SPAN_TURN;
			note_loop(worker, task, (__u32)arch_argument_0(regs));
		}
	}
	if (!worker || worker->kind != SPAN_TURN || wait != worker->wait || worker->is_nested)
		return 0;
	begin_turn(worker, account, ctx->result);
	return 0;
}

/* restart_syscall() goes on with a wait that ended with ERESTART_RESTARTBLOCK. */
SEC("?tp")
int on_restart(struct enter_event *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);

	if (!account || !worker || worker->interrupted != SPAN_RESTARTED || worker->depth != 1)
		return 0;
	span_forget_stop(worker, account, bpf_ktime_get_ns());
	worker->is_restarted = 1;
	return 0;
}

SEC("?tp")
int on_restart_end(struct exit_event *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);

	if (!account || !worker || !worker->is_restarted)
		return 0;
	worker->is_restarted = 0;
	begin_turn(worker, account, ctx->result);
	return 0;
}

/* A handler has run: what it interrupted returns to the program. */
SEC("?tp")
int on_handled(struct enter_event *ctx)
{
	struct worker *worker = worker_of(bpf_get_current_task_btf());

	if (worker)
		worker->interrupted = SPAN_NOT_INTERRUPTED;
	return 0;
}

/* What is known of a thread is of the program it ran, and of a stack that is gone. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	struct worker *worker = worker_of(task);

	if (!worker)
		return 0;
	worker->depth = worker->off = worker->alone = 0;
	worker->kind = worker->wait = worker->root = worker->judged = 0;
	worker->closure = worker->pending = worker->polled = worker->parked = 0;
	worker->loop_waits = worker->nested_waits = worker->is_nested = worker->loops_sent = 0;
	worker->polls_sent = worker->inner_sent = worker->busy_asks = worker->is_busy = 0;
	worker->is_loop = worker->outer_waits = worker->outer_turns = worker->is_doubtful = 0;
	worker->pure_turns = worker->was_epoll = worker->past_kind = 0;
	worker->interrupted = worker->is_restarted = 0;
	worker->announced = worker->certain = worker->has_jobs = 0;
	worker->job_stack = worker->asked = worker->asks = 0;
	for (int i = 0; i < SPAN_SLOTS; i++)
		worker->slots[i].stack = 0;
	for (int i = 0; i < SPAN_PARKS; i++)
		worker->parks[i] = 0;
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
	__u32 depth, context;

	if (worker && span_lives && waker->tgid == task->tgid && waker != task)
		span_note_waker(worker, waker);
	if (!worker || !worker->off || (!worker->depth && !worker->alone))
		return 0;
	depth = worker->depth - 1;
	if (worker->depth && depth >= SPAN_LEVELS)
		return 0;
	block = span_block_at(worker, worker->present);
	if (block->waker.tid || now_ns - block->since_ns < span_threshold_ns / 2)
		return 0;
	/* an interrupt wakes too, in whatever thread it hit; what goes through the loopback device
	 * is delivered in one that its sender began */
	context = interrupt_context(waker);
	if (context &&
	    !(context == SOFTIRQ_SERVED && block->site.state == WIRE_NET && connects(task, waker)))
		return 0;
	/* where that is not known: only one that shares memory is believed, and of what timers and
	 * disks end, none */
	if (waker->tgid != task->tgid || waker == task || block->site.state == WIRE_SLEEP ||
	    block->site.state == WIRE_DISK)
		return 0;
	span_set_thread(&block->waker, waker);
	span_stack_take(worker, worker->present, 1);
	stack = span_stack_at(worker, worker->present, 1);
	if (!stack)
		return 0;
	stack->header.time_ns = now_ns;
	stack->span_ns = worker->alone ? block->since_ns : span_level_at(worker, depth)->start_ns;
	stack->worker_tid = tid_of(task);
	stack->weight_ns = 0;
	stack->of = SPAN_STACK_WAKER;
	stack->site = block->site;
	span_fill_stack(ctx, waker, stack);
	block->has_waker_stack = 1;
	return 0;
}

/* What runs, and has not polled anything since we look: it may be a worker in a long poll. */
static __attribute__((noinline)) void sample_seed(void *ctx, struct task_struct *task, __u64 now_ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct span_stack *stack;

	if (seed_samples >= MAX_SEED_SAMPLES || now_ns - seed_sample_ns < SEED_SAMPLE_GAP_NS)
		return;
	stack = bpf_map_lookup_elem(&span_samples, &cpu);
	if (!stack)
		return;
	seed_samples++;
	seed_sample_ns = now_ns;
	stack->weight_ns = 0;
	span_send_running(ctx, stack, task, SPAN_STACK_SEED, task->start_boottime, now_ns);
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

	account = account_of(task);
	if (!account)
		return 0;
	if (span_seeding && (!worker || !worker->kind) && worker_may_be(task))
		sample_seed(ctx, task, now_ns);
	if (worker && worker->pending && !worker->depth) {
		span_seed(worker, account, worker->pending, now_ns);
		worker->pending = 0;
	}
	if (worker && worker->kind == SPAN_POLL && !worker->is_loop) {
		span_refresh(worker, account);
		if (span_generation && (!worker->depth || span_is_run(worker)))
			span_sample_run(worker, account, task, now_ns);
	}
	/* of what is a run only for a moment there is no stack */
	if (!worker || !worker->depth || (span_is_run(worker) && !worker->announced))
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
	if ((__s64)stack->weight_ns < 0)
		stack->weight_ns = 0;
	worker->sampled_cpu_ns = states_ns[WIRE_ON_CPU];
	worker->sampled_ns = now_ns;
	/* in a system call it is where the call returns to */
	span_send_running(ctx, stack, task, SPAN_STACK_SAMPLE, level->start_ns, now_ns);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
