/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans of workers (config.h): how long each lasted, in which states, and where it was off its CPU
 * for longest. Only spans above the threshold are sent, with the stacks that explain them: those
 * are taken when the thread leaves its CPU, because then it is the blocker's own, and kept until it
 * is known whether the span is worth reporting.
 */
#ifndef DWELL_BPF_SPANS_BPF_H
#define DWELL_BPF_SPANS_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/arch.bpf.h"
#include "bpf/config.h"
#include "bpf/kernel_types.h"
#include "bpf/python.bpf.h"
#include "bpf/record.bpf.h"

/* 0: no spans at all. */
const volatile __u64 span_threshold_ns __weak = 0;
/* Stacks and ends that found the ring full. */
volatile __u64 spans_lost __weak = 0;
/* Stacks that were not taken for want of room. */
volatile __u64 span_stacks_lacking __weak = 0;
/* The first of the second half was taken: from then on workers have them in spans only. */
volatile bool span_stacks_short __weak = false;
const volatile __u32 span_stacks_half __weak = 0;

/*
 * The probes of polls are off for now, or have been attached since then. The generation is counted
 * up by each change.
 */
volatile __u32 span_unprobed __weak = 0;
volatile __u32 span_generation __weak = 0;
volatile __u64 span_probed_ns __weak = 0, span_unprobed_ns __weak = 0;

/* All tracepoints of waits are attached: with some of them, a wait would look like a turn. */
volatile __u32 span_waits_seen __weak = 0;
volatile __u32 span_answers __weak = 0; /* whether `loop_answers` has any */

/* Counted up by each snapshot: struct span_site. */
volatile __u32 span_epoch __weak = 0;

/* Threads that have not polled a task are asked about: by samples, and at snapshots. */
const volatile bool span_seeding __weak = false;
/* There are probes of kind SPAN_LIFE. */
const volatile bool span_lives __weak = false;
/* Event loops' turns are spans; else it is only noted who waits for events. */
const volatile bool span_turns __weak = false;
/* Workers of the runtime wait for events, too: only threads with a verdict are loops. */
const volatile bool span_turns_judged __weak = false;
/* A loop may be another thread's with each turn. */
const volatile bool span_turns_rotate __weak = false;
/* Only threads whose name begins so are workers. */
const volatile char span_prefix[16] __weak = "";

struct span_level {
	__u64 start_ns;
	__u64 inner_ns;
	__u64 task;
	__u64 cookie;
	__u64 stack;		      /* pointer, at its entry; 0: not known */
	__u64 states_ns[WIRE_STATES]; /* the account's totals at the start */
};

/* A time off the CPU inside a span. */
struct span_block {
	__u64 since_ns;
	__u64 ns;
	struct wire_wait_site site;
	__u32 has_stack;
	struct span_thread waker;
	__u32 has_waker_stack;
	__u32 pad;
};

/*
 * Written by its own thread, in its probes, switches and samples, and by who wakes it; by the
 * iterator only while it waits, but for `pending`.
 */
/* A stop, a debugger or the freezer interrupts a wait. */
enum span_interrupted {
	SPAN_NOT_INTERRUPTED,
	SPAN_RETURNED,	/* with EINTR, as epoll_wait() does */
	SPAN_RESTARTED, /* the kernel makes the call again, unless a handler has run */
};

