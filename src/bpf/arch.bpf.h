/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one table of architecture facts on the kernel side: where a thread's system call number and
 * arguments are saved, and how to recognize a 32-bit process. Its user-space half is the system
 * call table in capture/syscalls.c.
 */
#ifndef DWELL_BPF_ARCH_BPF_H
#define DWELL_BPF_ARCH_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/config.h"
#include "bpf/follow.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/wire.h"

/* Where x86 keeps it: the count's address from that of `runqueues` on; 0: not known. */
const volatile __s64 preempt_count_offset __weak = 0;

#if defined(__TARGET_ARCH_x86)

#define TS_COMPAT 0x0002 /* arch/x86/include/asm/thread_info.h: in a 32-bit system call */

/* orig_ax is -1 after an exception or interrupt (idtentry_body in entry_64.S). */
static __always_inline int arch_syscall(const struct task_struct *task, const struct pt_regs *regs)
{
	long number = (long)regs->orig_ax;

	if (task->thread_info.status & TS_COMPAT)
		return WIRE_SYSCALL_COMPAT;
	return number < 0 || number > 0x7fff ? WIRE_SYSCALL_NONE : (int)number;
}

static __always_inline __u64 arch_argument_0(const struct pt_regs *regs)
{
	return regs->di;
}

static __always_inline __u64 arch_argument_1(const struct pt_regs *regs)
{
	return regs->si;
}

static __always_inline __u64 arch_argument_2(const struct pt_regs *regs)
{
	return regs->dx;
}

static __always_inline __u64 arch_argument_3(const struct pt_regs *regs)
{
	return regs->r10;
}

static __always_inline __u64 arch_argument_4(const struct pt_regs *regs)
{
	return regs->r8;
}

/* Where the memory of the thread's own is: the address of its struct pthread, in all C libraries.
 */
static __always_inline __u64 arch_thread_pointer(const struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

/* A call writes the address it returns to where the stack pointer is at the function's entry. */
/* accept(), accept4() */
#define ARCH_IS_ACCEPT(number) ((number) == 43 || (number) == 288)
#define ARCH_CALL_PUSHES       true
/* poll(), which goes on as restart_syscall() after a stop */
#define ARCH_POLL 7

static __always_inline struct site_frame arch_user_frame(const struct pt_regs *regs)
{
	return (struct site_frame){
		.address = regs->ip, .stack = regs->sp, .frame = regs->bp, .link = regs->di};
}

/*
 * A variable of each CPU, which kernels without CONFIG_KALLSYMS_ALL give no program the address of.
 * But a run queue is another one, and in all CPUs' memory they lie equally far apart. Of the
 * present CPU, whose run queue it is: include/linux/preempt.h.
 */
static __always_inline __u32 arch_preempt_count(const struct task_struct *task,
						const struct rq *run_queue)
{
	__u64 address = (__u64)run_queue + preempt_count_offset;

	/* any structure that begins with an int */
	return preempt_count_offset ? (__u32)FOLLOW_ADDRESS(upid, (struct upid *)address, nr) : 0;
}

#elif defined(__TARGET_ARCH_arm64)

/* Of the current thread. */
static __always_inline __u32 arch_preempt_count(const struct task_struct *task,
						const struct rq *run_queue)
{
	return (__u32)task->thread_info.preempt_count;
}

#define TIF_32BIT	       22 /* arch/arm64/include/asm/thread_info.h */

/* syscallno is NO_SYSCALL (-1) outside system calls (asm/ptrace.h). */
static __always_inline int arch_syscall(const struct task_struct *task, const struct pt_regs *regs)
{
	int number = regs->syscallno;

	if (task->thread_info.flags & (1UL << TIF_32BIT))
		return WIRE_SYSCALL_COMPAT;
	return number < 0 || number > 0x7fff ? WIRE_SYSCALL_NONE : number;
}

static __always_inline __u64 arch_argument_0(const struct pt_regs *regs)
{
	return regs->orig_x0; /* x0 becomes the result */
}

static __always_inline __u64 arch_argument_1(const struct pt_regs *regs)
{
	return regs->regs[1];
}

static __always_inline __u64 arch_argument_2(const struct pt_regs *regs)
{
	return regs->regs[2];
}

static __always_inline __u64 arch_argument_3(const struct pt_regs *regs)
{
	return regs->regs[3];
}

static __always_inline __u64 arch_argument_4(const struct pt_regs *regs)
{
	return regs->regs[4];
}

static __always_inline __u64 arch_thread_pointer(const struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/* The function stores it, if at all, where it likes. */
#define ARCH_IS_ACCEPT(number) ((number) == 202 || (number) == 242)
#define ARCH_CALL_PUSHES       false

static __always_inline struct site_frame arch_user_frame(const struct pt_regs *regs)
{
	return (struct site_frame){.address = regs->pc,
				   .stack = regs->sp,
				   .frame = regs->regs[29],
				   .link = regs->regs[30]};
}

#endif

/* Of a thread that is in the kernel: where it goes on in user mode. */
static __always_inline struct site_frame user_frame_of(struct task_struct *task)
{
	return arch_user_frame((struct pt_regs *)bpf_task_pt_regs(task));
}

#endif
