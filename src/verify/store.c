// SPDX-License-Identifier: GPL-2.0-or-later
#include "verify/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NEW VERIFY_STORE ".new"

int verify_store_write(const char *line, size_t length)
{
	cleanup_close int fd = -1;

	if (mkdir("/var/lib/dwell", 0755) < 0 && errno != EEXIST)
		return -errno;
	unlink(NEW);
	fd = open(NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	if (write(fd, line, length) == (ssize_t)length && fsync(fd) >= 0 &&
	    rename(NEW, VERIFY_STORE) >= 0)
		return 0;
	unlink(NEW);
	return -EIO;
}