struct worker {
	__u32 depth;	 /* spans open */
	__u32 kind;	 /* enum span_kind of the last */
	__u32 past_kind; /* what it was: its loop is over, and the next may come */
	__u32 wait;	 /* enum span_wait: where its loop waits */
	__u32 root;	 /* it has a root future: what it does outside of polls is a span, too */
	__u32 judged;	 /* a verdict was applied */
	__u32 is_loop;	 /* it was one: it runs a loop of the program's own */
	__u32 woken_by;	 /* tid of a thread in a span; 0: none */
	__u32 closure;	 /* number of the SPAN_CLOSURE it is in; 0: none */
	__u64 woken_span_ns; /* start of the waker's span */
	__u32 pending;	     /* SPAN_PENDING_*: to be applied by the thread itself, which runs */
	/*
	 * its loop: the descriptor of epoll or of a ring, what was open there, and how deep in the
	 * stack it waits; of poll() and select() the first descriptor
	 */
	__u32 loop_fd;
	__u32 loop_waits; /* 0: none is known */
	__u32 loops_sent; /* stacks of its waits for events that were sent */
	__u32 polls_sent; /* and of those in poll() */
	__u32 inner_sent; /* and of what may be its handlers' there */
	__u64 loop_file, loop_stack;
	__u32 nested_waits; /* in a loop within the present turn */
	__u32 is_nested;    /* the present wait is one */
	__u32 busy_asks;    /* for events, without waiting, at the same place */
	__u32 is_busy;	    /* its loop is known by these alone */
	/* in poll() or for a ring around where its loop waits, with none there in between */
	__u32 outer_waits;
	__u32 outer_turns;  /* on end that had such */
	__u32 pure_turns;   /* of the same loop that had none */
	__u32 was_epoll;    /* it was taken for a loop in epoll before */
	__u32 is_doubtful;  /* one of them, in this turn, may be the loop's own */
	__u16 interrupted;  /* enum span_interrupted: how the last wait ended */
	__u16 is_restarted; /* the present wait is restart_syscall() */
	__u64 nested_ns;    /* the first began */
	__u64 spans, stalls;
	__u64 longest_ns;
	struct span_level levels[SPAN_LEVELS];
	struct span_block blocks[SPAN_BLOCKS];
	__u32 stacks[SPAN_STACKS]; /* + 1, of span_stacks: span_stack_at(); 0: none */
	__u32 present;		   /* of the blocks: for the present time off the CPU */
	__u32 kept;		   /* 1 << those of the others that are of this span */
	__u32 off;		   /* the present one is open */
	__u32 captures;		   /* in this span, of waits */
	__u32 preempted;	   /* and of preemptions */
	__u32 polled;		   /* waits in poll() or select() */
	__u32 polls_few;  /* the last was for one descriptor, or nothing that only loops wait for */
	__u32 has_jobs;	  /* its thread has waited for jobs, and those in poll() */
	__u64 poll_stack; /* how deep in the stack the last was */
	__u64 job_stack;  /* and the wait that was taken for one for a job */
	__u32 polls_between; /* since the last of those */
	__u32 asked;	     /* user space, so often, whether it was one */
	__u32 asks;	     /* about that: the stack of the next in poll() is sent */
	__u64 captured_ns;
	__u64 sampled_ns; /* the last sample of this span */
	__u64 sampled_cpu_ns;
	__u64 culprit_ns;
	struct span_thread culprit;
	__u32 culprit_is_limit; /* as in struct span_end */
	__u32 limit;		/* limit_reached() as it left its CPU */
	/* where its polls begin, on its stack, and what is there then: where they return to */
	struct span_slot {
		__u64 stack, caller;
	} slots[SPAN_SLOTS];
	__u64 parks[SPAN_PARKS]; /* stack pointers of its waits outside of polls */
	__u32 slot_next, park_next;
	__u32 generation; /* span_generation, of what is open */
	__u32 parked;	  /* of a loop: its turn ended at a place of `loop_parks` or `loop_locks` */
	__u32 alone;	  /* the present time off the CPU is in no span: probes are off */
	__u32 in_poll;	  /* and in a poll, by the stack */
	/* a run: the present span, if that is one */
	__u32 run_samples;
	__u32 announced; /* probes were asked for */
	__u32 certain;	 /* it was one poll for the threshold */
	__u64 signature, run_seen_ns;
	/* of a task of which probes were asked for and it was none: until when not again */
	__u64 distrusted, distrust_ns, distrusted_ns;
	__u64 turn_lock; /* address of the lock that it waited for last in this turn; 0: none */
	__u64 own_low, own_high;      /* its thread's own stack, as last seen; 0, 0: not known */
	__u64 totals_ns[WIRE_STATES]; /* of span_send(), whose stack has no room for it */
	__u32 looked_at_tid;	      /* whose span an iterator ends; 0: it does so itself */
	__u32 looked_at_pid;
};

struct poll_descriptor { /* include/uapi/asm-generic/poll.h */
	__s32 fd;
	__s16 events, revents;
};

#define SELECT_WORDS 16 /* FD_SETSIZE descriptors */

/* A word of a set of select(), or 0. */
static __always_inline __u64 select_word(__u64 set, __u32 index)
{
	__u64 word = 0;

	if (set)
		bpf_probe_read_user(&word, sizeof(word), (void *)(set + index * sizeof(word)));
	return word;
}

/* Without a branch, as wait_function_below(). Of a word that is not 0. */
static __always_inline __u32 lowest_bit(__u64 word)
{
	__u64 bit = 0;

	for (__u32 half = 32; half; half /= 2) {
		__u64 is_above = ((word & ((1ULL << half) - 1)) - 1) >> 63;

		barrier_var(is_above);
		word >>= half * is_above;
		bit += half * is_above;
	}
	return (__u32)bit;
}

