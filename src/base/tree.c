// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH, syscall */
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* On the same filesystem, which mount points within one filesystem pass for. */
static int open_compared(int parent, const char *name)
{
	struct stat above, found;
	int fd = openat(parent, name, DIRECTORY);

	if (fd < 0)
		return -errno;
	if (fstat(parent, &above) < 0 || fstat(fd, &found) < 0 || above.st_dev != found.st_dev) {
		close(fd);
		return -EXDEV;
	}
	return fd;
}

int tree_open(int parent, const char *name)
{
	struct open_how how = {
		.flags = DIRECTORY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, parent, name, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return open_compared(parent, name);
	return fd < 0 ? -errno : (int)fd;
}

static int empty(int directory, unsigned int depth);

static int remove_entry(int directory, const char *name, unsigned int depth)
{
	cleanup_close int below = -1;
	int result;

	if (!unlinkat(directory, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	below = tree_open(directory, name);
	if (below < 0)
		return below;
	result = empty(below, depth + 1);
	return unlinkat(directory, name, AT_REMOVEDIR) < 0 && result >= 0 ? -errno : result;
}

static int empty(int directory, unsigned int depth)
{
	/* its position is its own, and it closes its descriptor */
	cleanup_dir DIR *dir = depth < TREE_DEPTH ? dir_reading(directory, ".") : NULL;
	struct dirent *entry;
	int result = 0;

	if (!dir)
		return depth < TREE_DEPTH ? -errno : -ELOOP;
	while ((entry = readdir(dir))) {
		int removed;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		removed = remove_entry(directory, entry->d_name, depth);
		if (removed < 0 && result >= 0)
			result = removed;
	}
	return result;
}

int tree_remove(int parent, const char *name, int directory)
{
	int result = empty(directory, 0);

	return unlinkat(parent, name, AT_REMOVEDIR) < 0 && result >= 0 ? -errno : result;
}
