// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/checks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/machine_time.h"
#include "base/privilege.h"
#include "capture/cgroup.h"
#include "capture/features.h"
#include "capture/source_ops.h"
#include "capture/taskstats.h"
#include "capture/tracefs.h"
#include "capture/verified.h"
#include "version.h"

/* include/linux/proc_ns.h: the machine's first */
#define PROC_USER_INIT_INO 0xEFFFFFFDU

__attribute__((format(printf, 2, 3))) static void found(struct diagnosis *finding,
							const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->found, sizeof(finding->found), format, args);
	va_end(args);
}

static void short_of(struct diagnosis *finding, enum check_status status, const char *costs,
		     const char *mend)
{
	finding->status = status;
	snprintf(finding->costs, sizeof(finding->costs), "%s", costs);
	snprintf(finding->mend, sizeof(finding->mend), "%s", mend);
}

/* First line of a small file, without its newline; false: not readable. */
static bool read_line(const char *path, char *into, int room)
{
	cleanup_file FILE *file = fopen(path, "re");

	if (!file || !fgets(into, room, file))
		return false;
	into[strcspn(into, "\n")] = '\0';
	return true;
}

static bool has_file(const char *path)
{
	return access(path, F_OK) == 0;
}

static int ignore(void *data, const struct wire_header *record)
{
	(void)data;
	(void)record;
	return 0;
}

static void check_kernel(struct diagnosis *finding)
{
	struct utsname names;

	uname(&names);
	found(finding, "Linux %.60s, %.20s", names.release, names.machine);
}

/* For what is refused for want of privileges; root in a container may lack them. */
static const char *more_rights(void)
{
	return geteuid()
		       ? "sudo dwell …"
		       : "give this container CAP_BPF and CAP_PERFMON (--cap-add), or run outside";
}

/* The only sure answer: all programs are loaded and attached, for ourselves. */
static void check_bpf(struct diagnosis *finding)
{
	struct targets targets = {.count = 0};
	struct source_options options = {.choice = SOURCE_BPF};
	struct wire_session session = {.source = 0};
	struct record_sink sink = {ignore, NULL};
	struct error error = {""};
	void *data;

	if (targets_add_process(&targets, (uint32_t)getpid(), &error) >= 0 &&
	    source_bpf.open(&data, &options, &targets, &session, sink, &error) >= 0) {
		found(finding, "the programs of dwell top load and attach");
		source_bpf.close(data);
	} else {
		found(finding, "%s", error.text);
		short_of(finding, CHECK_MISSING,
			 features_capable(CAP_SYS_PTRACE)
				 ? "exact states: dwell top samples /proc instead"
				 : "exact states: dwell top samples /proc instead, and of other "
				   "users' threads knows CPU time alone",
			 features_capable(CAP_BPF) && features_capable(CAP_PERFMON)
				 ? ""
				 : more_rights());
	}
	targets_release(&targets);
}

/* Whose file lends them, and may be run by any user. */
static bool lends_to_all(void)
{
	struct stat program;

	return privilege_is_lent() && !stat("/proc/self/exe", &program) &&
	       program.st_mode & S_IXOTH;
}

