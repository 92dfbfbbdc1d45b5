// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/setup.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <linux/sched/types.h> /* glibc's <sched.h> has another struct sched_param */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SCHED_EXT
#define SCHED_EXT 7 /* Linux 6.12 */
#endif

void setup_affinity(const struct cpus *cpus, char refused[REPORT_TEXT])
{
	char list[64];

	if (syscall(SYS_sched_setaffinity, 0, sizeof(*cpus), cpus) >= 0)
		return;
	snprintf(refused, REPORT_TEXT, "sched_setaffinity: %s", strerror(errno));
	cpus_format(list, sizeof(list), cpus);
	if (errno == EINVAL)
		snprintf(refused, REPORT_TEXT,
			 "sched_setaffinity: none of the CPUs %s is allowed by the cpuset", list);
}

void setup_policy_exactly(const struct spec_policy *policy, char refused[REPORT_TEXT])
{
	static const unsigned int numbers[] = {
		[POLICY_NORMAL] = SCHED_NORMAL, [POLICY_BATCH] = SCHED_BATCH,
		[POLICY_IDLE] = SCHED_IDLE,	[POLICY_FIFO] = SCHED_FIFO,
		[POLICY_RR] = SCHED_RR,		[POLICY_DEADLINE] = SCHED_DEADLINE,
		[POLICY_EXT] = SCHED_EXT,
	};
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = numbers[policy->kind],
		/* it would become 0 otherwise */
		.sched_nice = getpriority(PRIO_PROCESS, 0),
		.sched_priority = policy->priority,
		.sched_runtime = policy->runtime_ns,
		.sched_deadline = policy->deadline_ns,
		.sched_period = policy->period_ns,
	};
	char name[64];

	if (!syscall(SYS_sched_setattr, 0, &attr, 0))
		return;
	spec_format_policy(name, sizeof(name), policy);
	if (errno == EPERM && policy->kind == POLICY_DEADLINE)
		snprintf(refused, REPORT_TEXT,
			 "%s: not permitted: it needs CAP_SYS_NICE, and no affinity", name);
	else if (errno == EPERM)
		snprintf(refused, REPORT_TEXT, "%s: not permitted: it needs CAP_SYS_NICE%s", name,
			 policy->kind == POLICY_FIFO || policy->kind == POLICY_RR
				 ? " or `ulimit -r`"
				 : "");
	else if (errno == EBUSY)
		snprintf(refused, REPORT_TEXT, "%s: the CPUs have no such share left for deadlines",
			 name);
	else if (errno == EINVAL && policy->kind == POLICY_EXT)
		snprintf(refused, REPORT_TEXT, "%s: this kernel has no sched_ext", name);
	else
		snprintf(refused, REPORT_TEXT, "%s: sched_setattr: %s", name, strerror(errno));
}

void setup_policy(const struct spec_policy *policy, char refused[REPORT_TEXT])
{
	if (policy->kind != POLICY_NORMAL)
		setup_policy_exactly(policy, refused);
}

void setup_memory(const struct spec_memory *memory, char refused[REPORT_TEXT])
{
	unsigned long nodes = memory->nodes;

	/* the kernel reads one bit less than the length says */
	if (!memory->given || !syscall(SYS_set_mempolicy, memory->mode | memory->flags,
				       nodes ? &nodes : NULL, nodes ? 8 * sizeof(nodes) + 1 : 0))
		return;
	snprintf(refused, REPORT_TEXT, "set_mempolicy: %s%s", strerror(errno),
		 errno == ENOSYS ? " (a kernel without NUMA)" : "");
}

void setup_nice(int nice, char refused[REPORT_TEXT])
{
	if (!setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice))
		return;
	snprintf(refused, REPORT_TEXT, "nice %d: %s%s", nice, strerror(errno),
		 errno == EACCES ? ": a lower one needs CAP_SYS_NICE" : "");
}
