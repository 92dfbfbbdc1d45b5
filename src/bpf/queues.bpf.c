// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads that wait under a sched_ext scheduler, and in which dispatch queue: an object of its
 * own, which is loaded only where there is one.
 */
#include "bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/queues.h"

char LICENSE[] SEC("license") = "GPL";

#define SCX_TASK_QUEUED 1 /* enum scx_ent_flags: on a run queue of sched_ext */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* include/linux/sched/ext.h */
struct scx_dispatch_q {
	__u64 id;
};

struct sched_ext_entity {
	struct scx_dispatch_q *dsq;
	__u32 flags;
	unsigned long runnable_at; /* jiffies */
};

struct task_struct___ext {
	struct sched_ext_entity scx;
};

#pragma clang attribute pop

/* Of its own section: the others' are taken care of by capture/tracing_programs.h. */
SEC("iter.s/task")
int on_waiting(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct task_struct___ext *ext = (void *)task;
	struct queue_record record = {};
	struct scx_dispatch_q *queue;

	if (!task || !bpf_core_field_exists(ext->scx.dsq) ||
	    !(BPF_CORE_READ(ext, scx.flags) & SCX_TASK_QUEUED) || BPF_CORE_READ(task, on_cpu))
		return 0;
	queue = BPF_CORE_READ(ext, scx.dsq);
	record.queue = queue ? BPF_CORE_READ(queue, id) : QUEUE_OF_SCHEDULER;
	record.now_ns = bpf_ktime_get_ns();
	record.jiffies = bpf_jiffies64();
	record.waited = record.jiffies - BPF_CORE_READ(ext, scx.runnable_at);
	record.tid = BPF_CORE_READ(task, pid);
	record.tgid = BPF_CORE_READ(task, tgid);
	if (bpf_core_field_exists(task->thread_info.cpu))
		record.cpu = BPF_CORE_READ(task, thread_info.cpu);
	else
		record.cpu = BPF_CORE_READ(task, cpu);
	bpf_probe_read_kernel(record.comm, sizeof(record.comm), &task->comm);
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}
