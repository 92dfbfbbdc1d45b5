/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that come back: what the command's own options name as its output, and what it makes or
 * changes below the directories of --return. The guest looks for them there, and the host takes no
 * others.
 */
#ifndef DWELL_GUEST_PULLED_FILES_H
#define DWELL_GUEST_PULLED_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/file.h"

struct pulled_files_root {
	char *path;	/* absolute, without dots and empty parts */
	bool directory; /* with all that is in it, but what begins with a dot */
};

struct pulled_files {
	struct pulled_files_root *roots;
	size_t count, room;
};

/* `path` may be relative to the directory `from`. All of the file system is no root. -ENOMEM. */
int pulled_files_add(struct pulled_files *pulled, const char *from, const char *path,
		     bool directory) must_check;

/*
 * The root that lets a path come back. NULL: none does, also for a path that is not plain:
 * absolute, without empty parts and dots, and below a root without a part that begins with a dot.
 */
const struct pulled_files_root *pulled_files_find(const struct pulled_files *pulled,
						  const char *path);

void pulled_files_release(struct pulled_files *pulled);

/*
 * In the guest: sends the regular files that were made or changed since. -errno if the host does
 * not listen; files that cannot be read are reported on standard error.
 */
int pulled_files_send(const struct pulled_files *pulled, int host,
		      uint64_t since_realtime_ns) must_check;

#define RECEIVING_FILES_MAX 10000
#define RECEIVING_BYTES_MAX (1ULL << 30)

/*
 * A file that is being received on the host. It takes its name when it is complete. Directories
 * below the root are entered by descriptors, and no link is followed: none that is there leads the
 * guest elsewhere.
 */
struct receiving {
	struct file_draft file;
	uint32_t mode;
	uint64_t bytes;
	char path[PATH_MAX];
	/* of all files so far; of --return-limit, else the limits above */
	uint64_t files, all_bytes, max_bytes;
};

#define RECEIVING_NONE                                                                             \
	((struct receiving){.file = {.fd = -1, .directory = -1}, .max_bytes = RECEIVING_BYTES_MAX})

int receiving_begin(struct receiving *receiving, const struct pulled_files *pulled,
		    const void *payload, size_t length, struct error *error) must_check;
int receiving_take(struct receiving *receiving, const void *bytes, size_t length,
		   struct error *error) must_check;
int receiving_end(struct receiving *receiving, const void *payload, size_t length,
		  struct error *error) must_check;
/* -EPROTO if one is begun: nothing more of it comes. Removes it. */
int receiving_cut(struct receiving *receiving, struct error *error) must_check;
/* Removes what is not complete. */
void receiving_abort(struct receiving *receiving);

#endif
