/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Account and thread -> wire record. */
#ifndef DWELL_BPF_RECORD_BPF_H
#define DWELL_BPF_RECORD_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/classify.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/kernel_types.h"
#include "bpf/wire.h"

#define EVENTS_BYTES	   (4 << 20)
#define EARLY_WAKEUP_BYTES (EVENTS_BYTES / 4)

/* Sent to user space: ends of threads, and questions (sites.bpf.h). */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENTS_BYTES);
} events __weak SEC(".maps");

/* include/linux/sched/prio.h: static_prio of nice 0 */
#define NICE_0_PRIORITY 120

struct task_struct___with_cpu {
	unsigned int cpu;
} __attribute__((preserve_access_index));

static __always_inline __u32 task_cpu(const struct task_struct *task)
{
	const struct task_struct___with_cpu *older = (const void *)task;

	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	if (bpf_core_field_exists(older->cpu))
		return BPF_CORE_READ(older, cpu);
	return 0;
}

/* Where the thread belongs: the same for all threads of a process, but for the cgroup perhaps. */
static __always_inline void record_fill_family(struct wire_thread *record, struct task_struct *task)
{
	record->parent_pid = pid_of(BPF_CORE_READ(task, real_parent));
	BPF_CORE_READ_STR_INTO(&record->process, task, group_leader, comm);
}

static __always_inline void record_fill_cgroup(struct wire_thread *record, struct task_struct *task)
{
	record->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/*
 * Who the thread is, and what the kernel itself counts for it. After record_fill(); family and
 * cgroup are apart.
 */
static __always_inline void record_fill_task(struct wire_thread *record, struct task_struct *task,
					     const struct account *account)
{
	record->start_ns = task->start_boottime;
	record->tid = pid_namespace ? account->tid : (__u32)task->pid;
	record->pid = pid_namespace ? account->pid : (__u32)task->tgid;
	record->exit_code = task->exit_code;
	record->utime_ns = task->utime;
	record->stime_ns = task->stime;
	record->voluntary = task->nvcsw - account->origin_voluntary;
	record->involuntary = task->nivcsw - account->origin_involuntary;
	record->migrations = task->se.nr_migrations - account->origin_migrations;
	record->cpu = task_cpu(task);
	record->policy = task->policy;
	record->nice = task->static_prio - NICE_0_PRIORITY;
	if (task->flags & PF_KTHREAD)
		record->flags |= WIRE_FLAG_KERNEL_THREAD;
	if (account->is_beside)
		record->flags |= WIRE_FLAG_BESIDE;
	task_name(task, (__u64 *)record->comm);
}

/* The account as `state` has it, closed at end_ns. */
static __always_inline void record_fill(struct wire_thread *record, const struct account *account,
					const struct account_state *state, __u64 end_ns, __u16 kind)
{
	__builtin_memset(record, 0, sizeof(*record));
	record->header.size = sizeof(*record);
	record->header.kind = kind;
	record->header.cpu = (__u16)bpf_get_smp_processor_id();
	record->header.time_ns = end_ns;
	record->origin_ns = account->origin_ns;
	record->end_ns = end_ns;
	record->since_ns = state->since_ns;
	record->site = state->site;
	record->totals = state->totals;
	if (state->site.state < WIRE_STATES)
		record->totals.ns[state->site.state] += end_ns - state->since_ns;
	totals_give_back(&record->totals, &account->was, state->site.state, state->since_ns);
}

#endif
