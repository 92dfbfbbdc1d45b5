// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memfd_create, O_PATH, O_TMPFILE */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"

#define TRIES 100 /* for a name that nothing has */

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

/* Opens the directory of `path`, as the user named it, and takes the last component as the name. */
static int open_directory(struct file_draft *draft, int directory, const char *path)
{
	char above[PATH_MAX];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = (size_t)(name - path);

	if (length >= sizeof(above) || strlen(name) >= sizeof(draft->name))
		return -ENAMETOOLONG;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return *path ? -EISDIR : -ENOENT;
	memcpy(above, path, length);
	memcpy(above + length, ".", 2);
	strcpy(draft->name, name);
	draft->directory = openat(directory, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return draft->directory < 0 ? -errno : 0;
}

/* As the kernel's protected_symlinks and protected_fifos, which not every machine has set. */
static bool may_be_trap(const struct file_draft *draft, const struct stat *found)
{
	struct stat directory;

	if (found->st_uid == geteuid() || !found->st_uid)
		return false;
	return fstat(draft->directory, &directory) < 0 || directory.st_uid != found->st_uid;
}

/* A FIFO that no process reads is an error, ENXIO, and not worth waiting for. */
static int open_in_place(struct file_draft *draft, int flags, mode_t mode)
{
	draft->fd = openat(draft->directory, draft->name,
			   O_WRONLY | O_CLOEXEC | O_NOCTTY | O_APPEND | O_NONBLOCK | flags, mode);
	draft->kept = true;
	if (draft->fd < 0 || fcntl(draft->fd, F_SETFL, O_APPEND) < 0)
		return -errno;
	return 0;
}

static int random_name(char *into)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(into, NAME_MAX + 1, ".dwell-%016llx", (unsigned long long)random);
	return 0;
}

