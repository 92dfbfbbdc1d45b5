// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* FTW_ACTIONRETVAL, mkostemp */
#include "guest/returns.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/file.h"
#include "guest/frame.h"

#define DEPTH 32 /* descriptors of a walk */

/* Without dots and empty parts, as if there were no links. */
static void make_plain(char *into, const char *path)
{
	size_t used = 0;

	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && !strncmp(path, "..", 2)) {
			while (used && into[--used] != '/')
				;
		} else if (length && !(length == 1 && *path == '.')) {
			into[used++] = '/';
			memcpy(into + used, path, length);
			used += length;
		}
		path += length + (path[length] == '/');
	}
	into[used] = '\0';
}

int returns_add(struct returns *returns, const char *path)
{
	char *plain = malloc(strlen(path) + 2);

	if (!plain || array_reserve(&returns->roots, &returns->room, returns->count + 1,
				    sizeof(*returns->roots)) < 0) {
		free(plain);
		return -ENOMEM;
	}
	make_plain(plain, path);
	/* all of the guest is not wanted, and below another root it is already */
	if (!*plain || returns_allow(returns, plain))
		free(plain);
	else
		returns->roots[returns->count++] = plain;
	return 0;
}

/* What may be a path in an argument. */
static const char *path_in(const char *argument)
{
	const char *equals = strchr(argument, '=');

	if (*argument != '-')
		return argument;
	if (equals)
		return equals + 1;
	return argument[1] && argument[1] != '-' ? argument + 2 : "";
}

int returns_add_command(struct returns *returns, const char *directory, char *const *arguments)
{
	int result = returns_add(returns, directory);

	for (size_t i = 0; result >= 0 && arguments[i]; i++) {
		const char *path = path_in(arguments[i]);
		char *whole;

		if (!*path)
			continue;
		if (asprintf(&whole, "%s/%s", *path == '/' ? "" : directory, path) < 0)
			return -ENOMEM;
		result = returns_add(returns, whole);
		free(whole);
	}
	return result;
}

static bool is_plain(const char *path)
{
	while (*path == '/') {
		size_t length = strcspn(path + 1, "/");

		if (!length || (length == 1 && path[1] == '.') ||
		    (length == 2 && path[1] == '.' && path[2] == '.'))
			return false;
		path += 1 + length;
	}
	return !*path;
}

bool returns_allow(const struct returns *returns, const char *path)
{
	if (*path != '/' || !is_plain(path))
		return false;
	for (size_t i = 0; i < returns->count; i++) {
		size_t length = strlen(returns->roots[i]);

		if (!strncmp(path, returns->roots[i], length) &&
		    (!path[length] || path[length] == '/'))
			return true;
	}
	return false;
}

void returns_release(struct returns *returns)
{
	for (size_t i = 0; i < returns->count; i++)
		free(returns->roots[i]);
	free(returns->roots);
	*returns = (struct returns){.roots = NULL};
}

static int send_data(int host, int fd)
{
	static char bytes[32768];
	uint64_t sent = 0;
	ssize_t got;
	int result = 0;

	while (result >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0) {
		result = frame_write(host, FRAME_DATA, bytes, (size_t)got);
		sent += (uint64_t)got;
	}
	return result < 0 ? result : frame_write(host, FRAME_FILE_END, &sent, sizeof(sent));
}

static int send_file(int host, const char *path, const struct stat *st)
{
	struct {
		struct frame_file file;
		char path[PATH_MAX];
	} head = {.file.mode = st->st_mode & 0777};
	cleanup_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t length = strlen(path);
	int result;

	if (fd < 0 || length >= sizeof(head.path)) {
		fprintf(stderr, "init: cannot bring back %s: %s\n", path, strerror(errno));
		return 0;
	}
	memcpy(head.path, path, length);
	result = frame_write(host, FRAME_FILE, &head, sizeof(head.file) + length);
	return result < 0 ? result : send_data(host, fd);
}

/* nftw() hands nothing through. */
static struct {
	int host, result;
	uint64_t since_ns;
} sending;

static int on_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	uint64_t changed_ns =
		(uint64_t)st->st_ctim.tv_sec * 1000000000ULL + (uint64_t)st->st_ctim.tv_nsec;

	(void)at;
	if (type == FTW_F && S_ISREG(st->st_mode) && changed_ns >= sending.since_ns)
		sending.result = send_file(sending.host, path, st);
	return sending.result < 0 ? FTW_STOP : FTW_CONTINUE;
}

/* An argument may well point into /proc or /sys, which the host has too. */
static bool is_mounted(const char *path)
{
	struct stat root, st;

	return stat("/", &root) < 0 || lstat(path, &st) < 0 || st.st_dev != root.st_dev;
}

