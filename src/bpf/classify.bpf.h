/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a thread that left its CPU waits: from its scheduler state, the system call it is in, the
 * object behind a descriptor argument, and, where these are not enough, its kernel stack.
 *
 * Works on the current thread in sched_switch and on any blocked thread in the task iterator. Every
 * read of another thread is allowed to fail and then counts as zero.
 */
#ifndef DWELL_BPF_CLASSIFY_BPF_H
#define DWELL_BPF_CLASSIFY_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/arch.bpf.h"
#include "bpf/config.h"
#include "bpf/follow.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/wire.h"

/* include/linux/sched.h; these bits have not moved since 4.14 (FROZEN: 6.1) */
#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_STOPPED	     0x0004
#define TASK_TRACED	     0x0008
#define TASK_DEAD	     0x0080
#define TASK_WAKING	     0x0200
#define TASK_NOLOAD	     0x0400
#define TASK_NEW	     0x0800
#define TASK_RTLOCK_WAIT     0x1000
#define TASK_FROZEN	     0x8000
#define PF_IO_WORKER	     0x00000010
#define PF_KTHREAD	     0x00200000
#define JOBCTL_TRAP_FREEZE   (1UL << 23) /* include/linux/sched/jobctl.h: cgroup v2 freezer */

/* include/uapi/linux/stat.h, magic.h, socket.h */
#define S_IFMT		    0170000
#define S_IFSOCK	    0140000
#define S_IFREG		    0100000
#define S_IFBLK		    0060000
#define S_IFDIR		    0040000
#define S_IFCHR		    0020000
#define S_IFIFO		    0010000
#define ANON_INODE_FS_MAGIC 0x09041934
#define AF_UNIX		    1
#define AF_INET		    2
#define AF_INET6	    10
#define AF_NETLINK	    16

/* include/uapi/linux/futex.h, fcntl.h */
#define FUTEX_CMD_MASK	      127
#define FUTEX_PRIVATE_FLAG    128
#define FUTEX_WAIT	      0
#define FUTEX_LOCK_PI	      6
#define FUTEX_WAIT_BITSET     9
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_LOCK_PI2	      13
#define F_SETLKW	      7
#define F_OFD_SETLKW	      38

#define STACK_FRAMES	      32

const volatile __u8 syscall_classes[SYSCALL_TABLE_SIZE] __weak = {};
/* Written before any program is attached. */
volatile struct wait_function wait_functions[WAIT_FUNCTIONS] __weak = {};

/* One for the scheduler's hooks, where interrupts are off, one for the iterator below them. */
struct stack_buffers {
	__u64 frames[2][STACK_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_buffers);
} stack_buffers __weak SEC(".maps");

static __always_inline enum syscall_class class_of(int syscall)
{
	__u32 index = (__u32)syscall;

	if (index >= SYSCALL_TABLE_SIZE)
		return SYSCALL_OTHER;
	barrier_var(index); /* as in wait_function_at() */
	return syscall_classes[index & (SYSCALL_TABLE_SIZE - 1)];
}

static __always_inline struct wire_wait_site wait_site(__u8 state, __u8 detail, int syscall)
{
	return (struct wire_wait_site){.state = state, .detail = detail, .syscall = (__s16)syscall};
}

/*
 * Zero, but the verifier does not know that. Ways that differ by a constant alone are one way to
 * it once this has been added: it looks at what follows once, and dwell starts the sooner.
 */
volatile __u32 unknown_zero __weak = 0;

static __always_inline struct wire_wait_site any_where(struct wire_wait_site known)
{
	union {
		struct wire_wait_site site;
		__u32 word;
	} any = {.site = known};

	_Static_assert(sizeof(any) == sizeof(any.word), "one word");
	any.word += unknown_zero;
	return any.site;
}

/*
 * Index of the last wait function that starts at or below the address, if that is one of the
 * kernel's half. Without a branch: the verifier would look at all 256 ways through here.
 */
