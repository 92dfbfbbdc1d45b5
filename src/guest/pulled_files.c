// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* FTW_ACTIONRETVAL */
#include "guest/pulled_files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
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

int pulled_files_add(struct pulled_files *pulled, const char *from, const char *path,
		     bool directory)
{
	size_t length = strlen(from) + strlen(path) + 3;
	cleanup_free char *whole = malloc(length);
	char *plain = malloc(length);

	if (!whole || !plain ||
	    array_reserve(&pulled->roots, &pulled->room, pulled->count + 1,
			  sizeof(*pulled->roots)) < 0) {
		free(plain);
		return -ENOMEM;
	}
	snprintf(whole, length, "%s/%s", *path == '/' ? "" : from, path);
	make_plain(plain, whole);
	/* all of the guest is not wanted, and below another root it is already */
	if (!*plain || pulled_files_find(pulled, plain))
		free(plain);
	else
		pulled->roots[pulled->count++] = (struct pulled_files_root){plain, directory};
	return 0;
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

static bool has_hidden(const char *below)
{
	return strstr(below, "/.") != NULL;
}

const struct pulled_files_root *pulled_files_find(const struct pulled_files *pulled,
						  const char *path)
{
	if (*path != '/' || !is_plain(path))
		return NULL;
	for (size_t i = 0; i < pulled->count; i++) {
		const struct pulled_files_root *root = &pulled->roots[i];
		size_t length = strlen(root->path);

		if (strncmp(path, root->path, length) != 0)
			continue;
		if (root->directory ? path[length] == '/' && !has_hidden(path + length)
				    : !path[length])
			return root;
	}
	return NULL;
}

void pulled_files_release(struct pulled_files *pulled)
{
	for (size_t i = 0; i < pulled->count; i++)
		free(pulled->roots[i].path);
	free(pulled->roots);
	*pulled = (struct pulled_files){.roots = NULL};
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

	/* the host would take none of these */
	if (at->level && path[at->base] == '.')
		return FTW_SKIP_SUBTREE;
	if (type == FTW_F && S_ISREG(st->st_mode) && changed_ns >= sending.since_ns)
		sending.result = send_file(sending.host, path, st);
	return sending.result < 0 ? FTW_STOP : FTW_CONTINUE;
}

/* An option may well name something in /proc or /sys, which the host has too. */
static bool is_mounted(const char *path)
{
	struct stat root, st;

	return stat("/", &root) < 0 || lstat(path, &st) < 0 || st.st_dev != root.st_dev;
}

int pulled_files_send(const struct pulled_files *pulled, int host, uint64_t since_realtime_ns)
{
	sending.host = host;
	sending.result = 0;
	sending.since_ns = since_realtime_ns;
	/* what is mounted are no files of the command */
	for (size_t i = 0; sending.result >= 0 && i < pulled->count; i++)
		if (!is_mounted(pulled->roots[i].path))
			nftw(pulled->roots[i].path, on_entry, DEPTH,
			     FTW_PHYS | FTW_MOUNT | FTW_ACTIONRETVAL);
	return sending.result;
}