int returns_send(const struct returns *returns, int host, uint64_t since_realtime_ns)
{
	sending.host = host;
	sending.result = 0;
	sending.since_ns = since_realtime_ns;
	/* what is mounted are no files of the command */
	for (size_t i = 0; sending.result >= 0 && i < returns->count; i++)
		if (!is_mounted(returns->roots[i]))
			nftw(returns->roots[i], on_entry, DEPTH,
			     FTW_PHYS | FTW_MOUNT | FTW_ACTIONRETVAL);
	return sending.result;
}

static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
}

static int fail(const struct receiving *receiving, struct error *error)
{
	return error_set(error, errno, "cannot write %s: %s", receiving->path, strerror(errno));
}

/* Not every file system has files without a name: those get one to be renamed. */
static int open_nameless(struct receiving *receiving)
{
	char directory[PATH_MAX];

	snprintf(directory, sizeof(directory), "%s", receiving->path);
	strrchr(directory, '/')[1] = '\0';
	*receiving->partial = '\0';
	receiving->fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (receiving->fd >= 0)
		return 0;
	snprintf(receiving->partial, sizeof(receiving->partial), "%s.XXXXXX", receiving->path);
	receiving->fd = mkostemp(receiving->partial, O_CLOEXEC);
	return receiving->fd < 0 ? -errno : 0;
}

int receiving_begin(struct receiving *receiving, const struct returns *returns, const void *payload,
		    size_t length, struct error *error)
{
	struct frame_file file;
	mode_t mask;

	receiving_abort(receiving);
	/* as much shorter as a temporary name is longer */
	if (length <= sizeof(file) || length - sizeof(file) + 8 > sizeof(receiving->path))
		return error_set(error, EPROTO, "the guest sent a file without a name");
	memcpy(&file, payload, sizeof(file));
	length -= sizeof(file);
	memcpy(receiving->path, (const char *)payload + sizeof(file), length);
	receiving->path[length] = '\0';
	/* the guest knows nothing of ours */
	mask = umask(0);
	umask(mask);
	receiving->mode = file.mode & 0777 & ~mask;
	receiving->bytes = 0;
	if (strlen(receiving->path) != length || !returns_allow(returns, receiving->path))
		return error_set(error, EPROTO, "the guest sent a file that nobody asked for: %s",
				 receiving->path);
	make_parents(receiving->path);
	return open_nameless(receiving) < 0 ? fail(receiving, error) : 0;
}

int receiving_take(struct receiving *receiving, const void *bytes, size_t length,
		   struct error *error)
{
	int result;

	/* of a file that could not be begun, or in the middle of which a frame was damaged */
	if (receiving->fd < 0)
		return 0;
	result = file_write(receiving->fd, bytes, length);
	receiving->bytes += length;
	if (result >= 0)
		return 0;
	errno = -result;
	result = fail(receiving, error);
	receiving_abort(receiving);
	return result;
}

/* Another of that name is replaced, as if the command had run here. */
static int give_name(struct receiving *receiving)
{
	char link[64];

	if (!*receiving->partial) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", receiving->fd);
		if (!linkat(AT_FDCWD, link, AT_FDCWD, receiving->path, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -errno;
		snprintf(receiving->partial, sizeof(receiving->partial), "%s.%d", receiving->path,
			 getpid());
		if (linkat(AT_FDCWD, link, AT_FDCWD, receiving->partial, AT_SYMLINK_FOLLOW) < 0) {
			*receiving->partial = '\0';
			return -errno;
		}
	}
	if (rename(receiving->partial, receiving->path) < 0)
		return -errno;
	*receiving->partial = '\0';
	return 0;
}

int receiving_end(struct receiving *receiving, const void *payload, size_t length,
		  struct error *error)
{
	uint64_t bytes;
	int result = 0;

	if (receiving->fd < 0)
		return 0;
	if (length == sizeof(bytes))
		memcpy(&bytes, payload, sizeof(bytes));
	if (length != sizeof(bytes) || bytes != receiving->bytes)
		return receiving_cut(receiving, error);
	if (fchmod(receiving->fd, receiving->mode) < 0 || give_name(receiving) < 0)
		result = fail(receiving, error);
	receiving_abort(receiving);
	return result;
}

int receiving_cut(struct receiving *receiving, struct error *error)
{
	if (receiving->fd < 0)
		return 0;
	receiving_abort(receiving);
	return error_set(error, EPROTO, "%s came back incomplete from the guest, and is not kept",
			 receiving->path);
}

void receiving_abort(struct receiving *receiving)
{
	if (receiving->fd < 0)
		return;
	if (*receiving->partial)
		unlink(receiving->partial);
	close(receiving->fd);
	receiving->fd = -1;
}
