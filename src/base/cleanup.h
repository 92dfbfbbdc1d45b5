/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owners that clean up when they go out of scope; all take NULL or unset values. */
#ifndef DWELL_BASE_CLEANUP_H
#define DWELL_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define cleanup(function) __attribute__((cleanup(function)))
#define must_check	  __attribute__((warn_unused_result))

static inline void cleanup_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* To read the descriptor, which is closed with it; -1 has none. NULL: errno, and it is closed. */
static inline FILE *file_reading(int fd)
{
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	int code = errno;

	if (!file && fd >= 0)
		close(fd);
	errno = code;
	return file;
}

static inline void cleanup_close_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* In `directory`, whose position stays; no link is followed. NULL, and errno. */
static inline DIR *dir_reading(int directory, const char *path)
{
	int fd = openat(directory, path,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int code = errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = code;
	return dir;
}

#define cleanup_free	  cleanup(cleanup_free_pointer)
#define cleanup_close	  cleanup(cleanup_close_fd) /* an int, -1 = unset */
#define cleanup_file	  cleanup(cleanup_close_file)
#define cleanup_dir	  cleanup(cleanup_close_dir)

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
