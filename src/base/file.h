/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files are made here and nowhere else: no link of another user is followed, no file of theirs is
 * written to, and what was there before stays until there is something to replace it.
 */
#ifndef DWELL_BASE_FILE_H
#define DWELL_BASE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* All of it; -errno. */
int file_write(int fd, const void *bytes, size_t length) must_check;

/* The first `length` bytes, for the caller to free; NULL: it has fewer, or there is no memory. */
char *file_bytes(int fd, size_t length) must_check;

/* memfd_create(2), never executable: vm.memfd_noexec may refuse others. -1, and errno. */
int file_in_memory(const char *name) must_check;

/*
 * In the directory `path`, relative to `directory` (or AT_FDCWD): to read and write, without a
 * name, so that it ends with its descriptors. -errno.
 */
int file_unnamed(int directory, const char *path) must_check;

/*
 * A file that is written, and does not have its name yet. Where the filesystem allows it, it has
 * none at all (O_TMPFILE), so that a kill leaves nothing; else one that others cannot guess.
 */
struct file_draft {
	int fd; /* to write to; -1: none */
	int directory;
	char name[NAME_MAX + 1];      /* it will have */
	char temporary[NAME_MAX + 1]; /* "": none */
	bool replaces;		      /* what has the name then */
	bool kept;
};

#define FILE_DRAFT_NONE ((struct file_draft){.fd = -1, .directory = -1})

/*
 * `path` is relative to `directory` (or AT_FDCWD). `mode` is subject to the umask. Without
 * `replaces` it is -EEXIST if there is anything of that name. With it, what is no plain file, as a
 * terminal, a pipe or /dev/null, is written to, and what a link leads to is replaced, not the link;
 * but -ELOOP or -EPERM if the link or pipe may be a trap: it belongs neither to us, nor to root,
 * nor to the owner of its directory. 0, or a negative errno.
 */
int file_draft_open(struct file_draft *draft, int directory, const char *path, mode_t mode,
		    bool replaces) must_check;

/* What to say to who named it of a negative errno from here. Returns it. */
int file_draft_refused(const char *path, int result, struct error *error) must_check;

/* Gives it its name; it can be written to further. 0, or a negative errno. */
int file_draft_keep(struct file_draft *draft) must_check;

/* Closes it, and removes it if it was not kept. */
void file_draft_close(struct file_draft *draft);

/* Whether one can be made that replaces, before what is to be in it takes long. Nothing changes. */
int file_draft_try(const char *path, struct error *error) must_check;

/*
 * The file is as it was before or has all of `bytes`, on the disk, even if we are killed meanwhile.
 * A draft that replaces.
 */
int file_replace(const char *path, const char *bytes, size_t length,
		 struct error *error) must_check;

#endif
