/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the iterator over waiting threads (queues.bpf.c) says of each: shared with user space. */
#ifndef DWELL_BPF_QUEUES_H
#define DWELL_BPF_QUEUES_H

#include <linux/types.h>

/* enum scx_dsq_id_flags of include/linux/sched/ext.h. Local queues, one a CPU, share an id. */
#define QUEUE_BUILT_IN (1ULL << 63)
#define QUEUE_GLOBAL   (QUEUE_BUILT_IN | 1)
#define QUEUE_LOCAL    (QUEUE_BUILT_IN | 2)
/* Of ours: the scheduler has it in a queue of its own, and in none of the kernel's. */
#define QUEUE_OF_SCHEDULER (QUEUE_BUILT_IN | 0xffffffffULL)

/* A thread of sched_ext that is ready, and does not run. */
struct queue_record {
	__u64 queue;	 /* id of its dispatch queue, or QUEUE_OF_SCHEDULER */
	__u64 now_ns;	 /* CLOCK_MONOTONIC */
	__u64 jiffies;	 /* now */
	__u64 waited;	 /* jiffies since it was runnable, or last ran */
	__u32 tid, tgid; /* in the first pid namespace */
	__u32 cpu;	 /* that it is queued on */
	__u32 pad;
	char comm[16]; /* not terminated when 16 long */
};

#endif
