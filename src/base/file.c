// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int file_write(int fd, const void *bytes, size_t length)
{
	const char *from = bytes;

	while (length) {
		ssize_t written = write(fd, from, length);

		if (written < 0 && errno != EINTR)
			return -errno;
		from += written > 0 ? written : 0;
		length -= written > 0 ? (size_t)written : 0;
	}
	return 0;
}

/* Whole, and on the disk where there is one; else -errno. */
static int write_all(const char *path, const char *bytes, size_t length)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int result = fd < 0 ? -errno : file_write(fd, bytes, length);

	return result >= 0 && fsync(fd) < 0 && errno != EINVAL ? -errno : result;
}

static bool is_replaceable(const char *path)
{
	struct stat status;

	return lstat(path, &status) < 0 || S_ISREG(status.st_mode);
}

int file_replace(const char *path, const char *bytes, size_t length, struct error *error)
{
	char partial[PATH_MAX];
	int result;

	if ((size_t)snprintf(partial, sizeof(partial), "%s.partial", path) >= sizeof(partial))
		return error_set(error, ENAMETOOLONG, "%s: the name is too long", path);
	if (!is_replaceable(path)) {
		result = write_all(path, bytes, length);
		return result < 0 ? error_set(error, -result, "cannot write %s: %s", path,
					      strerror(-result))
				  : 0;
	}
	result = write_all(partial, bytes, length);
	if (result >= 0 && rename(partial, path) < 0)
		result = -errno;
	if (result >= 0)
		return 0;
	unlink(partial);
	return error_set(error, -result, "cannot write %s: %s", path, strerror(-result));
}
