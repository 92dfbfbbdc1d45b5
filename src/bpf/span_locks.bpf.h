/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops behind a lock. Of several threads, or processes forked for it, one waits for events, and
 * has a lock meanwhile; the others wait for that (leader and followers: accept mutexes, uWSGI's
 * --thunder-lock). Who waits for it waits for work, and its turn at what came before is over.
 *
 * Such a lock is known by a thread that waited for it, and waits for events while it is the owner.
 * Locks without an owner, as those of Rust and of musl within a process, are not known.
 */
#ifndef DWELL_BPF_SPAN_LOCKS_BPF_H
#define DWELL_BPF_SPAN_LOCKS_BPF_H

#include <bpf/bpf_helpers.h>

#include "bpf/classify.bpf.h"
#include "bpf/span_bounds.bpf.h"
#include "bpf/spans.bpf.h"

/* Where glibc's mutexes have their owner: nptl/bits/struct_mutex.h */
#define MUTEX_OWNER_AT 8
/* include/uapi/linux/futex.h: of robust mutexes and those that inherit priorities; musl's shared */
#define FUTEX_TID_MASK 0x3fffffff

/* In the pid namespace that it is in itself. */
static __always_inline __u32 own_tid_of(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid *upid = (struct upid *)&pid->numbers[0] + BPF_CORE_READ(pid, level);

	return (__u32)BPF_CORE_READ(upid, nr);
}

static __always_inline struct loop_lock loop_lock_at(struct task_struct *task, __u64 address)
{
	return (struct loop_lock){address, (__u64)BPF_CORE_READ(task, mm, exe_file)};
}

/* The current thread is about to wait for events. Whether it has the lock that it waited for. */
static __attribute__((noinline, unused)) int span_learn_lock(struct worker *worker,
							     struct task_struct *task)
{
	__u32 word = 0, owner = 0, tid;
	struct loop_lock lock;
	__u8 known = 1;
	__u64 address;

	if (!worker || !task || !worker->turn_lock)
		return 0;
	address = worker->turn_lock;
	worker->turn_lock = 0;
	tid = own_tid_of(task);
	if (bpf_probe_read_user(&word, sizeof(word), (void *)address) || !word)
		return 0;
	bpf_probe_read_user(&owner, sizeof(owner), (void *)(address + MUTEX_OWNER_AT));
	if ((word & FUTEX_TID_MASK) != tid && owner != tid)
		return 0;
	lock = loop_lock_at(task, address);
	bpf_map_update_elem(&loop_locks, &lock, &known, BPF_ANY);
	return 1;
}

/* Notes for which lock the thread waits; whether it is one of loops, and was known before. */
enum { SPAN_LOCK_OTHER, SPAN_LOCK_OF_LOOP, SPAN_LOCK_NEW };

static __attribute__((noinline, unused)) int span_note_lock(struct worker *worker,
							    struct task_struct *task)
{
	struct loop_lock lock;
	bool again;

	if (!worker || !task)
		return SPAN_LOCK_OTHER;
	lock = loop_lock_at(task, arch_argument_0((struct pt_regs *)bpf_task_pt_regs(task)));
	again = worker->turn_lock == lock.address;
	worker->turn_lock = lock.address;
	if (!bpf_map_lookup_elem(&loop_locks, &lock))
		return SPAN_LOCK_OTHER;
	return again ? SPAN_LOCK_NEW : SPAN_LOCK_OF_LOOP;
}

/*
 * A thread of an event loop waits for a lock. Whether for one of loops: then its turn is over, or
 * left out, where it waited for the same when that was not known.
 */
static __always_inline bool span_waits_for_lock(struct worker *worker,
						const struct account *account,
						struct task_struct *task,
						struct wire_wait_site site, __u64 now_ns)
{
	int of;

	if (worker->kind != SPAN_TURN || !worker->depth || site.state != WIRE_LOCK ||
	    class_of(site.syscall) != SYSCALL_FUTEX)
		return false;
	of = span_note_lock(worker, task);
	if (of == SPAN_LOCK_OTHER)
		return false;
	if (of == SPAN_LOCK_OF_LOOP)
		span_finish(worker, account, now_ns);
	worker->depth = 0;
	worker->parked = 1;
	return true;
}

#endif
