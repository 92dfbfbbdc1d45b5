// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/mount.h"

#include <mntent.h>
#include <stdio.h>
#include <string.h>

bool mount_find(const char *type, const char *option, char *into, size_t room)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	bool found = false;

	while (mounts && !found && (entry = getmntent(mounts)))
		if (!strcmp(entry->mnt_type, type) && (!option || hasmntopt(entry, option)))
			found = (size_t)snprintf(into, room, "%s", entry->mnt_dir) < room;
	if (mounts)
		endmntent(mounts);
	return found;
}
