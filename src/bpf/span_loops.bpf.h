/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Event loops: which waits for events are a loop's own, which a handler's of it, and where its
 * turns begin.
 */
#ifndef DWELL_BPF_SPAN_LOOPS_BPF_H
#define DWELL_BPF_SPAN_LOOPS_BPF_H

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/span_bounds.bpf.h"
#include "bpf/span_ends.bpf.h"
#include "bpf/spans.bpf.h"

/*
 * From where a loop waits for events: of its first ones, for from there on its threads may wait for
 * each other, too (take_loop_park() in capture/spans.c).
 */
#define LOOPS_SENT_MAX 2
/* Where a stack decides, which may not be whole. */
#define LOOPS_JUDGED_MAX 8

/*
 * Whether the wait that begins ends a stall, as far as its stack is to be sent: then more may be
 * known of the program than when it waited first, and it may do so elsewhere.
 */
static __always_inline bool is_after_stall(const struct worker *worker)
{
	__u64 stalls = worker->stalls + 1;

	return worker->depth == 1 && !(stalls & (stalls - 1)) &&
	       bpf_ktime_get_ns() - worker->levels[0].start_ns >= span_threshold_ns;
}

static __attribute__((noinline)) int send_loop(void *ctx, struct worker *worker,
					       struct task_struct *task, bool anyway)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct span_stack *stack;

	if (!worker || !task || (span_turns_judged && worker->judged && !worker->root) ||
	    (!anyway &&
	     worker->loops_sent >= (span_turns_judged ? LOOPS_JUDGED_MAX : LOOPS_SENT_MAX)))
		return 0;
	stack = bpf_map_lookup_elem(&span_samples, &cpu);
	if (!stack)
		return 0;
	worker->loops_sent++;
	stack->weight_ns = 0;
	span_send_running(ctx, stack, task, SPAN_STACK_LOOP, worker->loop_file, bpf_ktime_get_ns());
	return 0;
}

/* Where the thread's loop waits, in epoll or for an io_uring: of the current thread, which does so,
 * or just did. */
static __noinline int note_loop(struct worker *worker, struct task_struct *task, __u32 fd)
{
	__u64 file;

	if (!worker || !task)
		return 0;
	file = (__u64)descriptor_file(task, fd);
	if (file != worker->loop_file)
		worker->pure_turns = 0;
	worker->loop_fd = fd;
	worker->loop_file = file;
	worker->loop_stack = user_frame_of(task).stack;
	worker->loop_waits = 1;
	return 0;
}

/*
 * A handler may run a loop of its own, until a child process has ended, say (child_process.execSync
 * of Node.js, QEventLoop::exec): its waits do not end the turn. It waits for another epoll
 * descriptor, deeper in the stack than a loop that has gone round some times and still has its own.
 * What goes on like this is the thread's loop, in place of the first: then the turn was none.
 * Before the loop has gone round as often, the turn is left out, and less will do.
 */
#define LOOP_WAITS_MIN	       8
#define NESTED_WAITS_MAX       256
#define NESTED_WAITS_EARLY_MAX 16
#define NESTED_MAX_NS	       10000000000ULL

static __noinline int is_nested(struct worker *worker, struct task_struct *task, __u32 fd,
				__u64 now_ns)
{
	bool is_early;

	if (!worker || !task)
		return 0;
	is_early = worker->loop_waits < LOOP_WAITS_MIN;
	if (worker->loop_waits && (worker->depth || is_early) &&
	    user_frame_of(task).stack < worker->loop_stack &&
	    (__u64)descriptor_file(task, worker->loop_fd) == worker->loop_file) {
		if (!worker->nested_waits++)
			worker->nested_ns = now_ns;
		if (is_early)
			worker->depth = 0;
		if (worker->nested_waits <=
			    (is_early ? NESTED_WAITS_EARLY_MAX : NESTED_WAITS_MAX) &&
		    now_ns - worker->nested_ns <= NESTED_MAX_NS)
			return 1;
		worker->depth = 0;
	}
	note_loop(worker, task, fd);
	worker->nested_waits = 0;
	return 0;
}

