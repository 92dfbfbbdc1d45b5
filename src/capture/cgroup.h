/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroup v2: paths to ids, and ids back to paths. */
#ifndef DWELL_CAPTURE_CGROUP_H
#define DWELL_CAPTURE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct cgroup_location {
	uint64_t id;	    /* inode of the directory, kernfs_node.id in the kernel */
	uint32_t level;	    /* 0 = the root of the mounted tree */
	bool is_below_root; /* that is the machine's own */
};

/*
 * `path` is a directory of the cgroup v2 mount, or relative to it (a leading / is allowed).
 * Errors say where cgroup v2 is mounted.
 */
int cgroup_locate(const char *path, struct cgroup_location *ret_location,
		  struct error *error) must_check;

/* Where cgroup v2 is mounted; false: nowhere. */
bool cgroup_mount_point(char *into, size_t room);

/* There are cgroups v2 besides the root, as far as we see. */
bool cgroup_are_several(void);

/* The root of the mounted tree is the machine's: paths are those that the kernel has for all. */
bool cgroup_paths_are_whole(void);

/* The path in the line `0::/path` of /proc/PID/cgroup; false: not known. */
bool cgroup_of_thread(uint32_t tid, char *into, size_t room);

/* Paths by id, asked from the kernel once per id. */
struct cgroup_paths;

/* NULL only without memory; without a cgroup v2 mount every lookup gives NULL. */
struct cgroup_paths *cgroup_paths_new(void);
void cgroup_paths_free(struct cgroup_paths *paths);

/* How many ids have been asked for; and as if none had. */
size_t cgroup_paths_count(const struct cgroup_paths *paths);
void cgroup_paths_forget(struct cgroup_paths *paths);

/* One that has just been made: its path need not be asked for. */
void cgroup_paths_note(struct cgroup_paths *paths, uint64_t id, const char *path);

/*
 * As /proc/PID/cgroup shows it ("/" = root), asked from the kernel by id, and where that is not
 * permitted from a thread in it or below it. NULL: not known. True when it has just become known.
 */
bool cgroup_paths_learn(struct cgroup_paths *paths, uint64_t id, uint32_t tid,
			const char **ret_path);

#endif
