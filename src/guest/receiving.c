// SPDX-License-Identifier: GPL-2.0-or-later
/* Files from a guest, on the host: guest/pulled_files.h. The guest may be hostile. */
#define _GNU_SOURCE /* O_PATH */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/size.h"
#include "base/tree.h"
#include "guest/frame.h"
#include "guest/pulled_files.h"

static int fail(const struct receiving *receiving, int code, struct error *error)
{
	return error_set(error, code, "cannot write %s: %s", receiving->path, strerror(code));
}

/* A directory that the user named, as they named it; links are theirs. */
static int open_root(const char *path)
{
	char part[PATH_MAX];
	int fd;

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(part, 0777);
		*slash = '/';
	}
	mkdir(part, 0777);
	fd = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* One level below, by a name that the guest chose. Takes over `directory`. */
static int enter(int directory, const char *name)
{
	int below = tree_open(directory, name);

	if (below == -ENOENT)
		below = mkdirat(directory, name, 0777) < 0 && errno != EEXIST
				? -errno
				: tree_open(directory, name);
	close(directory);
	return below;
}

/* The directory of the file, and where in its path its name is. */
static int open_parent(const struct receiving *receiving, const struct pulled_files_root *root,
		       const char **ret_name)
{
	size_t length = strlen(root->path);
	char path[PATH_MAX], *at = path + length;
	int directory;

	*ret_name = strrchr(receiving->path, '/') + 1;
	if (!root->directory)
		length = (size_t)(*ret_name - receiving->path) - 1;
	snprintf(path, sizeof(path), "%s", receiving->path);
	path[length] = '\0';
	directory = open_root(length ? path : "/");
	if (!root->directory)
		return directory;
	for (at++; directory >= 0; at = strchr(at, '\0') + 1) {
		char *slash = strchr(at, '/');

		if (!slash)
			break;
		*slash = '\0';
		directory = enter(directory, at);
	}
	return directory;
}

/* Names that end a line, or would look like another, are written as what they are by who prints. */
static int refuse(const struct receiving *receiving, struct error *error)
{
	return error_set(error, EPROTO, "the guest sent an unexpected file: %s", receiving->path);
}

static int open_file(struct receiving *receiving, const struct pulled_files_root *root,
		     struct error *error)
{
	const char *name;
	cleanup_close int directory = open_parent(receiving, root, &name);
	struct stat found;
	int result;

	if (directory < 0)
		return fail(receiving, -directory, error);
	/* neither through a link nor into a pipe or device, no matter who put it there */
	if (!fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) && !S_ISREG(found.st_mode))
		return S_ISDIR(found.st_mode) ? fail(receiving, EISDIR, error)
					      : error_set(error, EEXIST,
							  "%s is not a regular file: what came "
							  "from the guest is not "
							  "kept",
							  receiving->path);
	result = file_draft_open(&receiving->file, directory, name, 0600, true);
	return result < 0 ? fail(receiving, -result, error) : 0;
}

int receiving_begin(struct receiving *receiving, const struct pulled_files *pulled,
		    const void *payload, size_t length, struct error *error)
{
	const struct pulled_files_root *root;
	struct frame_file file;
	mode_t mask;

	receiving_abort(receiving);
	if (length <= sizeof(file) || length - sizeof(file) >= sizeof(receiving->path))
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
	root = strlen(receiving->path) == length ? pulled_files_find(pulled, receiving->path)
						 : NULL;
	if (!root)
		return refuse(receiving, error);
	if (++receiving->files > RECEIVING_FILES_MAX)
		return error_set(error, EFBIG,
				 "the guest sent more than %d files: no others are kept",
				 RECEIVING_FILES_MAX);
	return open_file(receiving, root, error);
}

int receiving_take(struct receiving *receiving, const void *bytes, size_t length,
		   struct error *error)
{
	char limit[16];
	int result;

	/* of a file that could not be begun, or in the middle of which a frame was damaged */
	if (receiving->file.fd < 0)
		return 0;
	receiving->bytes += length;
	receiving->all_bytes += length;
	if (receiving->all_bytes > receiving->max_bytes) {
		receiving_abort(receiving);
		size_format(limit, sizeof(limit), receiving->max_bytes);
		return error_set(
			error, EFBIG,
			"the guest sent more than %s of files: what came after that is not "
			"kept (--return-limit)",
			limit);
	}
	result = file_write(receiving->file.fd, bytes, length);
	if (result < 0)
		receiving_abort(receiving);
	return result < 0 ? fail(receiving, -result, error) : 0;
}

int receiving_end(struct receiving *receiving, const void *payload, size_t length,
		  struct error *error)
{
	uint64_t bytes;
	int result;

	if (receiving->file.fd < 0)
		return 0;
	if (length == sizeof(bytes))
		memcpy(&bytes, payload, sizeof(bytes));
	if (length != sizeof(bytes) || bytes != receiving->bytes)
		return receiving_cut(receiving, error);
	result = fchmod(receiving->file.fd, receiving->mode) < 0
			 ? -errno
			 : file_draft_keep(&receiving->file);
	receiving_abort(receiving);
	return result < 0 ? fail(receiving, -result, error) : 0;
}

int receiving_cut(struct receiving *receiving, struct error *error)
{
	if (receiving->file.fd < 0)
		return 0;
	receiving_abort(receiving);
	return error_set(error, EPROTO, "%s came back incomplete from the guest, and is not kept",
			 receiving->path);
}

void receiving_abort(struct receiving *receiving)
{
	file_draft_close(&receiving->file);
}