/*
 * A loop that always has something to do never waits: it only asks, again and again, at one place
 * and for one descriptor. So does who looks for events beside his own work; so only a thread on
 * whose stack the name of a loop's function was, and of its turns those in which it is
 * (is_outside_busy_loop() in capture/spans.c); or a thread that the user has named.
 */
#define BUSY_ASKS_MIN 8

static __noinline int is_busy_loop(struct worker *worker, struct task_struct *task,
				   const struct account *account, __u32 fd)
{
	__u64 stack;

	if (!worker || !task || !account || worker->wait || !worker->is_loop)
		return 0;
	stack = user_frame_of(task).stack;
	if (fd != worker->loop_fd || stack != worker->loop_stack)
		worker->busy_asks = 0;
	worker->loop_fd = fd;
	worker->loop_stack = stack;
	/* what is open began when its thread was looked at: with the first of these it is over, as
	 * a turn is of which its stacks say whether it was one */
	if (worker->depth == 1) {
		worker->is_busy = 1;
		span_finish(worker, account, bpf_ktime_get_ns());
	}
	worker->depth = 0;
	worker->is_busy = ++worker->busy_asks >= BUSY_ASKS_MIN;
	return worker->is_busy;
}

/* Whether it waits for an answer, and then no loop does so there. */
static __noinline int is_answer(struct worker *worker, struct task_struct *task)
{
	struct loop_park place = {};

	if (!worker || !task)
		return 0;
	place.stack = user_frame_of(task).stack;
	place.tid = tid_of(task);
	if (!bpf_map_lookup_elem(&loop_answers, &place))
		return 0;
	if (worker->kind == SPAN_TURN && worker->loop_stack == place.stack)
		worker->kind = worker->depth = worker->wait = worker->polled = worker->loop_waits =
			worker->nested_waits = 0;
	return 1;
}

/* Who waits there: span_is_taken_over(). */
static __always_inline void note_waiter(const struct worker *worker, struct task_struct *task)
{
	__u64 file = worker->loop_file;
	__u32 tid = tid_of(task), *last = bpf_map_lookup_elem(&loop_waiters, &file);

	if (last)
		*last = tid;
	else
		bpf_map_update_elem(&loop_waiters, &file, &tid, BPF_ANY);
}

#define POLLED_LOOKED_AT 8

/* What poll() or select() waits for, as far as we look. */
struct polled {
	__u32 is_poll;
	__u32 count;					/* of poll(), as called */
	struct poll_descriptor first[POLLED_LOOKED_AT]; /* of select() only one; fd -1: none */
};

static __noinline int polled_read(struct polled *polled, struct task_struct *task,
				  __u64 descriptors, __u64 count)
{
	__u32 read = count < POLLED_LOOKED_AT ? (__u32)count : POLLED_LOOKED_AT;

	if (!polled || !task)
		return 0;
	polled->count = 0;
	if (!polled->is_poll) {
		polled->first[0].fd = select_first(task);
		polled->first[1].fd = -1;
		polled->count = (__u32)select_count(task);
		return 0;
	}
	if (read &&
	    !bpf_probe_read_user(polled->first, read * sizeof(*polled->first), (void *)descriptors))
		polled->count = (__u32)count;
	else
		polled->first[0].fd = -1;
	return 0;
}

static __noinline int polled_has(const struct polled *polled, __u32 fd)
{
	if (!polled)
		return 0;
	if (!polled->is_poll)
		return (__u32)polled->first[0].fd == fd;
	for (__u32 i = 0; i < POLLED_LOOKED_AT; i++) {
		if (i >= polled->count)
			return 0;
		if ((__u32)polled->first[i].fd == fd)
			return 1;
	}
	return 1; /* so many are a loop's */
}

enum { POLLED_OTHER, POLLED_SOCKET, POLLED_CONNECTION };

/* include/net/tcp_states.h; also of sockets that are not TCP's */
#define TCP_CLOSE  7
#define TCP_LISTEN 10

