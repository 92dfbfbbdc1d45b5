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
#include "bpf/span_bounds.bpf.h"
#include "bpf/span_unprobed.bpf.h"
#include "bpf/spans.bpf.h"

/* A span is sampled from half of the threshold on, and a long one less and less often. */
#define SAMPLE_GAP_NS 10000000

struct bpf_perf_event_data;

/* Event loops' turns are spans; else it is only noted who waits for events. */
const volatile bool span_turns = false;

#define SEED_SAMPLE_GAP_NS 10000000

static __u64 seed_samples, seed_sample_ns;

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

static __always_inline int poll_begins(struct pt_regs *ctx, struct span_poll_counts *counts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker;
	__u64 now_ns, stack;
	__u32 depth;

	if (!account)
		return 0;
	if (!worker_may_be(task))
		return 0;
	worker = worker_make(task);
	if (!worker)
		return 0;
	if (SPAN_COOKIE_KIND(cookie) == SPAN_POOL) {
		worker->kind = SPAN_POOL;
		return 0;
	}
	now_ns = bpf_ktime_get_ns();
	if (SPAN_COOKIE_KIND(cookie) == SPAN_CLOSURE)
		return enter_closure(worker, cookie >> 8, now_ns);
	if (SPAN_COOKIE_KIND(cookie) == SPAN_LIFE) {
		worker->kind = SPAN_POLL;
		send_launch(worker, now_ns);
		return 0;
	}
	if (worker->closure) {
		closure_learn(worker->closure, CLOSURE_LIFE);
		worker->closure = 0;
	}
	stack = arch_user_frame(ctx).stack;
	worker->pending = 0;
	if (counts)
		counts->polls++;
	span_refresh(worker, account);
	span_learn_slot(worker, stack);
	if (span_is_run(worker))
		span_end_run(worker, account, now_ns, now_ns);
	/* the probes are about to go: its return would not be seen */
	if (span_unprobed)
		return 0;
	if (span_is_endless(worker))
		span_finish(worker, account, now_ns);
	span_forget_gone(worker, stack);
	span_begin(worker, account, arch_argument_0(ctx), cookie, now_ns);
	depth = worker->depth - 1;
	if (depth < SPAN_LEVELS)
		span_level_at(worker, depth)->stack = stack;
	return 0;
}