static int open_named(struct file_draft *draft, mode_t mode)
{
	for (int i = 0; i < TRIES; i++) {
		if (random_name(draft->temporary) < 0)
			break;
		draft->fd = openat(draft->directory, draft->temporary,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND,
				   mode);
		if (draft->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	*draft->temporary = '\0';
	return -errno;
}

static int open_new(struct file_draft *draft, mode_t mode)
{
	draft->fd =
		openat(draft->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC | O_APPEND, mode);
	if (draft->fd >= 0)
		return 0;
	/* some filesystems and kernels do not know it, and say so in different ways */
	return errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL
		       ? open_named(draft, mode)
		       : -errno;
}

static int open_at_link(struct file_draft *draft, mode_t mode)
{
	char path[PATH_MAX], real[PATH_MAX];
	struct stat target;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", draft->directory, draft->name);
	if (stat(path, &target) < 0)
		return open_in_place(draft, O_CREAT, mode);
	if (!S_ISREG(target.st_mode) || !realpath(path, real))
		return open_in_place(draft, 0, mode);
	close(draft->directory);
	draft->directory = -1;
	return file_draft_open(draft, AT_FDCWD, real, mode, true);
}

static int open_replacing(struct file_draft *draft, mode_t mode)
{
	struct stat found;

	if (fstatat(draft->directory, draft->name, &found, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? open_new(draft, mode) : -errno;
	if (S_ISDIR(found.st_mode))
		return -EISDIR;
	if (S_ISREG(found.st_mode))
		return open_new(draft, mode);
	if (S_ISLNK(found.st_mode))
		return may_be_trap(draft, &found) ? -ELOOP : open_at_link(draft, mode);
	if (S_ISFIFO(found.st_mode) && may_be_trap(draft, &found))
		return -EPERM;
	return open_in_place(draft, O_NOFOLLOW, mode);
}

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* include/uapi/linux/memfd.h, 6.3 on */
#endif

char *file_bytes(int fd, size_t length)
{
	char *bytes = malloc(length + 1);
	size_t got = 0;

	while (bytes && got < length) {
		ssize_t part = pread(fd, bytes + got, length - got, (off_t)got);

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0) {
			free(bytes);
			return NULL;
		}
		got += (size_t)part;
	}
	return bytes;
}

int file_in_memory(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);

	return fd < 0 && errno == EINVAL ? memfd_create(name, MFD_CLOEXEC) : fd;
}

int file_unnamed(int directory, const char *path)
{
	int fd = openat(directory, path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char name[PATH_MAX], from[40] = "";

	if (fd >= 0)
		return fd;
	if (errno != EOPNOTSUPP && errno != EISDIR)
		return -errno;
	/* some filesystems do not know it */
	if (directory != AT_FDCWD)
		snprintf(from, sizeof(from), "/proc/self/fd/%d/", directory);
	if (snprintf(name, sizeof(name), "%s%s/dwell-XXXXXX", from, path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

int file_draft_open(struct file_draft *draft, int directory, const char *path, mode_t mode,
		    bool replaces)
{
	struct stat found;
	int result;

	*draft = FILE_DRAFT_NONE;
	draft->replaces = replaces;
	result = open_directory(draft, directory, path);
	if (result >= 0 && !replaces &&
	    !fstatat(draft->directory, draft->name, &found, AT_SYMLINK_NOFOLLOW))
		result = -EEXIST;
	if (result >= 0)
		result = replaces ? open_replacing(draft, mode) : open_new(draft, mode);
	if (result < 0)
		file_draft_close(draft);
	return result;
}

int file_draft_refused(const char *path, int result, struct error *error)
{
	if (result == -EEXIST)
		return error_set(error, EEXIST, "%s exists: --force replaces it", path);
	return error_set(error, -result, "cannot write %s: %s", path,
			 result == -ENXIO ? "no process reads it" : limits_strerror(-result));
}

static int link_as(const struct file_draft *draft, const char *name)
{
	char link[64];

	/* which others may since Linux 6.10 only; without /proc it is all there is */
	if (!linkat(draft->fd, "", draft->directory, name, AT_EMPTY_PATH))
		return 0;
	if (errno == EEXIST)
		return -EEXIST;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", draft->fd);
	return linkat(AT_FDCWD, link, draft->directory, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* rename() replaces, and link() does not. */
static int name_temporarily(struct file_draft *draft)
{
	int result = -EEXIST;

	for (int i = 0; i < TRIES && result == -EEXIST; i++) {
		result = random_name(draft->temporary);
		if (result >= 0)
			result = link_as(draft, draft->temporary);
	}
	if (result < 0)
		*draft->temporary = '\0';
	return result;
}

int file_draft_keep(struct file_draft *draft)
{
	int result = 0;

	if (draft->kept)
		return 0;
	if (!*draft->temporary)
		result = link_as(draft, draft->name);
	else if (!draft->replaces)
		result = linkat(draft->directory, draft->temporary, draft->directory, draft->name,
				0) < 0
				 ? -errno
				 : 0;
	if (draft->replaces && !*draft->temporary && result == -EEXIST)
		result = name_temporarily(draft);
	if (draft->replaces && *draft->temporary && result >= 0) {
		if (renameat(draft->directory, draft->temporary, draft->directory, draft->name) < 0)
			return -errno;
		*draft->temporary = '\0';
	}
	draft->kept = result >= 0;
	return result;
}

void file_draft_close(struct file_draft *draft)
{
	/* one that was kept by a second link still has it */
	if (*draft->temporary)
		unlinkat(draft->directory, draft->temporary, 0);
	if (draft->fd >= 0)
		close(draft->fd);
	if (draft->directory >= 0)
		close(draft->directory);
	*draft = FILE_DRAFT_NONE;
}

int file_draft_try(const char *path, struct error *error)
{
	struct file_draft draft;
	struct stat found;
	int result;

	/* who reads a pipe would take our end for the end of all, and a device may act */
	if (!stat(path, &found) && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
		return access(path, W_OK) < 0 ? file_draft_refused(path, -errno, error) : 0;
	result = file_draft_open(&draft, AT_FDCWD, path, 0666, true);
	file_draft_close(&draft);
	return result < 0 ? file_draft_refused(path, result, error) : 0;
}

int file_replace(const char *path, const char *bytes, size_t length, struct error *error)
{
	struct file_draft draft;
	int result = file_draft_open(&draft, AT_FDCWD, path, 0666, true);

	if (result >= 0)
		result = file_write(draft.fd, bytes, length);
	/* on the disk, where there is one */
	if (result >= 0 && fsync(draft.fd) < 0 && errno != EINVAL)
		result = -errno;
	if (result >= 0)
		result = file_draft_keep(&draft);
	file_draft_close(&draft);
	return result < 0 ? file_draft_refused(path, result, error) : 0;
}