/* Of what it waits for, where that is one descriptor. */
static __noinline int polled_single(const struct polled *polled, struct task_struct *task)
{
	struct socket *socket;
	struct file *file;
	__u32 type;
	__u8 state;

	if (!polled || !task || polled->count != 1 || polled->first[0].fd < 0)
		return POLLED_OTHER;
	file = descriptor_file(task, (__u32)polled->first[0].fd);
	type = file ? FOLLOW_ADDRESS(file, file, f_inode, i_mode) & S_IFMT : 0;
	if (type != S_IFSOCK)
		return POLLED_OTHER;
	socket = FOLLOW_ADDRESS(file, file, private_data);
	state = FOLLOW_ADDRESS(socket, socket, sk, __sk_common.skc_state);
	return state != TCP_CLOSE && state != TCP_LISTEN ? POLLED_CONNECTION : POLLED_SOCKET;
}

#define LOOP_DESCRIPTORS_MIN 3

/*
 * The epoll file (a pointer) among the first that it waits for; 0: there is none. So waits an event
 * loop that asks epoll afterwards what is ready: EventMachine's, in Ruby's way to wait.
 */
static __noinline __u64 polled_epoll(const struct polled *polled, struct task_struct *task)
{
	union {
		char text[8];
		__u64 word;
	} begin = {}, epoll = {.text = {'[', 'e', 'v', 'e', 'n', 't', 'p', 'o'}};

	if (!polled || !task)
		return 0;
	for (__u32 i = 0; i < LOOP_DESCRIPTORS_MIN - 1; i++) {
		__s32 fd = polled->first[i].fd;
		struct file *file;

		if (i && i >= polled->count)
			break;
		file = fd >= 0 ? descriptor_file(task, (__u32)fd) : NULL;
		if (!file)
			continue;
		bpf_probe_read_kernel(&begin, sizeof(begin),
				      BPF_CORE_READ(file, f_path.dentry, d_name.name));
		if (begin.word == epoll.word)
			return (__u64)file;
	}
	return 0;
}

