/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this kernel and these privileges allow, asked before anything is loaded. */
#ifndef DWELL_CAPTURE_FEATURES_H
#define DWELL_CAPTURE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "capture/kernel_btf.h"

/*
 * What the scheduler leaves out of the CPU time it charges to threads: fields of struct rq that
 * exist only in kernels built for it.
 */
struct omitted_time {
	bool stolen;	  /* CONFIG_PARAVIRT_TIME_ACCOUNTING */
	bool interrupted; /* CONFIG_IRQ_TIME_ACCOUNTING; the boot may still have found no clock */
};

struct features {
	bool switch_has_state;	/* sched_switch passes the previous state: 5.18 on */
	bool others_memory;	/* other users' memory maps and stacks may be read */
	bool names_disks;	/* a request that is completed says of which disk */
	bool precise_cpu_split; /* user and kernel time are measured, not sampled by the tick */
	struct omitted_time omitted;
	/* of a CPU's preempt_count from its `runqueues`, bytes; 0: not known, or not needed */
	long preempt_count_offset;
};

/* What a process may: 0, or a negative errno with what is missing and how to get it. */
int features_permitted(struct error *error) must_check;

/*
 * What the kernel has, by its type information. 0, or a negative errno with what is missing and how
 * to get it: the task iterator, task storage.
 */
int features_probe(struct features *ret_features, const struct kernel_btf *btf,
		   struct error *error) must_check;

/*
 * Whether user and kernel time are measured on each entry, as only on nohz_full CPUs
 * (vtime_accounting_enabled_this_cpu() in include/linux/vtime.h); elsewhere the tick samples them.
 */
bool features_precise_cpu_split(void);

/* Without privileges; false also where the kernel has no type information. */
struct omitted_time features_omitted_time(void);
/* `names_disks` of struct features, likewise. */
bool features_names_disks(void);
/*
 * Whether a thread that begins without a fork event, as io_uring's workers do, is seen from its
 * first wakeup on, likewise: 6.4 on (commit 08a7ce384e33). Else the next snapshot finds it.
 */
bool features_sees_unforked(void);

/* Whether this time namespace's clocks differ from those of the kernel side: time_namespaces(7). */
bool features_clock_shifted(void);

/* Whether our user namespace is not the machine's first: capabilities in it are none for BPF. */
bool features_user_namespace(void);

/* /proc/kallsyms is absent or empty: other mounts than the kernel's own hide it, as in containers.
 */
bool features_kallsyms_masked(void);

/* Asks bpf(2) for what every kernel gives. 0, or a negative errno: it is refused as a whole. */
int features_bpf_call(void) must_check;

/* Inode of our pid namespace; 0 = the machine's first. */
unsigned int features_pid_namespace(void);

#endif