/* The lowest descriptor of one of its sets; -1: none. Global as wait_function_of() is. */
__weak __attribute__((noinline)) int select_first_of(__u64 set, __u64 count)
{
	for (__u32 i = 0; i < SELECT_WORDS && i * 64 < count; i++) {
		__u64 word = select_word(set, i);

		if (word)
			return (int)(i * 64 + lowest_bit(word));
	}
	return -1;
}

/* How many bits are set, without a branch. */
static __always_inline __u32 bits_of(__u64 word)
{
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
	return (__u32)(((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL) * 0x0101010101010101ULL >>
		       56);
}

/* How many are in three sets of so many bits. Global, too. */
__weak __attribute__((noinline)) int select_count_of(__u64 to_read, __u64 to_write,
						     __u64 exceptions, __u64 count)
{
	__u32 found = 0;

	for (__u32 i = 0; i < SELECT_WORDS && i * 64 < count; i++)
		found += bits_of(select_word(to_read, i) | select_word(to_write, i) |
				 select_word(exceptions, i));
	return (int)found;
}

/* The same of what the current thread's select() is to read, else to write. */
static __attribute__((noinline, unused)) int select_first(struct task_struct *task)
{
	const struct pt_regs *regs;
	int first;

	if (!task)
		return -1;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	first = select_first_of(arch_argument_1(regs), arch_argument_0(regs));
	return first >= 0 ? first : select_first_of(arch_argument_2(regs), arch_argument_0(regs));
}

/* How many it waits for, of all its sets. */
static __attribute__((noinline, unused)) int select_count(struct task_struct *task)
{
	const struct pt_regs *regs;

	if (!task)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return select_count_of(arch_argument_1(regs), arch_argument_2(regs), arch_argument_3(regs),
			       arch_argument_0(regs));
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct worker);
} workers __weak SEC(".maps");

/* For those that workers have of a span. User space sets the size before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span_stack);
} span_stacks __weak SEC(".maps");

/* Which of those no worker has; user space fills it. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, MAX_SPAN_STACKS);
	__type(value, __u32);
} span_stacks_free __weak SEC(".maps");

/* For samples, which are sent at once: one a CPU (a per-CPU map's values may not be so large). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span_stack);
} span_samples __weak SEC(".maps");

/* By tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* threads end before they are met */
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct span_verdict);
} span_verdicts __weak SEC(".maps");

/* By the epoll file (a pointer): the tid of the thread that waited there last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u32);
} loop_waiters __weak SEC(".maps");

/* User space has found them by their stacks: take_loop_park() in capture/spans.c. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LOOP_PARKS_MAX);
	__type(key, struct loop_park);
	__type(value, __u8);
} loop_parks __weak SEC(".maps");

/* User space has found them by their stacks: capture/span_jobs.h. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LOOP_HANDLERS_MAX);
	__type(key, struct loop_park);
	__type(value, __u8);
} loop_handlers __weak SEC(".maps");

/* User space has found them by the names on their stacks: wait_is_for_answer(). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LOOP_ANSWERS_MAX);
	__type(key, struct loop_park);
	__type(value, __u8);
} loop_answers __weak SEC(".maps");

/* span_locks.bpf.h */
struct loop_lock {
	__u64 address;
	__u64 program; /* its executable file, as opened (a pointer): that of forked processes, too
			*/
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, struct loop_lock);
	__type(value, __u8);
} loop_locks __weak SEC(".maps");

/* By the probe's number, which is in its cookie. User space sets the size before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct span_site);
} span_sites __weak SEC(".maps");

static __always_inline struct worker *worker_of(struct task_struct *task)
{
	return bpf_task_storage_get(&workers, task, NULL, 0);
}

/* Whether what was taken for a wait for a job was a handler's, by its stack. */
static __always_inline bool span_waited_in_handler(const struct worker *worker,
						   struct task_struct *task)
{
	struct loop_park place = {.stack = worker->job_stack, .tid = tid_of(task)};

	return worker->job_stack && bpf_map_lookup_elem(&loop_handlers, &place);
}

/* By its name, if the user named the workers. */
static __always_inline bool worker_may_be(struct task_struct *task)
{
	char comm[16] = {};

	if (!span_prefix[0])
		return true;
	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (int i = 0; i < 16 && span_prefix[i]; i++)
		if (comm[i] != span_prefix[i])
			return false;
	return true;
}