static __always_inline __u32 wait_function_below(__u64 address)
{
	__u32 index = 0;

	for (int bit = WAIT_FUNCTIONS_LOG2 - 1; bit >= 0; bit--) {
		__u32 probe = (index | 1U << bit) & (WAIT_FUNCTIONS - 1);
		__u64 is_above = (address - wait_functions[probe].start) >> 63;

		barrier_var(is_above);
		index |= (__u32)(is_above ^ 1) << bit;
	}
	return index & (WAIT_FUNCTIONS - 1);
}

/* `index` has been checked; the mask is for the verifier, which does not see through clang's check.
 */
static __always_inline const volatile struct wait_function *wait_function_at(__u32 index)
{
	barrier_var(index);
	return &wait_functions[index & (WAIT_FUNCTIONS - 1)];
}

/*
 * This function and the next are global, so that the verifier looks at each loop once, and not
 * again after every way that leads to it: else they are most of the time dwell takes to start.
 */
__weak __attribute__((noinline)) __u32 wait_function_of(__u64 address)
{
	__u32 index = wait_function_below(address);

	return wait_functions[index].start <= address && address < wait_functions[index].end
		       ? index
		       : WAIT_FUNCTIONS;
}

/* The function that decides among `bytes` of frames in a stack buffer; WAIT_FUNCTIONS: none known.
 */
__weak __attribute__((noinline)) __u32 stack_wait_function(__u32 buffer, long bytes)
{
	__u32 zero = 0, found = WAIT_FUNCTIONS;
	struct stack_buffers *buffers = bpf_map_lookup_elem(&stack_buffers, &zero);

	if (!buffers || buffer > 1)
		return WAIT_FUNCTIONS;
	for (int i = 0; i < STACK_FRAMES; i++) {
		if ((long)(i * sizeof(__u64)) >= bytes)
			break;
		__u32 index = wait_function_of(buffers->frames[buffer][i]);

		if (index >= WAIT_FUNCTIONS)
			continue;
		if (wait_function_at(index)->decides)
			return index;
		if (found == WAIT_FUNCTIONS)
			found = index;
	}
	return found;
}

/*
 * What the kernel stack says; detail NONE if nothing known is on it. With the context of a
 * tracepoint hit by the current thread, its stack; else that of `task`, from which the kernel
 * leaves out all functions of the scheduler section: locks and completions are among them, so a
 * thread that waits for one when it is seeded is taken by its system call.
 */
static __always_inline struct wire_wait_site classify_stack(struct task_struct *task, void *ctx)
{
	__u32 zero = 0, buffer = ctx ? 0 : 1, index;
	struct stack_buffers *buffers = bpf_map_lookup_elem(&stack_buffers, &zero);
	long bytes;

	if (!buffers)
		return wait_site(WIRE_UNKNOWN, WIRE_DETAIL_NONE, 0);
	if (ctx)
		bytes = bpf_get_stack(ctx, buffers->frames[0], sizeof(buffers->frames[0]), 0);
	else
		bytes = bpf_get_task_stack(task, buffers->frames[1], sizeof(buffers->frames[1]), 0);
	index = stack_wait_function(buffer, bytes);
	if (index >= WAIT_FUNCTIONS)
		return wait_site(WIRE_UNKNOWN, WIRE_DETAIL_NONE, 0);
	return wait_site(wait_function_at(index)->state, wait_function_at(index)->detail, 0);
}

/* The open file behind a descriptor; NULL if there is none. */
static __always_inline struct file *descriptor_file(struct task_struct *task, __u64 descriptor)
{
	struct fdtable *table = FOLLOW(task, files, fdt);
	struct file **slot;

	if ((__u32)descriptor >= FOLLOW(table, max_fds))
		return NULL;
	slot = FOLLOW(table, fd) + (__u32)descriptor;
	/* structures can be followed, an array cannot */
	return (struct file *)FOLLOW_ADDRESS(hlist_head, (struct hlist_head *)slot, first);
}

/* As a number: one that has been copied is no pointer, on which verifiers allow no arithmetic. */
static __always_inline __u64 descriptor_inode(struct task_struct *task, __u64 descriptor)
{
	return (__u64)BPF_CORE_READ(descriptor_file(task, descriptor), f_inode);
}

