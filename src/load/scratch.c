// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* nftw */
#include "load/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include "load/owner.h"

int scratch_make(const char *parent, char *ret_path, size_t room, struct error *error)
{
	char name[OWNER_NAME_BYTES];

	if (!parent)
		parent = getenv("TMPDIR");
	if (!parent || !*parent)
		parent = "/var/tmp";
	owner_sweep(parent, scratch_remove);
	owner_name(name);
	if ((size_t)snprintf(ret_path, room, "%s/%s.XXXXXX", parent, name) >= room)
		return error_set(error, ENAMETOOLONG, "%s: the name is too long", parent);
	if (!mkdtemp(ret_path)) {
		*ret_path = '\0';
		return error_set(error, errno, "cannot make a directory in %s: %s", parent,
				 strerror(errno));
	}
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path) < 0 && errno != ENOENT ? 1 : 0;
}

void scratch_remove(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
