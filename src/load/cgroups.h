/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroups of a run: a directory of its own in the cgroup v2 tree, and what the spec wants below
 * it. Removed in reverse when the run ends. Documentation/admin-guide/cgroup-v2.rst is the
 * contract.
 *
 * The kernel may hold up a write for long (a scheduler that refuses a task); none is waited for
 * longer than 2 s. EBUSY is retried, a task that is gone already is no error.
 */
#ifndef DWELL_LOAD_CGROUPS_H
#define DWELL_LOAD_CGROUPS_H

#include <stdbool.h>
#include <sys/types.h>

#include "load/spec.h"

struct made_cgroup {
	char *path;    /* below the root */
	bool is_named; /* by the spec; else only others lie in it */
};

struct cgroups {
	char *mount;		  /* of cgroup v2; NULL: there is none */
	char *root;		  /* directory of the run; NULL: not made yet */
	struct made_cgroup *made; /* below the root, in the order they were made */
	size_t count, room;
	char **enabled; /* "DIRECTORY\0CONTROLLER": switched on by us above the root, to be undone
			 */
	size_t enabled_count, enabled_room;
};

#define cleanup_cgroups cleanup(cgroups_release)

/*
 * Removes what runs left below `parent` (NULL: the root of the cgroup v2 tree) that were killed
 * together with all that could have tidied up.
 */
void cgroups_sweep(const char *parent);

/* Makes the run's directory below `parent`. */
int cgroups_init(struct cgroups *cgroups, const char *parent, struct error *error) must_check;

/* own_throttled_ns() of the cgroups around its own. */
uint64_t cgroups_throttled_ns(const struct cgroups *cgroups);

/* Removes all of it, cgroups whose tasks have ended first. Takes zeroed ones. */
void cgroups_release(struct cgroups *cgroups);

/* With its limits and its cpuset (NULL: none); enables the controllers they need. */
int cgroups_add(struct cgroups *cgroups, const char *name, const struct spec_limits *limits,
		const struct cpus *cpus, struct error *error) must_check;
int cgroups_remove(struct cgroups *cgroups, const char *name, struct error *error) must_check;

int cgroups_move(struct cgroups *cgroups, const char *name, const pid_t *pids, size_t count,
		 struct error *error) must_check;

/* NULL: those of the cgroup around it. */
int cgroups_set_cpus(struct cgroups *cgroups, const char *name, const struct cpus *cpus,
		     struct error *error) must_check;
int cgroups_set_limits(struct cgroups *cgroups, const char *name, const struct spec_limits *limits,
		       struct error *error) must_check;

/* Returns when the kernel says that all its tasks are frozen; of a thaw, when it was written. */
int cgroups_freeze(struct cgroups *cgroups, const char *name, bool freeze,
		   struct error *error) must_check;

/* Whether the spec needs controllers that this tree does not have. Before anything is made. */
int cgroups_check(const struct spec *spec, struct error *error) must_check;

/*
 * Removes a directory of the cgroup tree and all below it, after killing what runs there. For what
 * was left behind; quiet.
 */
void cgroups_remove_tree(const char *path);

#endif