static __always_inline struct wire_wait_site classify_socket(struct file *file, int syscall)
{
	struct socket *socket = FOLLOW_ADDRESS(file, file, private_data);

	switch (FOLLOW_ADDRESS(socket, socket, sk, __sk_common.skc_family)) {
	case AF_UNIX:
		return wait_site(WIRE_IPC, WIRE_DETAIL_UNIX, syscall);
	case AF_INET:
	case AF_INET6:
		return wait_site(WIRE_NET, WIRE_DETAIL_INET, syscall);
	case AF_NETLINK: /* messages of the kernel: uevents, audit, link changes */
		return wait_site(WIRE_IDLE, WIRE_DETAIL_NETLINK, syscall);
	default:
		return wait_site(WIRE_NET, WIRE_DETAIL_SOCKET, syscall);
	}
}

static __always_inline struct wire_wait_site
classify_descriptor(struct task_struct *task, __u64 descriptor, int syscall, bool uninterruptible)
{
	struct file *file = descriptor_file(task, descriptor);

	if (!file)
		return wait_site(WIRE_UNKNOWN, WIRE_DETAIL_NONE, syscall);
	switch (FOLLOW_ADDRESS(file, file, f_inode, i_mode) & S_IFMT) {
	case S_IFIFO:
		return wait_site(WIRE_IPC, WIRE_DETAIL_PIPE, syscall);
	case S_IFSOCK:
		return classify_socket(file, syscall);
	case S_IFCHR:
		return wait_site(WIRE_IDLE, WIRE_DETAIL_CHARDEV, syscall);
	case S_IFBLK:
		return wait_site(WIRE_DISK, WIRE_DETAIL_BLOCKDEV, syscall);
	case S_IFDIR:
		return wait_site(WIRE_DISK, WIRE_DETAIL_DIRECTORY, syscall);
	case S_IFREG:
		/*
		 * Files of a disk are waited for without signals. The others bring news: of
		 * tracefs, proc; and eventfd and its like, regular files since 6.16 (commit
		 * cfd86ef7e8e7).
		 */
		if (uninterruptible)
			return wait_site(WIRE_DISK, WIRE_DETAIL_FILE, syscall);
		if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) != ANON_INODE_FS_MAGIC)
			return wait_site(WIRE_UNKNOWN, WIRE_DETAIL_FILE, syscall);
		break;
	}
	return wait_site(WIRE_IDLE, WIRE_DETAIL_EVENT, syscall);
}

/*
 * glibc: mutexes wait with FUTEX_WAIT, condition variables, semaphores and joins with
 * FUTEX_WAIT_BITSET. Others mix them (Rust's mutexes use the latter): docs/formats/json.md.
 */
static __always_inline struct wire_wait_site classify_futex(__u64 operation, int syscall)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return wait_site(WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK, syscall);
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return wait_site(WIRE_LOCK, WIRE_DETAIL_FUTEX_PI, syscall);
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAIT_REQUEUE_PI:
		return wait_site(WIRE_IDLE, WIRE_DETAIL_FUTEX_COND, syscall);
	}
	return wait_site(WIRE_UNKNOWN, WIRE_DETAIL_NONE, syscall);
}

static __always_inline struct wire_wait_site classify_poll(const struct pt_regs *regs, int syscall)
{
	bool timed = !arch_argument_1(regs) && syscall_poll_is_timed(arch_argument_2(regs));

	return wait_site(timed ? WIRE_SLEEP : WIRE_IDLE, WIRE_DETAIL_NONE, syscall);
}

static __always_inline struct wire_wait_site
classify_syscall(struct task_struct *task, const struct pt_regs *regs, int syscall,
		 struct wire_wait_site last_call, bool uninterruptible)
{
	enum syscall_class class = class_of(syscall);
	struct wire_wait_site known;
	__u64 command;
	bool timed;

