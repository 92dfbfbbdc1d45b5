// SPDX-License-Identifier: GPL-2.0-or-later
/* Values that this machine has at the moment. Needs no rights: what is hidden is not offered. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "base/text.h"
#include "capture/cgroup.h"
#include "capture/proc_threads.h"
#include "command/completion.h"

/* Its name; false: it is not to be offered, as the kernel's own until something is typed. */
static bool is_offered(const struct offers *offers, struct proc_id id, char comm[17])
{
	struct proc_stat stat;

	if (id.pid == (uint32_t)getpid() || !proc_stat_read(id.pid, id.tid, &stat) ||
	    stat.state == 'Z' || (stat.flags & PF_KTHREAD && !*offers_typed(offers)))
		return false;
	snprintf(comm, 17, "%.16s", stat.comm);
	return true;
}

/* Numbers first: to read what a process is called takes long. */
static void offer_number(struct offers *offers, struct proc_id id)
{
	const char *typed = offers_typed(offers);
	char number[16], comm[17];

	snprintf(number, sizeof(number), "%u", id.tid);
	if (!strncmp(number, typed, strlen(typed)) && is_offered(offers, id, comm))
		offer(offers, number, comm);
}

void offer_threads(struct offers *offers)
{
	struct targets everything = {0};
	struct proc_threads threads = {0};

	if (!offers->in_guest && proc_threads_list(&threads, &everything, false) >= 0)
		for (size_t i = 0; i < threads.count; i++)
			offer_number(offers, threads.items[i]);
	proc_threads_release(&threads);
}

static void each_process(struct offers *offers, void (*call)(struct offers *, struct proc_id))
{
	cleanup_dir DIR *proc = offers->in_guest ? NULL : opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (pid)
			call(offers, (struct proc_id){pid, pid});
	}
}

void offer_processes(struct offers *offers)
{
	each_process(offers, offer_number);
}

/* -n takes patterns, so a `?` stands for what no shell should be given. */
static void offer_name(struct offers *offers, struct proc_id id)
{
	char comm[17], whole[TARGET_NAME_BYTES], name[64], help[32];

	/* `stat` has some characters of a name escaped */
	if (!is_offered(offers, id, comm) || !target_process_name(id.pid, whole))
		return;
	text_printable(name, sizeof(name), whole, sizeof(name));
	if (!*name || (*name == '-' && offers->is_argument))
		return;
	snprintf(help, sizeof(help), "pid %u", id.pid);
	offer(offers, name, help);
}

/* Shells leave out what is there twice. */
void offer_process_names(struct offers *offers)
{
	each_process(offers, offer_name);
}

static void offer_directory(struct offers *offers, int parent, const char *before, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (*name == '.' || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return;
	snprintf(path, sizeof(path), "%s%s", before, name);
	/* itself and `.`: more links are cgroups below it */
	offer_with(offers, path, st.st_nlink > 2 ? "/" : "", NULL);
}

/* Level by level, as files are: a machine may have thousands. */
void offer_cgroups(struct offers *offers)
{
	const char *typed = offers_typed(offers), *slash = strrchr(typed, '/');
	char mount[PATH_MAX], path[2 * PATH_MAX], before[PATH_MAX];
	struct dirent *entry;

	if (offers->in_guest || !cgroup_mount_point(mount, sizeof(mount)))
		return;
	/* as /proc/PID/cgroup has them, if there is nothing yet */
	snprintf(before, sizeof(before), "%.*s", slash ? (int)(slash + 1 - typed) : 0, typed);
	if (!*typed)
		strcpy(before, "/");
	snprintf(path, sizeof(path), "%s/%s", mount, before);
	if (!strncmp(before, mount, strlen(mount)))
		strcpy(path, before);

	cleanup_dir DIR *directory = opendir(path);

	while (directory && (entry = readdir(directory)))
		offer_directory(offers, dirfd(directory), before, entry->d_name);
}
