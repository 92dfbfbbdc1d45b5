// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH */
#include "load/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/tree.h"
#include "load/owner.h"

static void remove_orphan(const struct orphan *orphan)
{
	if (tree_remove(orphan->parent, orphan->name, orphan->directory) < 0) {
		/* the next run tries again */
	}
}

int scratch_make(struct scratch *scratch, const char *parent, struct error *error)
{
	char name[OWNER_NAME_BYTES];
	struct stat found;

	*scratch = (struct scratch){.directory = -1};
	if (!parent)
		parent = getenv("TMPDIR");
	if (!parent || !*parent)
		parent = "/var/tmp";
	owner_sweep(parent, remove_orphan);
	owner_name(name);
	if ((size_t)snprintf(scratch->path, sizeof(scratch->path), "%s/%s.XXXXXX", parent, name) >=
	    sizeof(scratch->path))
		return error_set(error, ENAMETOOLONG, "%s: the name is too long", parent);
	if (mkdtemp(scratch->path))
		scratch->directory =
			open(scratch->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (scratch->directory < 0) {
		*scratch->path = '\0';
		return error_set(error, errno, "cannot make a directory in %s: %s", parent,
				 strerror(errno));
	}
	/* where the parent is another user's, it may be exchanged already */
	if (fstat(scratch->directory, &found) < 0 || found.st_uid != geteuid() ||
	    (found.st_mode & (S_IWGRP | S_IWOTH))) {
		close(scratch->directory);
		*scratch = (struct scratch){.directory = -1};
		return error_set(error, EPERM,
				 "%s: another user exchanged the directory made there", parent);
	}
	scratch->device = found.st_dev;
	scratch->inode = found.st_ino;
	return 0;
}

void scratch_remove(const struct scratch *scratch)
{
	char path[PATH_MAX];
	char *name;
	struct stat found;
	cleanup_close int parent = -1, directory = -1;

	memcpy(path, scratch->path, sizeof(path));
	name = strrchr(path, '/');
	if (!name)
		return;
	*name++ = '\0';
	parent = open(*path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* who made it was killed before it knew which: nothing is in it yet */
	if (parent >= 0 && !scratch->inode && unlinkat(parent, name, AT_REMOVEDIR) < 0) {
		/* nor was it made */
	}
	directory = parent < 0 ? -1 : tree_open(parent, name);
	if (directory >= 0 && !fstat(directory, &found) && found.st_dev == scratch->device &&
	    found.st_ino == scratch->inode && tree_remove(parent, name, directory) < 0) {
		/* the next run tries again */
	}
}
