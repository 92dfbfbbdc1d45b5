// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/owner.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc_stat.h"
#include "base/tree.h"

#define PREFIX "dwell-load."

/* When it began, in clock ticks; 0: it has ended. */
static unsigned long long start_of(pid_t pid)
{
	struct proc_stat stat;

	/* an unreaped zombie owns nothing any more */
	if (!proc_stat_read((uint32_t)pid, (uint32_t)pid, &stat) || stat.state == 'Z')
		return 0;
	return stat.start_ticks;
}

/* Pids mean nothing in another namespace, which may share our directories. */
static unsigned long long pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (unsigned long long)st.st_ino;
}

void owner_name(char into[OWNER_NAME_BYTES])
{
	snprintf(into, OWNER_NAME_BYTES, PREFIX "%d.%llu.%llu", getpid(), start_of(getpid()),
		 pid_namespace());
}

/* Whether it is such a name, and its process has ended: a pid may be used again, with another
 * start. */
static bool owner_is_gone(const char *name)
{
	unsigned long long start, namespace;
	int pid, used = 0;

	return sscanf(name, PREFIX "%d.%llu.%llu%n", &pid, &start, &namespace, &used) == 3 &&
	       (!name[used] || name[used] == '.') && namespace == pid_namespace() &&
	       start_of(pid) != start;
}

static bool is_own(int directory)
{
	struct stat found;

	return !fstat(directory, &found) && found.st_uid == geteuid();
}

static void sweep_entry(int parent, const char *parent_path, const char *name,
			void (*remove)(const struct orphan *orphan))
{
	char path[PATH_MAX];
	cleanup_close int directory = tree_open(parent, name);
	struct orphan orphan = {
		.parent = parent, .directory = directory, .name = name, .path = path};

	if (directory >= 0 && is_own(directory) &&
	    (size_t)snprintf(path, sizeof(path), "%s/%s", parent_path, name) < sizeof(path))
		remove(&orphan);
}

void owner_sweep(const char *path, void (*remove)(const struct orphan *orphan))
{
	cleanup_dir DIR *dir = opendir(path);
	struct dirent *entry;

	for (int i = 0; dir && i < OWNER_SWEEP_ENTRIES && (entry = readdir(dir)); i++)
		if (owner_is_gone(entry->d_name))
			sweep_entry(dirfd(dir), path, entry->d_name, remove);
}
