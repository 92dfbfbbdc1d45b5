/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of what a run makes outside of its processes, which say whose they are: its pid,
 * when that process began, and the pid namespace, "dwell-load.PID.START.NAMESPACE", and what comes
 * behind a further point. A later run removes what has no owner any more.
 */
#ifndef DWELL_LOAD_OWNER_H
#define DWELL_LOAD_OWNER_H

#include <stdbool.h>
#include <stddef.h>

#define OWNER_NAME_BYTES 64

/* Of this process. */
void owner_name(char into[OWNER_NAME_BYTES]);

struct orphan {
	int parent, directory; /* open */
	const char *name;      /* of `directory` in `parent` */
	const char *path;      /* the same, for filesystems that know neither links nor renaming */
};

/*
 * Calls `remove` with each directory below `path` whose run is gone, and which belongs to this
 * user: what others name so is theirs. Looks at OWNER_SWEEP_ENTRIES entries at most.
 */
void owner_sweep(const char *path, void (*remove)(const struct orphan *orphan));

#define OWNER_SWEEP_ENTRIES 100000

#endif
