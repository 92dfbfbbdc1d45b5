/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that come back: what the command makes or changes below its working directory, and where
 * its arguments point to. The guest looks for them there, and the host takes no others.
 */
#ifndef DWELL_GUEST_RETURNS_H
#define DWELL_GUEST_RETURNS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct returns {
	char **roots; /* absolute, without dots; files, or directories with all that is in them */
	size_t count, room;
};

/* Of an absolute path. -ENOMEM. */
int returns_add(struct returns *returns, const char *path) must_check;

/* Of a command that runs in `directory`: names, --option=NAME and -o/NAME. -ENOMEM. */
int returns_add_command(struct returns *returns, const char *directory,
			char *const *arguments) must_check;

/* False also for a path that is not plain: absolute, without empty parts and dots. */
bool returns_allow(const struct returns *returns, const char *path);

void returns_release(struct returns *returns);

/*
 * In the guest: sends the regular files that were made or changed since. -errno if the host does
 * not listen; files that cannot be read are told on standard error.
 */
int returns_send(const struct returns *returns, int host, uint64_t since_realtime_ns) must_check;

/* A file that is being received on the host. It takes its name when it is complete. */
struct receiving {
	int fd; /* -1: none */
	uint32_t mode;
	uint64_t bytes;
	char path[PATH_MAX];
	char partial[PATH_MAX + 16]; /* "": it has no name yet, so a crash leaves nothing */
};

int receiving_begin(struct receiving *receiving, const struct returns *returns, const void *payload,
		    size_t length, struct error *error) must_check;
int receiving_take(struct receiving *receiving, const void *bytes, size_t length,
		   struct error *error) must_check;
int receiving_end(struct receiving *receiving, const void *payload, size_t length,
		  struct error *error) must_check;
/* -EPROTO if one is begun: nothing more of it comes. Removes it. */
int receiving_cut(struct receiving *receiving, struct error *error) must_check;
/* Removes what is not complete. */
void receiving_abort(struct receiving *receiving);

#endif