/* `index` has been checked; the mask is for the verifier, as in wait_function_at(). */
static __always_inline struct span_level *span_level_at(struct worker *worker, __u32 index)
{
	barrier_var(index);
	return &worker->levels[index & (SPAN_LEVELS - 1)];
}

/* The verifier sees the bound; as above. */
static __always_inline struct span_block *span_block_at(struct worker *worker, __u32 index)
{
	barrier_var(index);
	return &worker->blocks[index < SPAN_BLOCKS ? index : 0];
}

/* `waker` wakes a thread, or makes one, that may become a worker in its place. */
static __always_inline void span_note_waker(struct worker *worker, struct task_struct *waker)
{
	const struct worker *by = worker_of(waker);
	__u32 depth;

	/* its poll may have begun before the probes were attached */
	if (!by || (!by->depth && !span_generation))
		return;
	depth = by->depth - 1;
	if (by->depth && depth >= SPAN_LEVELS)
		return;
	worker->woken_by = tid_of(waker);
	worker->woken_span_ns = by->depth ? span_level_at((struct worker *)by, depth)->start_ns : 0;
}

static __always_inline void span_set_thread(struct span_thread *thread, struct task_struct *task)
{
	thread->tid = tid_of(task);
	thread->pid = pid_of(task);
	BPF_CORE_READ_STR_INTO(&thread->comm, task, comm);
}

static __always_inline void span_no_culprit(struct worker *worker)
{
	worker->culprit_ns = 0;
	worker->culprit.tid = 0;
	worker->culprit_is_limit = 0;
}

/* By tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_end);
} stack_ends __weak SEC(".maps");

/* 0: not known. Above the stack pointer, within what is copied at most; else it is another's. */
static __always_inline __u64 span_stack_end(const struct span_stack *stack)
{
	const struct stack_end *known = bpf_map_lookup_elem(&stack_ends, &stack->tid);

	if (!known || known->thread_start_ns != stack->thread_start_ns ||
	    known->exec_id != stack->exec_id ||
	    known->end - stack->frame.stack > SPAN_USER_BYTES - SPAN_RED_ZONE)
		return 0;
	return known->end;
}

/* Pages on end: 16 KiB, as of an array of 1,024 events. */
#define SPAN_MISSING_PAGES 4

/*
 * As much of the stack as there is, up to its user_end, page by page: where that is 0, the page
 * behind it is not readable, or not ours to unwind. Pages in between that are not there are zeros:
 * those of a large array that was not written to yet, below which its function has called others.
 * Global for the verifier's sake: see wait_function_of().
 */
__weak __attribute__((noinline)) int span_copy_user(struct span_stack *stack)
{
	__u32 used = 0, most = SPAN_USER_BYTES, there = 0, missing = 0;
	__u64 from;

	if (!stack)
		return 0;
	from = stack->frame.stack - SPAN_RED_ZONE;
	if (stack->user_end)
		most = (__u32)(stack->user_end - from);
	for (int i = 0; i < SPAN_USER_BYTES / 4096; i++) {
		__u32 length = 4096 - (__u32)((from + used) & 4095);

		if (used > SPAN_USER_BYTES - 4096 || used >= most)
			break;
		if (length > most - used)
			length = most - used;
		barrier_var(length); /* the verifier does not know what the compiler does */
		if (length > 4096)
			break;
		/* one that fails leaves zeros */
		missing = bpf_probe_read_user(stack->user + used, length, (void *)(from + used))
				  ? missing + 1
				  : 0;
		if (missing > SPAN_MISSING_PAGES)
			break;
		used += length;
		if (!missing)
			there = used;
	}
	stack->user_bytes = there;
	return 0;
}

/* Of the current thread: the kernel's part. */
static __always_inline void span_fill_kernel(void *ctx, struct span_stack *stack)
{
	long bytes = bpf_get_stack(ctx, stack->kernel, sizeof(stack->kernel), 0);

	stack->kernel_count = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
}

/* Whose it is. */
static __always_inline void span_identify(struct task_struct *task, struct span_stack *stack)
{
	stack->tid = tid_of(task);
	stack->pid = pid_of(task);
	stack->exec_id = task->self_exec_id;
	stack->thread_start_ns = task->start_boottime;
	stack->process_start_ns = process_start_of(task);
}

