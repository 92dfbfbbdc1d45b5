/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a cgroup's path says of who made it: systemd's units, containers of Docker, Podman, CRI-O,
 * containerd, nerdctl, LXC and systemd-nspawn, pods of Kubernetes and Podman.
 */
#ifndef DWELL_MODEL_CGROUP_NAMES_H
#define DWELL_MODEL_CGROUP_NAMES_H

#include <stddef.h>

/* As parts of the path; "" where it says nothing. */
struct cgroup_names {
	char unit[256];	     /* "ssh.service": the innermost unit that is no container's */
	char container[128]; /* the first 12 digits of its id, as `docker ps` prints them, or a name
			      */
	char pod[64];	     /* of Kubernetes: its uid, with hyphens; of Podman: 12 digits */
};

void cgroup_names_find(struct cgroup_names *ret_names, const char *path);

#endif
