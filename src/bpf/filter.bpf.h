/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads to watch. Asked when a thread appears or is found, never on a context switch. */
#ifndef DWELL_BPF_FILTER_BPF_H
#define DWELL_BPF_FILTER_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/config.h"
#include "bpf/kernel_types.h"

/* No target at all: every thread of the machine. */
const volatile bool watch_all __weak = false;
/* With `watch_all`: there are targets all the same, and accounts say which threads are none. */
const volatile bool watch_beside __weak = false;
/* The targets' child processes too, and theirs. */
const volatile bool watch_children __weak = false;
/* Threads of a cgroup and those below it. */
const volatile bool watch_cgroup __weak = false;
/* Another one when it has been made again at the same path. */
volatile __u64 watch_cgroup_id __weak = 0;
/* Below the machine's root; CGROUP_LEVEL_UNKNOWN: its tree is seen from a cgroup namespace. */
const volatile __u32 watch_cgroup_level __weak = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TARGETS);
	__type(key, struct target_key);
	__type(value, __u8);
} targets __weak SEC(".maps");

/*
 * Inode of the pid namespace dwell runs in; 0 = the machine's first, whose numbers are those of the
 * kernel itself. In another one, threads have the numbers they have there, and those without are
 * not watched.
 */
const volatile __u32 pid_namespace __weak = 0;

#define PID_LEVELS 33 /* MAX_PID_NS_LEVEL of include/linux/pid_namespace.h, and the first */

/*
 * Number in our namespace; 0 = none. Takes the address as a number, because a global function (see
 * classify.bpf.h) may not be given a kernel pointer.
 */
__weak __attribute__((noinline)) __u32 pid_number(__u64 address)
{
	struct pid *pid = (struct pid *)address;
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < PID_LEVELS; i++) {
		struct upid *upid = (struct upid *)&pid->numbers[0] + i;

		if (i > level)
			break;
		if (BPF_CORE_READ(upid, ns, ns.inum) == pid_namespace)
			return (__u32)BPF_CORE_READ(upid, nr);
	}
	return 0;
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	return pid_namespace ? pid_number((__u64)BPF_CORE_READ(task, thread_pid))
			     : (__u32)BPF_CORE_READ(task, pid);
}

/* By two loads, where a copy as a string would be two calls. */
static __always_inline void task_name(const struct task_struct *task, __u64 comm[2])
{
	comm[0] = ((const __u64 *)task->comm)[0];
	comm[1] = ((const __u64 *)task->comm)[1];
}

/* A reused pid is another process; the same in all its threads, also after an exec. */
static __attribute__((noinline)) __u64 process_start_of(struct task_struct *task)
{
	return FOLLOW(task, group_leader, start_boottime);
}

static __always_inline __u32 pid_of(struct task_struct *task)
{
	return pid_namespace ? pid_number((__u64)BPF_CORE_READ(task, group_leader, thread_pid))
			     : (__u32)BPF_CORE_READ(task, tgid);
}

static __always_inline bool is_target(__u32 id, __u32 kind)
{
	struct target_key key = {.id = id, .kind = kind};

	return bpf_map_lookup_elem(&targets, &key);
}

static __always_inline __u64 cgroup_ancestor_id(struct cgroup *group, __u32 level)
{
	struct cgroup___with_ancestors *with_ancestors = (void *)group;
	struct cgroup *ancestor = NULL;
	__u64 id = 0;

	if (bpf_core_field_exists(with_ancestors->ancestors)) {
		bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
				      &with_ancestors->ancestors[level]);
		id = BPF_CORE_READ(ancestor, kn, id);
	} else {
		bpf_probe_read_kernel(&id, sizeof(id), &group->ancestor_ids[level]);
	}
	return id;
}

/* Global, and with an address as a number, as pid_number() is. */
__weak __attribute__((noinline)) __u32 has_watched_ancestor_cgroup(__u64 address)
{
	struct cgroup *group = (struct cgroup *)address;
	__u32 last = (__u32)BPF_CORE_READ(group, level);

	for (__u32 level = 0; level < CGROUP_LEVELS; level++) {
		if (level > last)
			break;
		if (cgroup_ancestor_id(group, level) == watch_cgroup_id)
			return 1;
	}
	return 0;
}

static __always_inline bool in_watched_cgroup(struct task_struct *task)
{
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	if (watch_cgroup_level == CGROUP_LEVEL_UNKNOWN)
		return has_watched_ancestor_cgroup((__u64)group);
	return (__u32)BPF_CORE_READ(group, level) >= watch_cgroup_level &&
	       cgroup_ancestor_id(group, watch_cgroup_level) == watch_cgroup_id;
}

/* Of a process; global, and with the address of its leader as a number, as pid_number() is. */
__weak __attribute__((noinline)) __u32 has_watched_ancestor(__u64 leader)
{
	struct task_struct *ancestor = (struct task_struct *)leader;

	for (int i = 0; i < MAX_ANCESTORS; i++) {
		ancestor = BPF_CORE_READ(ancestor, real_parent);
		__u32 pid = pid_of(ancestor);

		if (!pid)
			break;
		if (is_target(pid, TARGET_PROCESS))
			return 1;
	}
	return 0;
}

static __always_inline bool is_of_target(struct task_struct *task)
{
	if (watch_cgroup && in_watched_cgroup(task))
		return true;
	if (is_target(pid_of(task), TARGET_PROCESS) || is_target(tid_of(task), TARGET_THREAD))
		return true;
	return watch_children && has_watched_ancestor((__u64)BPF_CORE_READ(task, group_leader));
}

static __always_inline bool is_watched(struct task_struct *task)
{
	if (pid_namespace && !tid_of(task))
		return false;
	return watch_all || is_of_target(task);
}

/* Of a target's child at the moment of fork, when its parents are still known for sure. */
static __always_inline bool inherits_target(const struct task_struct *parent,
					    struct task_struct *child)
{
	if (watch_children)
		return true;
	if (watch_cgroup && in_watched_cgroup(child))
		return true;
	return parent->tgid == child->tgid && is_target(pid_of(child), TARGET_PROCESS);
}

/* clone3() may put a child into the watched cgroup whose parent is in another one. */
static __always_inline bool inherits_watch(const struct task_struct *parent, bool parent_is_watched,
					   struct task_struct *child)
{
	if (pid_namespace && !tid_of(child))
		return false;
	if (watch_all || (watch_cgroup && in_watched_cgroup(child)))
		return true;
	return parent_is_watched && inherits_target(parent, child);
}

#endif
