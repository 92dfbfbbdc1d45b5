/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's structures as far as we read them. CO-RE finds the fields in the running kernel's
 * BTF by name, so order and size here mean nothing; a field some kernels lack is asked for with
 * bpf_core_field_exists() before it is read. Field names hold from 5.15 on unless said otherwise.
 */
#ifndef DWELL_BPF_KERNEL_TYPES_H
#define DWELL_BPF_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	const char *name;
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root; /* its hierarchy */
	int level;
	/* until 6.0; then `ancestors` (commit 7f203bc89eb6) */
	__u64 ancestor_ids[0];
};

struct cgroup___with_ancestors {
	struct cgroup *ancestors[0];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct super_block {
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct qstr d_name;
};

struct path {
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
};

struct mm_struct {
	struct file *exe_file;
	unsigned long start_stack; /* of the first thread, at exec */
};

/* A pointer and nothing else: what reads a pointer in an array. */
struct hlist_head {
	struct hlist_node *first;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct sock_common {
	unsigned short skc_family;
	unsigned short skc_dport; /* big-endian */
	unsigned short skc_num;
	unsigned char skc_state;
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	struct sock *sk;
};

struct gendisk {
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk; /* 5.15 on */
};

struct request {
	struct request_queue *q;
};

struct rt_rq {
	int rt_throttled; /* until 6.11, and with CONFIG_RT_GROUP_SCHED */
};

/* A CPU's run queue. clock - clock_task: time it charges to no thread: stolen, or interrupts. */
struct rq {
	unsigned int nr_running; /* and those that are ready to */
	struct task_struct *curr;
	__u64 clock;
	__u64 clock_task;
	__u64 prev_irq_time;	  /* CONFIG_IRQ_TIME_ACCOUNTING: of it, by interrupts */
	__u64 prev_steal_time_rq; /* CONFIG_PARAVIRT_TIME_ACCOUNTING: the hypervisor's clock */
	struct rt_rq rt;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct task_group {
	struct cgroup_subsys_state css;
};

struct cfs_rq {
	int throttled;	       /* CONFIG_CFS_BANDWIDTH: its own budget is used up, */
	int throttle_count;    /* or that of as many around it, too */
	struct rq *rq;	       /* CONFIG_FAIR_GROUP_SCHED */
	struct task_group *tg; /* likewise */
};

struct sched_entity {
	__u64 sum_exec_runtime; /* ns on a CPU; up to date at a switch */
	__u64 nr_migrations;
	unsigned char sched_delayed; /* 6.12 on: dequeued late, blocked although on_rq */
	struct cfs_rq *cfs_rq;	     /* CONFIG_FAIR_GROUP_SCHED: the queue that it is in */
	struct sched_entity *parent; /* likewise: that of its group */
};

struct sched_dl_entity {
	unsigned int dl_throttled : 1; /* its budget is used up, until its next period */
	unsigned int dl_yielded : 1;   /* by sched_yield(2) */
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

/* An array of these, one a level, is in struct pid: its size is taken for granted. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct thread_info {
	unsigned long flags;
	__u32 status;	     /* x86 */
	__u32 cpu;	     /* 5.16 on; task_struct.cpu before (commit bcf9033e5449) */
	__u64 preempt_count; /* arm64: its lower half */
};

/* CONFIG_UPROBES: return addresses that are replaced by a probe's trampoline */
struct return_instance {
	unsigned long stack; /* where the address was */
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

/* kernel/seccomp.c */
struct seccomp_filter {
	struct seccomp_filter *prev;
	struct notification *notif; /* a supervisor listens */
};

struct seccomp {
	struct seccomp_filter *filter; /* the last one added */
};

struct signal_set { /* sigset_t, which has no name of its own */
	unsigned long sig[1];
};

struct sigpending {
	struct signal_set signal;
};

struct signal_struct {
	struct sigpending shared_pending;
};

struct thread_struct {
	unsigned long fsbase; /* x86 */
	struct {
		unsigned long tp_value;
	} uw; /* arm64 */
};

struct sched_info {
	unsigned long long last_queued; /* since when it waits for its CPU: rq.clock */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	unsigned int cpu;
	int on_rq;
	int static_prio;
	unsigned int policy;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct sched_info sched_info; /* empty without CONFIG_SCHED_INFO */
	int exit_state;
	int exit_code;
	unsigned long jobctl;
	unsigned in_iowait : 1;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid; /* NULL once it has left the process table */
	__u64 utime;
	__u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time; /* by CLOCK_MONOTONIC */
	__u64 start_boottime;
	__u32 self_exec_id; /* counts execs */
	struct mm_struct *mm;
	char comm[16];
	struct files_struct *files;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct signal_set blocked;
	struct sigpending pending;
	struct seccomp seccomp; /* empty without CONFIG_SECCOMP_FILTER */
	struct uprobe_task *utask;
	struct thread_struct thread;
};

/* 6.18 on: bandwidth control takes single tasks off the queue (commit e1fad12dcb66) */
struct task_struct___per_task_throttle {
	bool throttled;
};

/* 6.1 on; what the freezer keeps there, 6.7 on; before that CONFIG_PREEMPT_RT's alone */
struct task_struct___saved_state {
	unsigned int saved_state;
};

/*
 * Task storage whose elements come from an allocator that is safe under scheduler locks. A field of
 * another kind, of a number where the kernel has a structure, would be taken for none.
 */
struct bpf_mem_alloc___any {
};
struct bpf_local_storage_map___mem_alloc { /* 6.4 on: commit 08a7ce384e33 */
	struct bpf_mem_alloc___any selem_ma;
};
struct bpf_local_storage_map___nolock { /* kmalloc_nolock in place of it */
	bool use_kmalloc_nolock;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bp, r10, r8, dx, si, di, orig_ax, ip, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 orig_x0;
	__s32 syscallno;
};
#else
#error "add this architecture's pt_regs here, its accessors to arch.bpf.h"
#endif

#pragma clang attribute pop

#endif