static void check_capabilities(struct diagnosis *finding)
{
	static const struct {
		int capability;
		const char *name;
		bool needed;
	} wanted[] = {
		{CAP_BPF, "CAP_BPF", true},
		{CAP_PERFMON, "CAP_PERFMON", true},
		{CAP_SYSLOG, "CAP_SYSLOG", false},
		{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", false},
		{CAP_NET_ADMIN, "CAP_NET_ADMIN", false},
	};
	char absent[128] = "";
	bool needed = false;

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (features_capable(wanted[i].capability))
			continue;
		snprintf(absent + strlen(absent), sizeof(absent) - strlen(absent), " %s",
			 wanted[i].name);
		needed |= wanted[i].needed && !features_capable(CAP_SYS_ADMIN);
	}
	if (*absent)
		found(finding, "uid %u without%s", geteuid(), absent);
	else
		found(finding, "uid %u with all that dwell uses", geteuid());
	if (lends_to_all()) {
		short_of(finding, CHECK_DEGRADED,
			 "secrecy: every user of this machine can run this program with its "
			 "capabilities, and see what all processes do",
			 "chmod o-x dwell, after chgrp to a group you trust: PRIVILEGES in "
			 "dwell(1)");
		return;
	}
	if (!*absent)
		return;
	short_of(finding, needed ? CHECK_MISSING : CHECK_DEGRADED,
		 "BPF and PERFMON: exact states; SYSLOG: page faults and kernel locks "
		 "distinguished; "
		 "SYS_PTRACE: others' futexes; NET_ADMIN: taskstats",
		 "sudo dwell …, or a copy with capabilities that only a group you trust may run: "
		 "PRIVILEGES in dwell(1)");
}

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static void check_btf(struct diagnosis *finding)
{
	struct btf *btf = btf__parse(KERNEL_BTF, NULL);
	int parse_error = errno;

	if (btf) {
		found(finding, KERNEL_BTF ", %u types", btf__type_cnt(btf));
		if (btf__find_by_name_kind(btf, "bpf_iter__task", BTF_KIND_STRUCT) < 0) {
			found(finding, KERNEL_BTF ", but no task iterators");
			short_of(finding, CHECK_MISSING, "exact states", "a kernel from 5.15 on");
		}
	} else if (access(KERNEL_BTF, F_OK) < 0) {
		found(finding, "no " KERNEL_BTF);
		short_of(finding, CHECK_MISSING, "exact states",
			 "a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions have from 5.15");
	} else {
		found(finding, "cannot read " KERNEL_BTF ": %s", strerror(parse_error));
		short_of(finding, CHECK_MISSING, "exact states",
			 parse_error == ENOMEM ? "free memory: it takes some 10 MB"
					       : "the kernel's own file, readable");
	}
	btf__free(btf);
}

/* The kinds of programs are not asked for: libbpf's probe needs what lockdown refuses. */
static void check_maps(struct diagnosis *finding)
{
	bool storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) > 0;
	bool ring = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) > 0;

	found(finding, "task storage %s, ring buffer %s", storage ? "yes" : "no",
	      ring ? "yes" : "no");
	if (!storage || !ring)
		short_of(finding, CHECK_MISSING, "exact states",
			 features_capable(CAP_BPF) ? "a kernel from 5.15 on" : more_rights());
}

/* As far as it can be read. */
static bool is_locked_down(void)
{
	char line[128];

	return read_line("/sys/kernel/security/lockdown", line, sizeof(line)) &&
	       !strstr(line, "[none]");
}

#define ENOTSUPP 524 /* the kernel's own: include/linux/errno.h */

static void check_fentry(struct diagnosis *finding)
{
	struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct btf *btf = btf__parse(KERNEL_BTF, NULL);
	int id = btf ? btf__find_by_name_kind(btf, "bpf_fentry_test1", BTF_KIND_FUNC) : -1;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = id < 0 ? 0 : (__u32)id);
	cleanup_close int program = -1;
	cleanup_close int link = -1;
	int refused;

	btf__free(btf);
	if (id >= 0)
		program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "dwell_fentry", "GPL", instructions,
					ARRAY_SIZE(instructions), &options);
	if (program >= 0)
		link = bpf_link_create(program, 0, BPF_TRACE_FENTRY, NULL);
	if (link >= 0) {
		found(finding, "functions of the kernel can be traced");
		return;
	}
	refused = errno;
	if (id < 0)
		found(finding, "refused (no such function in the BTF)");
	else if (refused == ENOTSUPP)
		found(finding, "this kernel has none for this architecture");
	else
		found(finding, "refused (%s)", strerror(refused));
	short_of(finding, CHECK_DEGRADED,
		 "nothing for dwell top; loop lag of dwell blocked uses tracepoints, which cost "
		 "all system calls of their kind",
		 refused == ENOTSUPP ? "a newer kernel (on arm64 6.4)"
		 : is_locked_down()  ? "boot without kernel lockdown, if your policy allows it"
		 : refused == EPERM  ? "see lockdown"
				     : "");
}

