// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/checks_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/machine_time.h"
#include "capture/features.h"
#include "capture/taskstats.h"

void check_cpu_split(struct diagnosis *finding)
{
	if (!features_precise_cpu_split()) {
		check_found(finding, "user and kernel time are sampled by the timer tick");
		check_short_of(finding, CHECK_DEGRADED,
			       "USER and SYS are exact as a sum, their split is not",
			       "boot with nohz_full= for all CPUs, which has its own cost");
		return;
	}
	check_found(finding, "user and kernel time are measured");
}

/* x86 has a flag for it; elsewhere it is not known. */
static bool is_virtual(void)
{
	cleanup_file FILE *file = fopen("/proc/cpuinfo", "re");
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "flags", 5))
			return strstr(line, " hypervisor");
	return false;
}

/*
 * A virtual machine that never waited for its host looks the same as one without a steal clock:
 * both count nothing.
 */
void check_steal(struct diagnosis *finding)
{
	struct machine_time machine;

	if (machine_time_read(&machine, MACHINE_TIME) < 0) {
		check_found(finding, MACHINE_TIME " cannot be read");
		check_short_of(finding, CHECK_DEGRADED, "how much CPU time a hypervisor takes",
			       "mount -t proc proc /proc");
		return;
	}
	if (machine.stolen_ns)
		check_found(finding,
			    "the hypervisor has taken %.1f %% of the busy CPU time since boot",
			    100 * machine_stolen_share(machine.stolen_ns, machine.busy_ns));
	else
		check_found(finding,
			    is_virtual() ? "a virtual machine whose hypervisor reports none"
					 : "not a virtual machine, or one that does not say so");
	if ((machine.stolen_ns || is_virtual()) &&
	    !(machine.stolen_ns && features_omitted_time().stolen))
		check_short_of(
			finding, CHECK_DEGRADED,
			"STEAL in dwell top: time that the hypervisor takes counts as USER and "
			"SYS",
			"a kernel with CONFIG_PARAVIRT_TIME_ACCOUNTING=y under a hypervisor with "
			"a steal clock (KVM, Xen)");
}

void check_irq_time(struct diagnosis *finding)
{
	if (features_omitted_time().interrupted) {
		check_found(finding, "the kernel can leave interrupts out of threads' CPU time");
		return;
	}
	check_found(finding, "interrupts count as CPU time of the threads they interrupt");
	check_short_of(finding, CHECK_DEGRADED, "IRQ in dwell top",
		       "a kernel with CONFIG_IRQ_TIME_ACCOUNTING=y");
}

void check_taskstats(struct diagnosis *finding)
{
	struct taskstats_link *taskstats;
	struct error error = {""};

	if (taskstats_open(&taskstats, &error) < 0) {
		check_found(finding, "%s", error.text);
		check_short_of(finding, CHECK_DEGRADED, "delay accounting in dwell top (`delays`)",
			       geteuid() ? "sudo dwell …" : "");
		return;
	}
	check_found(finding, "version %u", taskstats_version(taskstats));
	if (taskstats_listen(taskstats, &error) < 0) {
		check_found(finding, "version %u, without the exits of threads",
			    taskstats_version(taskstats));
		check_short_of(finding, CHECK_DEGRADED, "delays of threads that ended",
			       "run dwell outside of the container");
	}
	taskstats_close(taskstats);
}

#define DELAYS_IMPACT                                                                              \
	"taskstats delays of block I/O, swap, reclaim and so on; BPF states do not need it"

void check_delayacct(struct diagnosis *finding)
{
	if (taskstats_delays_counted()) {
		check_found(finding, "kernel.task_delayacct is 1");
		return;
	}
	if (!check_has_file("/proc/sys/kernel/task_delayacct")) {
		check_found(finding, "this kernel has none");
		check_short_of(finding, CHECK_DEGRADED, DELAYS_IMPACT,
			       "a kernel built with CONFIG_TASK_DELAY_ACCT");
		return;
	}
	check_found(finding, "kernel.task_delayacct is 0");
	check_short_of(finding, CHECK_DEGRADED, DELAYS_IMPACT,
		       "sysctl kernel.task_delayacct=1, before what is to be watched is started");
}