	switch (class) {
	case SYSCALL_OTHER:
		break;
	case SYSCALL_POLL:
		return classify_poll(regs, syscall);
	case SYSCALL_SELECT:
		timed = !arch_argument_0(regs) && arch_argument_4(regs);
		return wait_site(timed ? WIRE_SLEEP : WIRE_IDLE, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_WAIT:
	case SYSCALL_CHILD:
		return wait_site(WIRE_IDLE, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_SLEEP:
		return wait_site(WIRE_SLEEP, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_DESCRIPTOR:
	case SYSCALL_WRITE:
		known = classify_descriptor(task, arch_argument_0(regs), syscall, uninterruptible);
		if (class == SYSCALL_WRITE && known.state == WIRE_IDLE)
			known.state = WIRE_UNKNOWN; /* the stack decides */
		return known;
	case SYSCALL_FILE:
	case SYSCALL_SPLICE:
		return wait_site(uninterruptible ? WIRE_DISK : WIRE_UNKNOWN, WIRE_DETAIL_NONE,
				 syscall);
	case SYSCALL_IPC:
		return wait_site(WIRE_IPC, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_LOCK:
	case SYSCALL_FLOCK:
		return wait_site(WIRE_LOCK, WIRE_DETAIL_NONE, syscall);
	case SYSCALL_FCNTL:
		command = arch_argument_1(regs);
		if (command == F_SETLKW || command == F_OFD_SETLKW)
			return wait_site(WIRE_LOCK, WIRE_DETAIL_NONE, syscall);
		return wait_site(uninterruptible ? WIRE_DISK : WIRE_UNKNOWN, WIRE_DETAIL_NONE,
				 syscall);
	case SYSCALL_FUTEX:
		return classify_futex(arch_argument_1(regs), syscall);
	case SYSCALL_FUTEX_WAIT:
		return classify_futex(FUTEX_WAIT, syscall);
	case SYSCALL_VFORK:
		if (uninterruptible)
			return wait_site(WIRE_IDLE, WIRE_DETAIL_VFORK, syscall);
		break;
	case SYSCALL_YIELD:
		break;
	case SYSCALL_RESTART:
		/*
		 * The number of the call it goes on with is not in the registers: it is the last
		 * one we saw, or the stack says.
		 */
		if (last_call.state)
			return last_call;
		break;
	}
	return wait_site(WIRE_UNKNOWN, WIRE_DETAIL_NONE, syscall);
}

/* on_rq is set, but the thread has blocked: it leaves the queue later (DELAY_DEQUEUE, 6.12 on). */
static __always_inline bool is_delayed(const struct task_struct *task)
{
	return bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed;
}

/*
 * Blocked, as the run queue sees it. Asked in sched_switch, because the state it passes is not
 * enough: a thread about to block with a signal pending stays runnable, and before 6.15 (commit
 * 8feb053d5319) is passed with the state it did not enter.
 */
static __always_inline bool has_left_queue(const struct task_struct *task)
{
	return !task->on_rq || is_delayed(task);
}

static __always_inline bool is_kernel_thread(const struct task_struct *task)
{
	return task->flags & (PF_KTHREAD | PF_IO_WORKER);
}

static __always_inline struct wire_wait_site classify_kernel_thread(struct task_struct *task,
								    unsigned int state, void *ctx)
{
	struct wire_wait_site idle = wait_site(WIRE_IDLE, WIRE_DETAIL_KTHREAD, WIRE_SYSCALL_KERNEL);
	bool uninterruptible = state & TASK_UNINTERRUPTIBLE && !(state & TASK_NOLOAD);
	struct wire_wait_site found;

	/* those of io_uring wait for what a process asked them to do */
	if (!uninterruptible && !(task->flags & PF_IO_WORKER))
		return idle;
	found = classify_stack(task, ctx);
	found.syscall = WIRE_SYSCALL_KERNEL;
	if (found.detail)
		return found;
	if (!uninterruptible)
		return idle;
	found.detail = WIRE_DETAIL_KTHREAD;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		found.state = WIRE_DISK;
	return found;
}

/* Worth its microsecond in disk, page-fault and unknown waits; never asked in the frequent sleeps.
 */
static __always_inline struct wire_wait_site
classify_by_stack(struct task_struct *task, struct wire_wait_site guess, bool iowait, void *ctx)
{
	struct wire_wait_site found = classify_stack(task, ctx);

	if (iowait && guess.state != WIRE_DISK)
		guess.state = WIRE_DISK;
	if (!found.detail)
		/* a file that is no disk's, and was waited for with signals: news */
		return guess.state == WIRE_UNKNOWN && guess.detail == WIRE_DETAIL_FILE
			       ? wait_site(WIRE_IDLE, WIRE_DETAIL_FILE, guess.syscall)
			       : guess;
	/* `fsync` or `read:file` says more than that it waits for a block; keep it */
	if (found.state == WIRE_DISK && guess.state == WIRE_DISK &&
	    guess.syscall != WIRE_SYSCALL_NONE && found.detail == WIRE_DETAIL_BLOCK_IO)
		return guess;
	/* a page lock or kernel work in the middle of a vfork or exit is no disk access */
	if (guess.detail == WIRE_DETAIL_VFORK && found.detail == WIRE_DETAIL_KERNEL_WORK)
		return guess;
	found.syscall = guess.syscall;
	return found;
}

#define SECCOMP_FILTERS 16 /* looked at; a container has some, each sandbox in it one more */

/*
 * Whether one of the filters, from the last one on, asks a supervisor (SECCOMP_RET_USER_NOTIF):
 * then a thread may wait for its answer in any system call. Global as wait_function_of() is.
 */
__weak __attribute__((noinline)) __u32 has_supervisor(__u64 last)
{
	struct seccomp_filter *filter = (void *)last;

	if (!bpf_core_field_exists(filter->notif))
		return 0;
	for (int i = 0; i < SECCOMP_FILTERS && filter; i++) {
		if (BPF_CORE_READ(filter, notif))
			return 1;
		filter = BPF_CORE_READ(filter, prev);
	}
	return 0;
}

/*
 * A thread blocked in scheduler state `state`. `last_call` is where it last blocked in a system
 * call (all zeros: not known); `is_supervised`: has_supervisor(); `ctx` the context of
 * sched_switch, where the thread is the current one, or NULL.
 */
static __always_inline struct wire_wait_site classify(struct task_struct *task, unsigned int state,
						      struct wire_wait_site last_call,
						      bool is_supervised, void *ctx)
{
	if (state & TASK_TRACED)
		return wait_site(WIRE_STOPPED, WIRE_DETAIL_TRACER, WIRE_SYSCALL_NONE);
	if (state & TASK_STOPPED)
		return wait_site(WIRE_STOPPED, WIRE_DETAIL_SIGNAL, WIRE_SYSCALL_NONE);
	if (state & TASK_FROZEN || task->jobctl & JOBCTL_TRAP_FREEZE)
		return wait_site(WIRE_STOPPED, WIRE_DETAIL_FREEZER, WIRE_SYSCALL_NONE);
	if (is_kernel_thread(task))
		return classify_kernel_thread(task, state, ctx);

	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	int syscall = arch_syscall(task, regs);
	/* without a branch: see any_where() */
	bool uninterruptible = state / TASK_UNINTERRUPTIBLE & ~(state / TASK_NOLOAD) & 1;

	if (state & TASK_RTLOCK_WAIT)
		return wait_site(WIRE_LOCK, WIRE_DETAIL_KERNEL_LOCK, syscall);
	struct wire_wait_site guess =
		any_where(classify_syscall(task, regs, syscall, last_call, uninterruptible));

	if (!uninterruptible && !is_supervised && syscall != WIRE_SYSCALL_NONE &&
	    guess.state != WIRE_UNKNOWN)
		return guess;
	guess = classify_by_stack(task, guess, BPF_CORE_READ_BITFIELD(task, in_iowait), ctx);
#ifdef ARCH_POLL
	/* of the calls for events only poll() goes on so, and its arguments are still there */
	if (class_of(syscall) == SYSCALL_RESTART && guess.state == WIRE_IDLE &&
	    guess.detail == WIRE_DETAIL_EVENT && guess.syscall == syscall)
		return any_where(classify_poll(regs, ARCH_POLL));
#endif
	return guess;
}

#endif