static void check_uprobes(struct diagnosis *finding)
{
	if (has_file("/sys/bus/event_source/devices/uprobe/type")) {
		found(finding, "the kernel has them");
		return;
	}
	found(finding, "the kernel has none");
	short_of(finding, CHECK_MISSING, "exact durations of an async runtime's polls",
		 "a kernel with CONFIG_UPROBE_EVENTS=y");
}

static void check_perf(struct diagnosis *finding)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};
	cleanup_close int fd =
		(int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	char paranoid[16] = "?";

	read_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	found(finding, "perf_event_paranoid is %s, sampling all CPUs is %s", paranoid,
	      fd >= 0 ? "permitted" : "not permitted");
	if (fd < 0)
		short_of(finding, CHECK_DEGRADED, "CPU samples of other users' processes",
			 "sudo dwell …, or sysctl kernel.perf_event_paranoid=0");
}

static void check_kallsyms(struct diagnosis *finding)
{
	char line[256] = "";

	if (read_line("/proc/kallsyms", line, sizeof(line)) &&
	    strncmp(line, "0000000000000000", 16)) {
		found(finding, "kernel addresses are shown");
		return;
	}
	/* a first symbol at zero is also what per-CPU kernels have: look for any other */
	cleanup_file FILE *file = fopen("/proc/kallsyms", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0000", 4) != 0) {
			found(finding, "kernel addresses are shown");
			return;
		}
	}
	found(finding, "kernel addresses are hidden");
	short_of(finding, CHECK_DEGRADED,
		 "page faults, reclaim, compaction and kernel locks are not distinguished",
		 "sudo dwell …, or sysctl kernel.kptr_restrict=0 with CAP_SYSLOG");
}