SEC("?uprobe")
int on_poll(struct pt_regs *ctx)
{
	struct span_poll_counts *counts = poll_counts();
	__u64 start_ns = poll_timer(counts);

	poll_begins(ctx, counts);
	poll_timed(counts, start_ns, false);
	return 0;
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

SEC("?uretprobe")
int on_poll_end(struct pt_regs *ctx)
{
	struct span_poll_counts *counts = poll_counts();
	__u64 start_ns = poll_timer(counts);

	poll_ends();
	poll_timed(counts, start_ns, true);
	return 0;
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

/*
 * From where a loop waits for events: of its first ones, for from there on its threads may wait for
 * each other, too (take_loop_park() in capture/spans.c).
 */
#define LOOPS_TOLD 2

static __attribute__((noinline)) int tell_loop(void *ctx, struct worker *worker,
					       struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct span_stack *stack;

	if (!worker || !task || worker->loop_told >= LOOPS_TOLD)
		return 0;
	stack = bpf_map_lookup_elem(&span_samples, &cpu);
	if (!stack)
		return 0;
	worker->loop_told++;
	stack->header.time_ns = bpf_ktime_get_ns();
	stack->span_ns = worker->loop_file;
	stack->weight_ns = 0;
	stack->worker_tid = tid_of(task);
	stack->of = SPAN_STACK_LOOP;
	stack->site = wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	span_fill_stack(ctx, task, stack);
	span_send_stack(stack);
	return 0;
}

/* The head of an event of syscalls:sys_enter_*: its format file in tracefs. */
struct enter_event {
	__u64 common;
	__s64 number;
	__u64 arguments[6];
};

/*
 * A handler may run a loop of its own, until a child process has ended, say (child_process.execSync
 * of Node.js, QEventLoop::exec): its waits do not end the turn. It waits for another epoll
 * descriptor, deeper in the stack than a loop that has gone round some times and still has its own.
 * What goes on like this is the thread's loop, in place of the first: then the turn was none.
 */
#define LOOP_WAITS_MIN	 8
#define NESTED_WAITS_MAX 256
#define NESTED_MAX_NS	 10000000000ULL

static __noinline int is_nested(struct worker *worker, struct task_struct *task, __u32 fd,
				__u64 now_ns)
{
	__u64 stack;

	if (!worker || !task)
		return 0;
	stack = arch_user_frame((struct pt_regs *)bpf_task_pt_regs(task)).stack;
	if (worker->depth && worker->loop_waits >= LOOP_WAITS_MIN && stack < worker->loop_stack &&
	    (__u64)descriptor_file(task, worker->loop_fd) == worker->loop_file) {
		if (!worker->nested_waits++)
			worker->nested_ns = now_ns;
		if (worker->nested_waits <= NESTED_WAITS_MAX &&
		    now_ns - worker->nested_ns <= NESTED_MAX_NS)
			return 1;
		worker->depth = 0;
	}
	worker->loop_fd = fd;
	worker->loop_file = (__u64)descriptor_file(task, fd);
	worker->loop_stack = stack;
	worker->loop_waits = 1;
	worker->nested_waits = 0;
	return 0;
}

/*
 * Of poll() and select(): deeper in the stack than a loop that has gone round some times, and not
 * for what that waits for; a loop within the loop has its descriptors, too. How deep a wait is says
 * little by itself, as the frames of what waits count: the loop's may be larger than the handler's,
 * and then its waits for work would be taken for stalls. So a loop is what waits for what ends a
 * loop's wait from outside, an eventfd and its like, or for many. What goes on is the thread's
 * loop.
 */
#define LOOP_DESCRIPTORS_MIN	   3
#define NESTED_POLLS_MAX	   16
#define POLL_DESCRIPTORS_LOOKED_AT 8

static __noinline int waits_for(struct task_struct *task, __u32 fd, __u64 descriptors, __u64 count)
{
	struct poll_descriptor one;

	for (__u32 i = 0; i < POLL_DESCRIPTORS_LOOKED_AT; i++) {
		if (i >= count ||
		    bpf_probe_read_user(&one, sizeof(one), (void *)(descriptors + i * sizeof(one))))
			return 0;
		if ((__u32)one.fd == fd)
			return 1;
	}
	return 1; /* so many are a loop's */
}

static __noinline int is_one_socket(struct task_struct *task, __u64 descriptors, __u64 count)
{
	struct poll_descriptor one = {.fd = -1};
	struct file *file;

	if (!task || count != 1 || bpf_probe_read_user(&one, sizeof(one), (void *)descriptors) ||
	    one.fd < 0)
		return 0;
	file = descriptor_file(task, (__u32)one.fd);
	return file && (FOLLOW_ADDRESS(file, file, f_inode, i_mode) & S_IFMT) == S_IFSOCK;
}

static __noinline int waits_as_loop(struct task_struct *task, int is_poll, __u64 descriptors,
				    __u64 count)
{
	struct poll_descriptor one = {.fd = -1};

	if (!task)
		return 0;
	if (is_poll && count >= LOOP_DESCRIPTORS_MIN)
		return 1;
	if (!is_poll)
		one.fd = select_first(task);
	for (__u32 i = 0; i < LOOP_DESCRIPTORS_MIN - 1; i++) {
		if (is_poll &&
		    (i >= count || bpf_probe_read_user(&one, sizeof(one),
						       (void *)(descriptors + i * sizeof(one)))))
			break;
		if (one.fd >= 0 &&
		    any_where(classify_descriptor(task, (__u32)one.fd, 0, false)).detail ==
			    WIRE_DETAIL_EVENT)
			return 1;
	}
	return 0;
}

static __noinline int is_nested_poll(struct worker *worker, struct task_struct *task, int is_poll,
				     __u64 now_ns)
{
	const struct pt_regs *regs;
	struct poll_descriptor one = {.fd = -1};
	__u64 stack, first, count;
	int fd;

	if (!worker || !task)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	stack = arch_user_frame(regs).stack;
	first = arch_argument_0(regs);
	count = arch_argument_1(regs);
	if (is_poll && count)
		bpf_probe_read_user(&one, sizeof(one), (void *)first);
	fd = is_poll ? one.fd : select_first(task);
	if (worker->loop_waits && stack == worker->loop_stack) {
		/* once it is known as one, no further turn asks */
		if (worker->loop_waits <= LOOP_WAITS_MIN)
			worker->loop_waits += (__u32)waits_as_loop(task, is_poll, first, count);
	} else if (worker->loop_waits && stack < worker->loop_stack) {
		if (!worker->nested_waits++)
			worker->nested_ns = now_ns;
		if (worker->depth && worker->loop_waits > LOOP_WAITS_MIN &&
		    worker->nested_waits <= NESTED_POLLS_MAX &&
		    now_ns - worker->nested_ns <= NESTED_MAX_NS &&
		    !(is_poll ? waits_for(task, worker->loop_fd, first, count)
			      : fd == (int)worker->loop_fd))
			return 1;
		if (worker->nested_waits <= NESTED_POLLS_MAX &&
		    now_ns - worker->nested_ns <= NESTED_MAX_NS)
			return 0; /* no loop that is known as one, or this is one in it */
		worker->depth = 0;
		worker->loop_waits = 1;
	} else {
		worker->loop_waits = 1;
	}
	worker->nested_waits = 0;
	worker->loop_stack = stack;
	worker->loop_fd = (__u32)fd;
	return 0;
}

/*
 * A poll() may be a single wait of a thread that has no loop: a second one decides. For one socket
 * it may be that of a job (a driver of a database, getaddrinfo()), which may wait there some times.
 */
#define POLLS_MIN	  2
#define POLLS_FOR_ONE_MIN 16

static __noinline int polls_as_loop(struct worker *worker, struct task_struct *task,
				    __u64 descriptors, __u64 count)
{
	if (!worker || !task)
		return 0;
	worker->poll_stack = arch_user_frame((struct pt_regs *)bpf_task_pt_regs(task)).stack;
	worker->polls_one = (__u32)is_one_socket(task, descriptors, count);
	worker->polled++;
	return worker->kind == SPAN_TURN ||
	       (!worker->has_jobs &&
		worker->polled >= (worker->polls_one ? POLLS_FOR_ONE_MIN : POLLS_MIN));
}

/*
 * A thread waits again, and no handler has run: of a call that the kernel made again, what came in
 * between was no turn; else only as far as it did not just stop and wait for a CPU.
 */
static __noinline int span_forget_stop(struct worker *worker, const struct account *account,
				       __u64 now_ns)
{
	const struct span_level *level;
	__u64 own_ns, idle_ns;

	if (!worker || !account)
		return 0;
	level = span_level_at(worker, 0);
	own_ns = now_ns - level->start_ns;
	idle_ns = account->live.totals.ns[WIRE_STOPPED] - level->states_ns[WIRE_STOPPED] +
		  account->live.totals.ns[WIRE_RUNNABLE] - level->states_ns[WIRE_RUNNABLE];
	if (worker->interrupted == SPAN_RESTARTED || own_ns < idle_ns + span_threshold_ns)
		worker->depth = 0;
	worker->interrupted = SPAN_NOT_INTERRUPTED;
	return 0;
}

SEC("?tp")
int on_wait(struct enter_event *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 wait = (__u32)bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker;

	if (!account || !worker_may_be(task))
		return 0;
	worker = worker_make(task);
	if (!worker || wait < worker->wait)
		return 0;
	if (wait != worker->wait)
		worker->loop_waits = worker->nested_waits = 0;
	worker->wait = wait;
	worker->is_nested = 0;
	if (worker->interrupted && worker->kind == SPAN_TURN && worker->depth == 1) {
		bool same = worker->interrupted == SPAN_RESTARTED;

		span_forget_stop(worker, account, bpf_ktime_get_ns());
		if (same)
			return 0;
	}
	if (span_turns && wait == SPAN_WAIT_EPOLL) {
		__u32 fd = (__u32)ctx->arguments[0];

		if (fd == worker->loop_fd && worker->loop_waits) {
			worker->loop_waits++;
			worker->nested_waits = 0;
		} else if (is_nested(worker, task, fd, bpf_ktime_get_ns())) {
			worker->is_nested = 1;
			return 0;
		}
		tell_loop(ctx, worker, task);
	}
	if (span_turns && wait == SPAN_WAIT_POLL &&
	    is_nested_poll(worker, task, class_of((int)ctx->number) == SYSCALL_POLL,
			   bpf_ktime_get_ns()) &&
	    worker->kind == SPAN_TURN) {
		worker->is_nested = 1;
		return 0;
	}
	/* a worker of a runtime whose polls are probed waits here too */
	if (!span_turns || worker->kind == SPAN_POLL || worker->kind == SPAN_POOL ||
	    worker->kind == SPAN_ROOT)
		return 0;
	if (wait == SPAN_WAIT_POLL &&
	    !polls_as_loop(worker, task, ctx->arguments[0],
			   class_of((int)ctx->number) == SYSCALL_POLL ? ctx->arguments[1] : 0))
		return 0;
	worker->kind = SPAN_TURN;
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

/* include/linux/errno.h: what a call returns that may be made again */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516
#define EINTR		      4

static __always_inline __u16 interrupted_by(__s64 result)
{
	if (result == -EINTR)
		return SPAN_RETURNED;
	return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
			       result == -ERESTART_RESTARTBLOCK
		       ? SPAN_RESTARTED
		       : SPAN_NOT_INTERRUPTED;
}

/* A wait for events has returned `result`. */
static __always_inline void begin_turn(struct worker *worker, const struct account *account,
				       __s64 result)
{
	worker->depth = 0;
	worker->interrupted = interrupted_by(result);
	span_begin(worker, account, 0, SPAN_COOKIE(SPAN_TURN, 0), bpf_ktime_get_ns());
}

SEC("?tp")
int on_wait_end(struct exit_event *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 wait = (__u32)bpf_get_attach_cookie(ctx);
	struct account *account = account_of(task);
	struct worker *worker = worker_of(task);

	if (!account)
		return 0;
	/* it has waited since before we looked */
	if (span_turns && wait >= SPAN_WAIT_EPOLL && (!worker || !worker->wait) &&
	    worker_may_be(task)) {
		worker = worker_make(task);
		if (worker) {
			worker->wait = wait;
			worker->kind = SPAN_TURN;
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
	worker->loop_waits = worker->nested_waits = worker->is_nested = worker->loop_told = 0;
	worker->interrupted = worker->is_restarted = 0;
	worker->announced = worker->certain = worker->has_jobs = 0;
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
	__u32 depth;

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
	/* an interrupt wakes too, in whatever thread it hit: only one that shares memory is
	 * believed, and of what timers and disks end, none */
	if (waker->tgid != task->tgid || waker == task || block->site.state == WIRE_SLEEP ||
	    block->site.state == WIRE_DISK)
		return 0;
	span_set_thread(&block->waker, waker);
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
	stack->header.time_ns = now_ns;
	stack->span_ns = task->start_boottime;
	stack->weight_ns = 0;
	stack->worker_tid = tid_of(task);
	stack->of = SPAN_STACK_SEED;
	stack->site = wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	span_fill_stack(ctx, task, stack);
	span_send_stack(stack);
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
	if (worker && worker->kind == SPAN_POLL) {
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
	stack->header.time_ns = now_ns;
	stack->span_ns = level->start_ns;
	stack->worker_tid = tid_of(task);
	stack->of = SPAN_STACK_SAMPLE;
	stack->site = wait_site(WIRE_ON_CPU, WIRE_DETAIL_NONE, WIRE_SYSCALL_NONE);
	span_fill_stack(ctx, task, stack);
	/* in a system call it is where the call returns to */
	span_send_stack(stack);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
