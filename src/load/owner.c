// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/owner.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/tree.h"

#define PREFIX "dwell-load."

/* Field 22 of /proc/PID/stat; 0: it has ended. */
static unsigned long long start_of(pid_t pid)
{
	char path[64], line[1024];
	cleanup_file FILE *file = NULL;
	unsigned long long start = 0;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return 0;
	/* the name, field 2, may contain anything; field 22 is the 20th behind it */
	at = strrchr(line, ')');
	/* an unreaped zombie owns nothing any more */
	if (at && at[1] == ' ' && at[2] == 'Z')
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at + 1, NULL, 10);
	return start;
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

bool owner_is_gone(const char *name)
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