static __noinline int polled_is_of_loop(const struct polled *polled, struct task_struct *task)
{
	if (!polled || !task)
		return 0;
	if (polled->count >= LOOP_DESCRIPTORS_MIN)
		return 1;
	for (__u32 i = 0; i < LOOP_DESCRIPTORS_MIN - 1; i++) {
		__s32 fd = polled->first[i].fd;

		if (i && i >= polled->count)
			break;
		if (fd >= 0 && any_where(classify_descriptor(task, (__u32)fd, 0, false)).detail ==
				       WIRE_DETAIL_EVENT)
			return 1;
	}
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
#define NESTED_POLLS_MAX 16

static __noinline int is_nested_poll(struct worker *worker, struct task_struct *task,
				     const struct polled *polled, __u64 now_ns)
{
	__u64 stack;

	if (!worker || !task || !polled)
		return 0;
	stack = user_frame_of(task).stack;
	if (worker->loop_waits && stack == worker->loop_stack) {
		/* once it is known as one, no further turn asks */
		if (worker->loop_waits <= LOOP_WAITS_MIN)
			worker->loop_waits += (__u32)polled_is_of_loop(polled, task);
	} else if (worker->loop_waits && stack < worker->loop_stack) {
		bool may_be_nested;

		if (!worker->nested_waits++)
			worker->nested_ns = now_ns;
		may_be_nested = worker->nested_waits <= NESTED_POLLS_MAX &&
				now_ns - worker->nested_ns <= NESTED_MAX_NS;
		if (may_be_nested)
			/* 0: no loop that is known as one, or this is one in it */
			return worker->depth && worker->loop_waits > LOOP_WAITS_MIN &&
			       !polled_has(polled, worker->loop_fd);
		worker->depth = 0;
		worker->loop_waits = 1;
	} else {
		worker->loop_waits = 1;
	}
	worker->nested_waits = 0;
	worker->loop_stack = stack;
	worker->loop_fd = (__u32)polled->first[0].fd;
	return 0;
}

/*
 * A thread that waits in epoll may do so in a handler, which its loop calls that waits in poll():
 * that is what waits there again and again around the other, and for many, or for what ends a
 * loop's wait from outside. So may what a loop calls beside its handlers, its timers: then the turn
 * is left out, until it is known. What is deeper in the stack by far is a handler's, and a loop
 * that has gone round without it stays one. True: what waits here is the loop.
 */
#define NEAR_BYTES	 1024
#define OUTER_WAITS_MIN	 2  /* with no wait in epoll in between */
#define OUTER_TURNS_MIN	 8  /* in turns on end */
#define PURE_TURNS_MIN	 2  /* without: the loop is the one in epoll */
#define OUTER_SINGLE_MIN 16 /* for one socket, and for NESTED_MAX_NS */

static __noinline int is_outer_poll(struct worker *worker, struct task_struct *task,
				    const struct polled *polled, __u64 now_ns)
{
	bool is_of_loop;
	__u64 stack;

	if (!worker || !task || !polled || worker->kind != SPAN_TURN ||
	    worker->wait != SPAN_WAIT_EPOLL)
		return 0;
	if (worker->loop_file && worker->loop_waits &&
	    polled_epoll(polled, task) == worker->loop_file)
		return 1;
	stack = user_frame_of(task).stack;
	if (stack + NEAR_BYTES <= worker->loop_stack)
		return 0;
	is_of_loop = polled_is_of_loop(polled, task);
	if (!is_of_loop && stack <= worker->loop_stack)
		return 0;
	worker->outer_waits++;
	if (is_of_loop) {
		worker->outer_turns += !worker->is_doubtful;
		worker->is_doubtful = 1;
	}
	/* the other may not come back */
	if (worker->depth && worker->outer_waits >= OUTER_SINGLE_MIN &&
	    now_ns - worker->levels[0].start_ns >= NESTED_MAX_NS)
		return 1;
	return is_of_loop && worker->pure_turns < PURE_TURNS_MIN &&
	       (worker->outer_waits >= OUTER_WAITS_MIN || worker->outer_turns >= OUTER_TURNS_MIN);
}

/* It is, from here on: what its handlers wait for in epoll ends none of its turns. */
static __noinline int become_poll_loop(struct worker *worker, struct task_struct *task,
				       const struct polled *polled)
{
	if (!worker || !task || !polled)
		return 0;
	worker->wait = SPAN_WAIT_POLL;
	worker->depth = 0;
	worker->loop_waits = worker->is_doubtful ? LOOP_WAITS_MIN + 1 : 0;
	worker->loop_stack = user_frame_of(task).stack;
	worker->loop_fd = (__u32)polled->first[0].fd;
	worker->nested_waits = worker->outer_turns = 0;
	worker->was_epoll = 1;
	return 0;
}

/*
 * A handler of a loop on an io_uring may have waited in epoll before that was known. An epoll loop
 * waits for a ring, too, to have its changes made, but not again and again, and a handler does so
 * deeper in the stack.
 */
#define OUTER_RINGS_DOUBTFUL 3 /* with no wait in epoll in between: the turn is left out */
#define OUTER_RINGS_MIN	     8

static __noinline int become_uring_loop(struct worker *worker, struct task_struct *task, __u32 fd)
{
	if (!worker || !task || worker->kind != SPAN_TURN ||
	    user_frame_of(task).stack + NEAR_BYTES <= worker->loop_stack)
		return 0;
	worker->outer_waits++;
	if (worker->outer_waits >= OUTER_RINGS_DOUBTFUL)
		worker->is_doubtful = 1;
	if (worker->outer_waits < OUTER_RINGS_MIN)
		return 0;
	worker->wait = SPAN_WAIT_URING;
	worker->depth = worker->nested_waits = worker->outer_turns = 0;
	worker->was_epoll = 1;
	note_loop(worker, task, fd);
	worker->loop_waits = LOOP_WAITS_MIN + 1;
	return 1;
}

/*
 * The other way round: of a loop that is known to wait in poll(), or for an io_uring, a handler
 * waits in epoll. Where that is no deeper in the stack, or by far where it was the loop before, the
 * turn is left out.
 */
static __noinline int is_in_other_loop(struct worker *worker, struct task_struct *task,
				       __u64 now_ns)
{
	bool is_far;
	__u64 stack;

	if (!worker || !task || worker->kind != SPAN_TURN || worker->loop_waits <= LOOP_WAITS_MIN)
		return 0;
	stack = user_frame_of(task).stack;
	if (stack >= worker->loop_stack + NEAR_BYTES)
		return 0;
	if (!worker->nested_waits++)
		worker->nested_ns = now_ns;
	/* it was the loop after all, if it goes round without the other */
	is_far = worker->was_epoll && stack + NEAR_BYTES <= worker->loop_stack;
	worker->is_doubtful |= is_far || stack >= worker->loop_stack;
	if (worker->nested_waits <= (is_far ? PURE_TURNS_MIN : NESTED_POLLS_MAX) &&
	    now_ns - worker->nested_ns <= NESTED_MAX_NS)
		return 1;
	worker->depth = 0;
	worker->pure_turns = PURE_TURNS_MIN;
	return 0;
}

/*
 * A poll() may be a single wait of a thread that has no loop: a second one decides. For one socket
 * it may be that of a job, which may wait there some times. For one connection it is for an answer
 * (a driver of a database, getaddrinfo(), a socket with a timeout of Python or Java), however
 * often: what the thread does with that is its own program, and no one waits for its next turn.
 */
#define POLLS_MIN	  2
#define POLLS_FOR_ONE_MIN 16
/* Of one that has waited for jobs: with none of such waits in between. */
#define POLLS_AFTER_JOBS_MIN 256

static __attribute__((noinline)) int send_poll(void *ctx, struct worker *worker,
					       struct task_struct *task, bool is_loop,
					       const struct polled *polled)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct span_stack *stack;

	if (!worker || !task || !polled)
		return 0;
	worker->asks = 0;
	worker->polls_sent += is_loop;
	stack = bpf_map_lookup_elem(&span_samples, &cpu);
	if (!stack)
		return 0;
	stack->weight_ns = 0;
	span_send_running(ctx, stack, task, SPAN_STACK_POLL, polled_epoll(polled, task),
			  bpf_ktime_get_ns());
	return 0;
}