/* Of the current thread. */
static __always_inline void span_fill_stack(void *ctx, struct task_struct *task,
					    struct span_stack *stack)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct return_instance *instance = NULL;

	stack->frame = arch_user_frame(regs);
	/* interrupted, or in a system call, which is where it returns to */
	stack->in_user_mode = arch_syscall(task, regs) == WIRE_SYSCALL_NONE;
	span_identify(task, stack);
	if (bpf_core_field_exists(task->utask))
		instance = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < SPAN_RETURNS; i++) {
		stack->returns[i] = instance ? BPF_CORE_READ(instance, orig_ret_vaddr) : 0;
		if (instance)
			instance = BPF_CORE_READ(instance, next);
	}
	span_fill_kernel(ctx, stack);
	/* here, not in the function: before 6.2 a map takes no key from its argument */
	stack->user_end = span_stack_end(stack);
	span_copy_user(stack);
	python_fill(task, stack);
}

/* Which of `span_stacks` it is, + 1; 0: none. `which`: 0 of the worker, 1 of who woke it. */
static __always_inline __u32 *span_stack_number(struct worker *worker, __u32 block, __u32 which)
{
	__u32 index = block * 2 + which;

	barrier_var(index);
	return &worker->stacks[index < SPAN_STACKS ? index : 0];
}

static __always_inline struct span_stack *span_stack_at(struct worker *worker, __u32 block,
							__u32 which)
{
	__u32 index = *span_stack_number(worker, block, which) - 1;

	return bpf_map_lookup_elem(&span_stacks, &index);
}

/* Room for one. Global for the verifier's sake. */
__weak __attribute__((noinline)) int span_stack_take(struct worker *worker, __u32 block,
						     __u32 which)
{
	__u32 *number, index;

	if (!worker)
		return 0;
	number = span_stack_number(worker, block, which);
	if (*number)
		return 0;
	if (bpf_map_pop_elem(&span_stacks_free, &index)) {
		count(&span_stacks_lacking);
		return 0;
	}
	/* the first time in the order of their numbers */
	if (index == span_stacks_half)
		span_stacks_short = true;
	*number = index + 1;
	return 0;
}

/* By its own thread, or as that ends. */
static __noinline int span_stacks_release(struct worker *worker)
{
	for (int i = 0; worker && i < SPAN_STACKS; i++) {
		__u32 index = worker->stacks[i] - 1;

		if (!worker->stacks[i])
			continue;
		worker->stacks[i] = 0;
		bpf_map_push_elem(&span_stacks_free, &index, 0);
	}
	return 0;
}

/* It is in no span any more: others may need them. */
static __always_inline void span_stacks_return(struct worker *worker)
{
	if (span_stacks_short && !worker->depth)
		span_stacks_release(worker);
}

/*
 * Of two times off the CPU, the one that explains more of the span stays: the longer
 * one. A preemption shows where a thread was, not what it waits for: a wait counts as much as a
 * preemption 16 times as long.
 */
static __always_inline __u64 span_block_weight(const struct span_block *block)
{
	return block->site.state == WIRE_RUNNABLE ? block->ns : block->ns << 4;
}

/* Of two in one state: what it is for is seen only with a stack. */
static __always_inline __u64 span_block_worth(const struct span_block *block)
{
	return block->has_stack ? block->ns << 4 : block->ns;
}

/*
 * It has its CPU again. Of each state the block that shows most is kept; of more states than there
 * is room for, those that weigh most. Global for the verifier's sake.
 */
__weak __attribute__((noinline)) int span_end_block(struct worker *worker, __u64 now_ns)
{
	__u32 unused = SPAN_BLOCKS, lightest = SPAN_BLOCKS, same = SPAN_BLOCKS, present;
	struct span_block *block;
	__u64 least = ~0ULL;

	if (!worker)
		return 0;
	present = worker->present < SPAN_BLOCKS ? worker->present : 0;
	block = span_block_at(worker, present);
	worker->off = 0;
	block->ns = now_ns - block->since_ns;
	for (__u32 i = 0; i < SPAN_BLOCKS; i++) {
		const struct span_block *other = &worker->blocks[i];

		if (i == present)
			continue;
		if (!(worker->kept & 1U << i)) {
			unused = i;
			continue;
		}
		if (other->site.state == block->site.state)
			same = i;
		if (span_block_weight(other) < least) {
			least = span_block_weight(other);
			lightest = i;
		}
	}
	if (same < SPAN_BLOCKS) {
		if (span_block_worth(block) <= span_block_worth(span_block_at(worker, same)))
			return 0;
		unused = same;
	} else if (unused == SPAN_BLOCKS) {
		if (span_block_weight(block) <= least)
			return 0;
		unused = lightest;
	}
	worker->kept = (worker->kept & ~(1U << unused)) | 1U << present;
	worker->present = unused;
	return 0;
}

#endif
