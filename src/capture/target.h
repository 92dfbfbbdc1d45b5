/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to watch: processes, threads, a cgroup, with or without children; nothing = everything. */
#ifndef DWELL_CAPTURE_TARGET_H
#define DWELL_CAPTURE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/config.h"

struct target {
	uint32_t id;
	enum target_kind kind;
	int pidfd; /* holds the process so that its id cannot be reused; owned */
};

struct targets {
	struct target items[MAX_TARGETS];
	unsigned int count;
	unsigned int alive;	   /* after targets_watch() */
	int watch_fd;		   /* 0 = none yet */
	bool children;		   /* of the processes, and theirs */
	bool forked_are_one;	   /* a name may be of a process and others that it has forked */
	bool command;		   /* the one process is a command that was started to be watched */
	char *cgroup_path;	   /* as it was given; owned */
	uint64_t cgroup_id;	   /* 0 = none */
	uint32_t cgroup_level;	   /* below the mounted tree's root */
	bool cgroup_is_below_root; /* which is the machine's, not that of a cgroup namespace */
};

#define cleanup_targets cleanup(targets_release)

/* A process or thread that exists. -ESRCH with a message if it does not, -E2BIG if too many. */
int targets_add_process(struct targets *targets, uint32_t pid, struct error *error) must_check;

/* Lists as in `-p 12,34`. */
int targets_parse(struct targets *targets, const char *list, enum target_kind kind,
		  struct error *error) must_check;

/*
 * The one process of that name: its thread name, or the file name of its program; or of a pattern
 * for these, as glob(7) has them. Of one that has forked all others of that name, as servers fork
 * their workers, that one, with its children, where forked_are_one; else all of a pattern there.
 * Several: -EEXIST, the message lists them. None: -ESRCH.
 */
int targets_add_name(struct targets *targets, const char *name, struct error *error) must_check;

/* The name of a process's first thread; false, and empty: there is none. */
#define TARGET_NAME_BYTES 64
bool target_process_name(uint32_t pid, char comm[TARGET_NAME_BYTES]);

/* A directory of the cgroup v2 tree: absolute, or as /proc/PID/cgroup names it. */
int targets_set_cgroup(struct targets *targets, const char *path, struct error *error) must_check;

/*
 * True: another cgroup is at that path, and is the target from now on. A service manager removes a
 * service's at its end, and makes it again when it starts.
 */
bool targets_follow_cgroup(struct targets *targets);

/*
 * A descriptor that becomes readable when a process or thread of the list has ended; then
 * targets_alive() returns how many are left. Threads need pidfds for threads (6.9); before, the end
 * of their process counts. Negative errno without descriptors to spare.
 */
int targets_watch(struct targets *targets) must_check;
unsigned int targets_alive(struct targets *targets);

/* One of the list: its id may be another's by now. */
bool target_has_ended(const struct target *target);

static inline bool targets_everything(const struct targets *targets)
{
	return !targets->count && !targets->cgroup_id;
}

void targets_release(struct targets *targets);

#endif