/* For each thread: its handlers wait in some more places. */
#define INNER_SENT_MAX 32

/*
 * A wait in poll(), of a thread that waits for events elsewhere, too: where its stack says that it
 * is for an answer, it is a handler's (is_answer()).
 */
static __attribute__((noinline)) int
send_inner(void *ctx, struct worker *worker, struct task_struct *task, const struct polled *polled)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct span_stack *stack;

	if (!worker || !task || !polled || worker->inner_sent >= INNER_SENT_MAX)
		return 0;
	stack = bpf_map_lookup_elem(&span_samples, &cpu);
	if (!stack)
		return 0;
	worker->inner_sent++;
	stack->weight_ns = 0;
	span_send_running(ctx, stack, task, SPAN_STACK_INNER, polled_epoll(polled, task),
			  bpf_ktime_get_ns());
	return 0;
}

static __noinline int polls_as_loop(struct worker *worker, struct task_struct *task,
				    const struct polled *polled)
{
	int single;

	if (!worker || !task || !polled)
		return 0;
	worker->poll_stack = user_frame_of(task).stack;
	worker->polls_between++;
	worker->polls_few =
		polled->count == 1 ? !polled_epoll(polled, task) : !polled_is_of_loop(polled, task);
	if (worker->kind == SPAN_TURN)
		return 1;
	single = polled_single(polled, task);
	if (single == POLLED_CONNECTION)
		return 0;
	if (worker->has_jobs && span_waited_in_handler(worker, task)) {
		worker->has_jobs = 0;
		return 1;
	}
	worker->polled++;
	return worker->polled >= (worker->has_jobs ? POLLS_AFTER_JOBS_MIN
				  : single	   ? POLLS_FOR_ONE_MIN
						   : POLLS_MIN);
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
	worker->turn_lock = 0;
	span_begin(worker, account, 0, SPAN_COOKIE(SPAN_TURN, 0), bpf_ktime_get_ns());
}

#endif