static void check_cpu_split(struct diagnosis *finding)
{
	struct features features;
	struct error error;

	if (features_probe(&features, &error) < 0 || !features.precise_cpu_split) {
		found(finding, "user and kernel time are sampled by the timer tick");
		short_of(finding, CHECK_DEGRADED,
			 "USER and SYS are exact as a sum, their split is not",
			 "boot with nohz_full= for all CPUs, which has its own cost");
		return;
	}
	found(finding, "user and kernel time are measured");
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
static void check_steal(struct diagnosis *finding)
{
	struct machine_time machine;

	if (machine_time_read(&machine, MACHINE_TIME) < 0) {
		found(finding, MACHINE_TIME " cannot be read");
		short_of(finding, CHECK_DEGRADED, "how much CPU time a hypervisor takes",
			 "mount -t proc proc /proc");
		return;
	}
	if (machine.stolen_ns)
		found(finding, "the hypervisor has taken %.1f %% of the busy CPU time since boot",
		      100 * machine_stolen_share(machine.stolen_ns, machine.busy_ns));
	else
		found(finding, is_virtual() ? "a virtual machine whose hypervisor reports none"
					    : "not a virtual machine, or one that does not say so");
	if ((machine.stolen_ns || is_virtual()) &&
	    !(machine.stolen_ns && features_omitted_time().stolen))
		short_of(finding, CHECK_DEGRADED,
			 "STEAL in dwell top: time that the hypervisor takes counts as USER and "
			 "SYS",
			 "a kernel with CONFIG_PARAVIRT_TIME_ACCOUNTING=y under a hypervisor with "
			 "a steal clock (KVM, Xen)");
}

static void check_irq_time(struct diagnosis *finding)
{
	if (features_omitted_time().interrupted) {
		found(finding, "the kernel can leave interrupts out of threads' CPU time");
		return;
	}
	found(finding, "interrupts count as CPU time of the threads they interrupt");
	short_of(finding, CHECK_DEGRADED, "IRQ in dwell top",
		 "a kernel with CONFIG_IRQ_TIME_ACCOUNTING=y");
}

static void check_taskstats(struct diagnosis *finding)
{
	struct taskstats_link *taskstats;
	struct error error = {""};

	if (taskstats_open(&taskstats, &error) < 0) {
		found(finding, "%s", error.text);
		short_of(finding, CHECK_DEGRADED, "delay accounting in dwell top (`delays`)",
			 geteuid() ? "sudo dwell …" : "");
		return;
	}
	found(finding, "version %u", taskstats_version(taskstats));
	if (taskstats_listen(taskstats, &error) < 0) {
		found(finding, "version %u, without the exits of threads",
		      taskstats_version(taskstats));
		short_of(finding, CHECK_DEGRADED, "delays of threads that ended",
			 "run dwell outside of the container");
	}
	taskstats_close(taskstats);
}

static void check_delayacct(struct diagnosis *finding)
{
	if (taskstats_delays_counted()) {
		found(finding, "kernel.task_delayacct is 1");
		return;
	}
	found(finding, "kernel.task_delayacct is 0");
	short_of(
		finding, CHECK_DEGRADED,
		"taskstats delays of block I/O, swap, reclaim and so on; BPF states do not need it",
		"sysctl kernel.task_delayacct=1, before what is to be watched is started");
}

static void check_cgroup(struct diagnosis *finding)
{
	char mount[128], path[192], controllers[200] = "";

	if (!cgroup_mount_point(mount, sizeof(mount))) {
		found(finding, "cgroup v2 is not mounted");
		short_of(finding, CHECK_DEGRADED, "--cgroup, and paths in the output",
			 "mount -t cgroup2 none /sys/fs/cgroup");
		return;
	}
	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	read_line(path, controllers, sizeof(controllers));
	found(finding, "v2 at %s, controllers: %.90s", mount, *controllers ? controllers : "none");
	if (!strstr(controllers, "cpu"))
		short_of(finding, CHECK_DEGRADED,
			 "nothing for dwell top; limits of dwell load need them",
			 "boot with systemd.unified_cgroup_hierarchy=1 or cgroup_no_v1=all");
}

static void check_tracefs(struct diagnosis *finding)
{
	cleanup_close int tracefs = tracefs_open();

	if (tracefs >= 0) {
		found(finding, "system call tracepoints are %s",
		      tracefs_event(tracefs, "syscalls", "sys_enter_read") >= 0
			      ? "there"
			      : "not built into this kernel (CONFIG_FTRACE_SYSCALLS)");
		return;
	}
	found(finding, "not mounted where this user may read it (%s)", strerror(-tracefs));
	short_of(
		finding, CHECK_DEGRADED, "turns of event loops in dwell blocked",
		"sudo dwell …, or mount -t tracefs none /sys/kernel/tracing and let this user read "
		"it");
}

static void check_lockdown(struct diagnosis *finding)
{
	char line[128];

	if (!read_line("/sys/kernel/security/lockdown", line, sizeof(line))) {
		if (has_file("/sys/kernel/security/lsm")) {
			found(finding, "none");
			return;
		}
		found(finding, "not known: securityfs is not mounted");
		short_of(finding, CHECK_DEGRADED, "only this answer",
			 "mount -t securityfs none /sys/kernel/security");
		return;
	}
	found(finding, "%s", line);
	if (strstr(line, "[confidentiality]"))
		short_of(finding, CHECK_MISSING, "all BPF that reads the kernel: exact states",
			 "boot with lockdown=integrity or none, if your policy allows it");
	else if (strstr(line, "[integrity]"))
		short_of(finding, CHECK_DEGRADED, "see fentry; dwell top does not need it",
			 "boot without kernel lockdown, if your policy allows it");
}

static unsigned int namespace_inode(const char *path)
{
	struct stat status;

	return stat(path, &status) < 0 ? 0 : (unsigned int)status.st_ino;
}

static void check_namespaces(struct diagnosis *finding)
{
	bool pids = !features_pid_namespace();
	unsigned int user = namespace_inode("/proc/self/ns/user");
	bool users = !user || user == PROC_USER_INIT_INO; /* 0: the kernel has none */

	if (features_clock_shifted()) {
		found(finding, "a time namespace with other clocks than the kernel's");
		short_of(finding, CHECK_MISSING, "exact states",
			 "nsenter --time=/proc/1/ns/time dwell …");
		return;
	}
	if (pids && users) {
		found(finding, "the machine's own");
		return;
	}
	found(finding, "%s%s%s", pids ? "" : "own process ids", pids || users ? "" : ", ",
	      users ? "" : "own users");
	short_of(finding, CHECK_DEGRADED,
		 "only what this namespace shows is watched; taskstats reports no exits",
		 "run dwell on the host, which sees into containers");
}

static void check_debuginfo(struct diagnosis *finding)
{
	bool files = has_file("/usr/lib/debug/.build-id");

	found(finding, "/usr/lib/debug %s", files ? "has files" : "is empty");
	if (!files)
		short_of(finding, CHECK_DEGRADED,
			 "nothing for dwell top; file and line of stripped programs",
			 "install the -dbgsym or -debuginfo packages of what you look at");
}

static void check_kvm(struct diagnosis *finding)
{
	cleanup_close int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		found(finding, "/dev/kvm can be opened");
		return;
	}
	found(finding, "/dev/kvm: %s", strerror(errno));
	short_of(finding, CHECK_DEGRADED, "guests run by emulation, some ten times slower",
		 errno == EACCES ? "usermod -aG kvm $USER" : "a machine with virtualization");
}

