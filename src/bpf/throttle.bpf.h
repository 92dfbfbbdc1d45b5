/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that may not run although they could: a budget is used up. Which, and whose it is. */
#ifndef DWELL_BPF_THROTTLE_BPF_H
#define DWELL_BPF_THROTTLE_BPF_H

#include "bpf/kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* include/uapi/linux/sched.h */
#define SCHED_FIFO     1
#define SCHED_RR       2
#define SCHED_DEADLINE 6

/*
 * Of a thread that could go on, but may not: the budget of its cgroup is used up, its own
 * (SCHED_DEADLINE), or that of all real-time threads on this CPU (sched_rt_runtime_us).
 */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___per_task_throttle *per_task = (void *)task;

	if (task->policy == SCHED_DEADLINE)
		return BPF_CORE_READ_BITFIELD(task, dl.dl_throttled) &&
		       !BPF_CORE_READ_BITFIELD(task, dl.dl_yielded);
	if (task->policy == SCHED_FIFO || task->policy == SCHED_RR)
		return bpf_core_field_exists(((struct cfs_rq *)0)->rq) &&
		       bpf_core_field_exists(((struct rt_rq *)0)->rt_throttled) &&
		       BPF_CORE_READ(task, se.cfs_rq, rq, rt.rt_throttled);
	if (bpf_core_field_exists(per_task->throttled))
		return BPF_CORE_READ(per_task, throttled);
	if (bpf_core_field_exists(task->se.cfs_rq) &&
	    bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return task->se.cfs_rq->throttle_count > 0;
	return false;
}

/* Cgroups around a thread, its own first, that are asked for their budgets. */
#define LIMIT_GROUPS 8

/* The next one outwards: of it, and of the entity that its queue is in another queue as. */
static __always_inline void limit_step(__u64 *queue, __u64 *entity)
{
	*queue = (__u64)BPF_CORE_READ((struct sched_entity *)*entity, cfs_rq);
	*entity = (__u64)BPF_CORE_READ((struct sched_entity *)*entity, parent);
}

/* Global, and with addresses as numbers, as pid_number() is. */
__weak __attribute__((noinline)) __u32 limit_nearest(__u64 queue, __u64 entity)
{
	for (__u32 i = 1; i <= LIMIT_GROUPS && queue; i++) {
		if (BPF_CORE_READ_BITFIELD_PROBED((struct cfs_rq *)queue, throttled))
			return i;
		limit_step(&queue, &entity);
	}
	return 0;
}

/* As limit_nearest(): the address of that cgroup; 0: it has none. */
__weak __attribute__((noinline)) __u64 limit_group(__u64 queue, __u64 entity, __u32 limit)
{
	for (__u32 i = 1; i < LIMIT_GROUPS && i < limit; i++)
		limit_step(&queue, &entity);
	return (__u64)BPF_CORE_READ((struct cfs_rq *)queue, tg, css.cgroup);
}

static __always_inline bool limits_are_known(const struct task_struct *task)
{
	return bpf_core_field_exists(task->se.parent) && bpf_core_field_exists(task->se.cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->throttled) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->tg);
}

/*
 * The thread is throttled: by the budget of its own cgroup, 1, or of one around it, counted
 * outwards; 0: by another one.
 */
static __always_inline __u8 limit_reached(struct task_struct *task)
{
	if (!limits_are_known(task) || task->policy == SCHED_DEADLINE ||
	    task->policy == SCHED_FIFO || task->policy == SCHED_RR)
		return 0;
	return (__u8)limit_nearest((__u64)BPF_CORE_READ(task, se.cfs_rq),
				   (__u64)BPF_CORE_READ(task, se.parent));
}

/* The cgroup of a limit that the thread had reached; `id` 0: not one of cgroups v2. */
static __always_inline void limit_identify(struct task_struct *task, __u32 limit, __u64 *id,
					   __u64 name[2])
{
	struct cgroup *group = NULL;

	*id = name[0] = name[1] = 0;
	if (limit && limits_are_known(task))
		group = (struct cgroup *)limit_group((__u64)BPF_CORE_READ(task, se.cfs_rq),
						     (__u64)BPF_CORE_READ(task, se.parent), limit);
	if (!group)
		return;
	if (BPF_CORE_READ(group, root) == BPF_CORE_READ(task, cgroups, dfl_cgrp, root))
		*id = BPF_CORE_READ(group, kn, id);
	bpf_probe_read_kernel_str(name, 16, BPF_CORE_READ(group, kn, name));
}

#endif
