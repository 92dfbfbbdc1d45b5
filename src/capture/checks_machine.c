// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/kernel_text.h"
#include "capture/checks_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/build_options.h"
#include "base/cleanup.h"
#include "capture/cgroup.h"
#include "capture/features.h"
#include "capture/own_proc.h"
#include "base/tracefs.h"
#include "version.h"

void check_build(struct diagnosis *finding)
{
	char with[128], without[128], lacks[256] = "", fix[256];

	build_options_list(with, sizeof(with), true);
	build_options_list(without, sizeof(without), false);
	check_found(finding, "dwell " DWELL_VERSION "%s%s%s%s", *with ? " with " : "", with,
		    *without ? ", without " : "", without);
	if (!*without)
		return;
	for (int i = 0; i < BUILD_OPTIONS_COUNT; i++)
		if (!build_option_enabled((enum build_option)i))
			snprintf(lacks + strlen(lacks), sizeof(lacks) - strlen(lacks), "%s%s",
				 *lacks ? "; " : "", build_option_lacks((enum build_option)i));
	snprintf(fix, sizeof(fix), "a build that has %s enabled (meson_options.txt)", without);
	check_short_of(finding, CHECK_DEGRADED, lacks, fix);
}

void check_kernel(struct diagnosis *finding)
{
	struct utsname names;

	uname(&names);
	check_found(finding, "Linux %.60s, %.20s", names.release, names.machine);
}

void check_proc(struct diagnosis *finding)
{
	struct error error = {""};

	if (own_proc_check(OWN_PROC, &error) >= 0) {
		check_found(finding, "/proc shows this pid namespace's processes");
		return;
	}
	check_found(finding, "%s", error.text);
	check_short_of(finding, CHECK_MISSING, "all that watches processes", "");
}

/* "cpuset" is not "cpu". */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' '))
			return true;
	return false;
}

void check_cgroup(struct diagnosis *finding)
{
	char mount[128], path[192], controllers[200] = "";

	if (!cgroup_mount_point(mount, sizeof(mount))) {
		check_found(finding, "cgroup v2 is not mounted");
		check_short_of(finding, CHECK_DEGRADED, "--cgroup, and paths in the output",
			       "mount -t cgroup2 none /sys/fs/cgroup");
		return;
	}
	snprintf(path, sizeof(path), "%s/cgroup.controllers", mount);
	kernel_line(path, controllers, sizeof(controllers));
	check_found(finding, "v2 at %s, controllers: %.90s", mount,
		    *controllers ? controllers : "none");
	if (!has_word(controllers, "cpu"))
		check_short_of(finding, CHECK_DEGRADED,
			       "nothing for dwell top; limits of dwell load need them",
			       "boot with systemd.unified_cgroup_hierarchy=1 or cgroup_no_v1=all");
}

void check_tracefs(struct diagnosis *finding)
{
	cleanup_close int tracefs = tracefs_open();

	if (tracefs >= 0 && tracefs_event(tracefs, "syscalls", "sys_enter_read") >= 0) {
		check_found(finding, "system call tracepoints are there");
		return;
	}
	if (tracefs >= 0) {
		check_found(finding, "this kernel has no system call tracepoints");
		check_short_of(finding, CHECK_DEGRADED,
			       "event loops in dwell blocked, and their turns",
			       "a kernel built with CONFIG_FTRACE_SYSCALLS");
		return;
	}
	check_found(finding, "not mounted where this user may read it (%s)", strerror(-tracefs));
	check_short_of(
		finding, CHECK_DEGRADED, "turns of event loops in dwell blocked",
		"sudo dwell …, or mount -t tracefs none /sys/kernel/tracing and let this user read "
		"it");
}

void check_lockdown(struct diagnosis *finding)
{
	char line[128];

	if (!kernel_line("/sys/kernel/security/lockdown", line, sizeof(line))) {
		if (check_has_file("/sys/kernel/security/lsm")) {
			check_found(finding, "none");
			return;
		}
		check_found(finding, "not known: securityfs is not mounted");
		check_short_of(finding, CHECK_DEGRADED, "only this answer",
			       "mount -t securityfs none /sys/kernel/security");
		return;
	}
	check_found(finding, "%s", line);
	if (strstr(line, "[confidentiality]"))
		check_short_of(finding, CHECK_MISSING,
			       "all BPF that reads the kernel: exact states",
			       "boot with lockdown=integrity or none, if your policy allows it");
	else if (strstr(line, "[integrity]"))
		check_short_of(finding, CHECK_DEGRADED, "see fentry; dwell top does not need it",
			       "boot without kernel lockdown, if your policy allows it");
}

void check_namespaces(struct diagnosis *finding)
{
	bool pids = !features_pid_namespace();
	bool users = !features_user_namespace();

	if (features_clock_shifted()) {
		check_found(finding, "a time namespace with other clocks than the kernel's");
		check_short_of(finding, CHECK_MISSING, "exact states",
			       "nsenter --time=/proc/1/ns/time dwell …");
		return;
	}
	if (pids && users) {
		check_found(finding, "the machine's own");
		return;
	}
	check_found(finding, "%s%s%s", pids ? "" : "own process ids", pids || users ? "" : ", ",
		    users ? "" : "own users");
	check_short_of(finding, CHECK_DEGRADED,
		       "only what this namespace shows is watched; taskstats reports no exits",
		       "run dwell on the host, which sees into containers");
}

void check_debuginfo(struct diagnosis *finding)
{
	bool files = check_has_file("/usr/lib/debug/.build-id");

	check_found(finding, "/usr/lib/debug %s", files ? "has files" : "is empty");
	if (!files)
		check_short_of(finding, CHECK_DEGRADED,
			       "nothing for dwell top; file and line of stripped programs",
			       "install the -dbgsym or -debuginfo packages of what you look at");
}

void check_kvm(struct diagnosis *finding)
{
	cleanup_close int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		check_found(finding, "/dev/kvm can be opened");
		return;
	}
	check_found(finding, "/dev/kvm: %s", strerror(errno));
	check_short_of(finding, CHECK_DEGRADED, "guests run by emulation, some ten times slower",
		       errno == EACCES ? "usermod -aG kvm $USER" : "a machine with virtualization");
}

void check_qemu(struct diagnosis *finding)
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
		check_found(finding, "%s", line);
		return;
	}
	check_found(finding, "qemu-system-%.20s is not installed", names.machine);
	check_short_of(
		finding, CHECK_DEGRADED, "dwell guest",
		"install QEMU for this architecture (Debian: qemu-system-x86, qemu-system-arm)");
}