static void check_qemu(struct diagnosis *finding)
{
	struct utsname names;
	char line[128];

	uname(&names);
	snprintf(line, sizeof(line), "qemu-system-%.20s --version 2>/dev/null", names.machine);
	FILE *output = popen(line, "re");
	bool there = output && fgets(line, sizeof(line), output);

	if (output)
		pclose(output);
	line[strcspn(line, "\n")] = '\0';
	if (there) {
		found(finding, "%s", line);
		return;
	}
	found(finding, "qemu-system-%.20s is not installed", names.machine);
	short_of(finding, CHECK_DEGRADED, "dwell guest",
		 "install QEMU for this architecture (Debian: qemu-system-x86, qemu-system-arm)");
}

static void check_verified(struct diagnosis *finding)
{
	struct verified verified;
	struct tm day;
	char date[32] = "?", worst[48] = "";
	int result = verified_read(&verified, VERIFIED_PATH);

	if (result == -ENOENT)
		return found(finding, "never; `dwell verify` measures how exact dwell is here");
	if (result < 0)
		return found(finding, VERIFIED_PATH " cannot be read: %s", strerror(-result));
	if (localtime_r(&verified.at, &day))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &day);
	if (!isnan(verified.worst_percent))
		snprintf(worst, sizeof(worst), ", worst error %.2f %%", verified.worst_percent);
	found(finding, "%s at %s: %llu patterns passed%s", verified.verdict, date,
	      (unsigned long long)verified.patterns, worst);
	if (!verified_is_of_here(&verified))
		found(finding, "%s at %s, with dwell %s on Linux %s", verified.verdict, date,
		      verified.dwell, verified.kernel);
	else if (!strcmp(verified.verdict, "fail"))
		short_of(finding, CHECK_DEGRADED, "some figures are wrong on this machine",
			 "dwell verify shows which");
}

const struct check checks[] = {
	{"kernel", "what runs here", check_kernel, false},
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
