// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/kernel_text.h"
#include "capture/checks_parts.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/privilege.h"
#include "capture/features.h"
#include "capture/kernel_btf.h"
#include "capture/own_proc.h"
#include "capture/source_ops.h"

static int ignore(void *data, const struct wire_header *record)
{
	(void)data;
	(void)record;
	return 0;
}

/* For what is refused for want of privileges; root in a container may lack them. */
static const char *more_rights(void)
{
	if (features_user_namespace())
		return "run dwell outside of the user namespace, as the host's root";
	return geteuid()
		       ? "sudo dwell …"
		       : "give this container CAP_BPF and CAP_PERFMON (--cap-add), or run outside";
}

static bool may_use_bpf(void)
{
	return !features_user_namespace() && privilege_has(CAP_BPF) && privilege_has(CAP_PERFMON);
}

/* Without BPF; see sampler_open(). */
static const char *what_is_left(void)
{
	if (privilege_has(CAP_SYS_PTRACE))
		return "exact states: dwell top samples /proc instead";
	return geteuid() ? "exact states: dwell top samples /proc instead, and shows this user's "
			   "processes alone; of others, by -p, it knows CPU time alone"
			 : "exact states: dwell top samples /proc instead, and of other users' "
			   "threads knows CPU time alone";
}

/* The only sure answer: all programs are loaded and attached, for ourselves. */
void check_bpf(struct diagnosis *finding)
{
	struct targets targets = {.count = 0};
	struct source_options options = {.choice = SOURCE_BPF};
	struct wire_session session = {.source = 0};
	struct record_sink sink = {ignore, NULL};
	struct error error = {""};
	void *data;
	int result;

	if (own_proc_check(OWN_PROC, &error) < 0) {
		check_found(finding, "not tried without this pid namespace's own /proc");
		check_short_of(finding, CHECK_MISSING, "exact states", "see the line of proc");
		return;
	}
	result = targets_add_process(&targets, (uint32_t)getpid(), &error);
	if (result >= 0)
		result = source_bpf.open(&data, &options, &targets, &session, sink, &error);
	if (result >= 0) {
		check_found(finding, "the programs of dwell top load and attach");
		source_bpf.close(data);
	} else {
		check_found(finding, "%s", error.text);
		check_short_of(finding, CHECK_MISSING, what_is_left(),
			       may_use_bpf() ? limits_fix(-result) : more_rights());
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

void check_capabilities(struct diagnosis *finding)
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
		if (privilege_has(wanted[i].capability))
			continue;
		snprintf(absent + strlen(absent), sizeof(absent) - strlen(absent), " %s",
			 wanted[i].name);
		needed |= wanted[i].needed && !privilege_has(CAP_SYS_ADMIN);
	}
	if (features_user_namespace()) {
		check_found(finding,
			    "uid %u of a user namespace: its capabilities do not hold outside",
			    geteuid());
		check_short_of(finding, CHECK_MISSING, "exact states, and all of other users",
			       more_rights());
		return;
	}
	if (*absent)
		check_found(finding, "uid %u without%s", geteuid(), absent);
	else
		check_found(finding, "uid %u with all that dwell uses", geteuid());
	if (lends_to_all()) {
		check_short_of(finding, CHECK_DEGRADED,
			       "secrecy: every user of this machine can run this program with its "
			       "capabilities, and see what all processes do",
			       "chmod o-x dwell, after chgrp to a group you trust: PRIVILEGES in "
			       "dwell(1)");
		return;
	}
	if (!*absent)
		return;
	check_short_of(
		finding, needed ? CHECK_MISSING : CHECK_DEGRADED,
		"BPF and PERFMON: exact states; SYSLOG: page faults and kernel locks "
		"distinguished; "
		"SYS_PTRACE: others' futexes; NET_ADMIN: taskstats",
		"sudo dwell …, or a copy with capabilities that only a group you trust may run: "
		"PRIVILEGES in dwell(1)");
}

void check_btf(struct diagnosis *finding)
{
	struct btf *btf = btf__parse(KERNEL_BTF, NULL);
	int parse_error = errno;

	if (btf) {
		check_found(finding, KERNEL_BTF ", %u types", btf__type_cnt(btf));
		if (btf__find_by_name_kind(btf, "bpf_iter__task", BTF_KIND_STRUCT) < 0) {
			check_found(finding, KERNEL_BTF ", but no task iterators");
			check_short_of(finding, CHECK_MISSING, "exact states",
				       "a kernel from 5.15 on");
		}
	} else if (kernel_btf_lacks_sysfs()) {
		check_found(finding, "/sys is not mounted");
		check_short_of(finding, CHECK_MISSING, "exact states", MOUNT_SYSFS);
	} else if (access(KERNEL_BTF, F_OK) < 0) {
		check_found(finding, "no " KERNEL_BTF);
		check_short_of(
			finding, CHECK_MISSING, "exact states",
			"a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions have from 5.15");
	} else {
		check_found(finding, "cannot read " KERNEL_BTF ": %s", strerror(parse_error));
		check_short_of(finding, CHECK_MISSING, "exact states",
			       parse_error == ENOMEM ? "free memory: it takes some 10 MB"
						     : "the kernel's own file, readable");
	}
	btf__free(btf);
}

