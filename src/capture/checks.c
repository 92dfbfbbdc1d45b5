// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/checks_parts.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/privilege.h"
#include "base/tracefs.h"
#include "capture/verified.h"

void check_found(struct diagnosis *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->found, sizeof(finding->found), format, args);
	va_end(args);
}

void check_short_of(struct diagnosis *finding, enum check_status status, const char *costs,
		    const char *fix)
{
	finding->status = status;
	snprintf(finding->costs, sizeof(finding->costs), "%s", costs);
	snprintf(finding->fix, sizeof(finding->fix), "%s", fix);
}

/* First line of a small file, without its newline; false: not readable. */
bool check_has_file(const char *path)
{
	return access(path, F_OK) == 0;
}

static void check_verified(struct diagnosis *finding)
{
	struct verified verified;
	struct tm day;
	char date[32] = "?", worst[48] = "";
	int result = verified_read(&verified, VERIFIED_PATH);

	if (result == -ENOENT)
		return check_found(finding,
				   "never; `dwell verify` measures how exact dwell is here");
	if (result < 0)
		return check_found(finding, VERIFIED_PATH " cannot be read: %s", strerror(-result));
	if (localtime_r(&verified.at, &day))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &day);
	if (!isnan(verified.worst_percent))
		snprintf(worst, sizeof(worst), ", worst error %.2f %%", verified.worst_percent);
	check_found(finding, "%s at %s: %llu patterns passed%s", verified.verdict, date,
		    (unsigned long long)verified.patterns, worst);
	if (!verified_is_of_here(&verified))
		check_found(finding, "%s at %s, with dwell %s on Linux %s", verified.verdict, date,
			    verified.dwell, verified.kernel);
	else if (!strcmp(verified.verdict, "fail"))
		check_short_of(finding, CHECK_DEGRADED, "some figures are wrong on this machine",
			       "dwell verify shows which");
}

const struct check checks[] = {
	{"build", "what this dwell was built with", check_build, false},
	{"kernel", "what runs here", check_kernel, false},
	{"proc", "processes and their numbers", check_proc, false},
	{"bpf", "exact states", check_bpf, true},
	{"capabilities", "privileges of this user", check_capabilities, false},
	{"btf", "the kernel's types", check_btf, false},
	{"bpf-maps", "kinds of BPF maps", check_maps, false},
	{"kallsyms", "the kernel's addresses", check_kallsyms, false},
	{"cpu-split", "user against kernel time", check_cpu_split, false},
	{"steal", "time that a hypervisor takes", check_steal, false},
	{"irq-time", "time that interrupts take", check_irq_time, false},
	{"taskstats", "the kernel's own accounting", check_taskstats, false},
	{"delayacct", "delay accounting", check_delayacct, false},
	{"cgroup", "control groups", check_cgroup, false},
	{"namespaces", "containers", check_namespaces, false},
	{"perf", "CPU samples", check_perf, false},
	{"uprobes", "probes in programs", check_uprobes, false},
	{"fentry", "probes in the kernel", check_fentry, false},
	{"tracefs", "tracepoints", check_tracefs, false},
	{"lockdown", "what the kernel refuses to all", check_lockdown, false},
	{"debuginfo", "names of code", check_debuginfo, false},
	{"kvm", "virtual machines", check_kvm, false},
	{"qemu", "virtual machines", check_qemu, false},
	{"verified", "how exact the figures are", check_verified, false},
};

const size_t check_count = ARRAY_SIZE(checks);