/* The kinds of programs are not asked for: libbpf's probe needs what lockdown refuses. */
void check_maps(struct diagnosis *finding)
{
	bool storage = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) > 0;
	bool ring = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) > 0;
	int refused = features_bpf_call();

	if (refused < 0) {
		check_found(finding, "not known: the kernel or a seccomp filter refuses bpf(): %s",
			    strerror(-refused));
		check_short_of(finding, CHECK_MISSING, "exact states",
			       may_use_bpf() ? "a seccomp profile that permits bpf()"
					     : more_rights());
		return;
	}
	check_found(finding, "task storage %s, ring buffer %s", storage ? "yes" : "no",
		    ring ? "yes" : "no");
	if (!storage || !ring)
		check_short_of(finding, CHECK_MISSING, "exact states",
			       privilege_has(CAP_BPF) ? "a kernel from 5.15 on" : more_rights());
}

/* As far as it can be read. */
static bool is_locked_down(void)
{
	char line[128];

	return kernel_line("/sys/kernel/security/lockdown", line, sizeof(line)) &&
	       !strstr(line, "[none]");
}

#define ENOTSUPP 524 /* the kernel's own: include/linux/errno.h */

void check_fentry(struct diagnosis *finding)
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
		check_found(finding, "functions of the kernel can be traced");
		return;
	}
	refused = errno;
	if (id < 0)
		check_found(finding, "refused (no such function in the BTF)");
	else if (refused == ENOTSUPP)
		check_found(finding, "this kernel has none for this architecture");
	else
		check_found(finding, "refused (%s)", strerror(refused));
	check_short_of(
		finding, CHECK_DEGRADED,
		"nothing for dwell top; loop lag of dwell blocked uses tracepoints, which cost "
		"all system calls of their kind",
		refused == ENOTSUPP ? "a newer kernel (on arm64 6.4)"
		: is_locked_down()  ? "boot without kernel lockdown, if your policy allows it"
		: refused == EPERM  ? "boot without lockdown, if its line says that it is on"
				    : "");
}

void check_uprobes(struct diagnosis *finding)
{
	if (check_has_file("/sys/bus/event_source/devices/uprobe/type")) {
		check_found(finding, "the kernel has them");
		return;
	}
	check_found(finding, "the kernel has none");
	check_short_of(finding, CHECK_MISSING, "exact durations of an async runtime's polls",
		       "a kernel with CONFIG_UPROBE_EVENTS=y");
}

void check_perf(struct diagnosis *finding)
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

	kernel_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	check_found(finding, "perf_event_paranoid is %s, sampling all CPUs is %s", paranoid,
		    fd >= 0 ? "permitted" : "not permitted");
	if (fd < 0)
		check_short_of(finding, CHECK_DEGRADED, "CPU samples of other users' processes",
			       "sudo dwell …, or sysctl kernel.perf_event_paranoid=0");
}

#define KALLSYMS_COSTS "page faults, reclaim, compaction and kernel locks are not distinguished"

void check_kallsyms(struct diagnosis *finding)
{
	char line[256] = "";

	if (features_kallsyms_masked()) {
		check_found(finding, "/proc/kallsyms is masked or absent here, as in containers");
		check_short_of(finding, CHECK_DEGRADED, KALLSYMS_COSTS,
			       "run dwell where /proc is whole: outside of the container");
		return;
	}
	if (kernel_line("/proc/kallsyms", line, sizeof(line)) &&
	    strncmp(line, "0000000000000000", 16)) {
		check_found(finding, "kernel addresses are shown");
		return;
	}
	/* a first symbol at zero is also what per-CPU kernels have: look for any other */
	cleanup_file FILE *file = fopen("/proc/kallsyms", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0000", 4) != 0) {
			check_found(finding, "kernel addresses are shown");
			return;
		}
	}
	check_found(finding, "kernel addresses are hidden");
	check_short_of(finding, CHECK_DEGRADED, KALLSYMS_COSTS,
		       "sudo dwell …, or sysctl kernel.kptr_restrict=0 with CAP_SYSLOG");
}
