// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH */
#include "capture/rotation.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "capture/recorder.h"

#define STAMP	     "YYYYmmddTHHMMSSZ"
#define STAMP_FORMAT "%Y%m%dT%H%M%SZ"
/* Files that --max-bytes is divided into: so much of it is lost when the oldest is removed. */
#define FILES_OF_BYTES 8
/* Of a name, for the compiler: split_path() makes sure that it fits NAME_MAX. */
#define NAME_ROOM (2 * NAME_MAX + 2 + (int)sizeof(STAMP))

struct rotation {
	struct rotation_options options;
	struct recorder *recorder; /* NULL: no file yet */
	bool failed;		   /* its file takes no more */
	bool is_full;		   /* because the disk is full */
	char directory[PATH_MAX];
	char prefix[NAME_MAX + 1], suffix[NAME_MAX + 1]; /* of the names, around the stamp */
	char path[PATH_MAX + NAME_ROOM];
	char last_stamp[sizeof(STAMP)];
	uint64_t begun_ns; /* the present file, CLOCK_MONOTONIC */
	bool ends;	   /* this interval is the file's last one: its records are kept */
	char *kept;
	size_t used, room;
	uint64_t bytes, files; /* of those that are complete */
};

struct rotated_file {
	char stamp[sizeof(STAMP)];
	uint64_t bytes, changed_ns; /* CLOCK_REALTIME */
};

static int split_path(struct rotation *rotation, const char *path, struct error *error)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (!*name || strlen(name) + sizeof(STAMP) > NAME_MAX ||
	    strlen(path) + sizeof(STAMP) + 1 >= PATH_MAX)
		return error_set(error, ENAMETOOLONG, "%.200s is no name for files", path);
	if (!dot || dot == name)
		dot = name + strlen(name);
	snprintf(rotation->directory, sizeof(rotation->directory), "%.*s",
		 slash ? (int)(slash - path + (slash == path)) : 1, slash ? path : ".");
	snprintf(rotation->prefix, sizeof(rotation->prefix), "%.*s.", (int)(dot - name), name);
	snprintf(rotation->suffix, sizeof(rotation->suffix), "%s", dot);
	return 0;
}

static bool is_stamp(const char *text)
{
	static const char form[] = "00000000T000000Z";

	for (size_t i = 0; form[i]; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

/* Whether it is one of ours, by its name. */
static bool take_stamp(const struct rotation *rotation, const char *name, char *stamp)
{
	size_t prefix = strlen(rotation->prefix);

	if (strlen(name) != prefix + sizeof(STAMP) - 1 + strlen(rotation->suffix) ||
	    strncmp(name, rotation->prefix, prefix) != 0 || !is_stamp(name + prefix) ||
	    strcmp(name + prefix + sizeof(STAMP) - 1, rotation->suffix) != 0)
		return false;
	memcpy(stamp, name + prefix, sizeof(STAMP) - 1);
	stamp[sizeof(STAMP) - 1] = '\0';
	return true;
}

static void name_of(const struct rotation *rotation, const char *stamp, char into[NAME_ROOM])
{
	snprintf(into, NAME_ROOM, "%s%s%s", rotation->prefix, stamp, rotation->suffix);
}

static int by_stamp(const void *left, const void *right)
{
	const struct rotated_file *a = left, *b = right;

	return strcmp(a->stamp, b->stamp);
}

/* Plain files of ours, the oldest first; without the present one. 0 or a negative errno. */
static int list(const struct rotation *rotation, struct rotated_file **ret_files, size_t *ret_count)
{
	cleanup_dir DIR *directory = opendir(rotation->directory);
	size_t room = 0;
	struct dirent *entry;

	*ret_files = NULL;
	*ret_count = 0;
	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		struct rotated_file file;
		struct stat status;

		if (!take_stamp(rotation, entry->d_name, file.stamp) ||
		    !strcmp(file.stamp, rotation->last_stamp) ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(status.st_mode) || status.st_uid != geteuid())
			continue;
		file.bytes = (uint64_t)status.st_blocks * 512;
		file.changed_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_S;
		if (array_reserve(ret_files, &room, *ret_count + 1, sizeof(file)) < 0)
			return -ENOMEM;
		(*ret_files)[(*ret_count)++] = file;
	}
	if (*ret_count)
		qsort(*ret_files, *ret_count, sizeof(**ret_files), by_stamp);
	return 0;
}

static void remove_file(const struct rotation *rotation, const char *stamp)
{
	cleanup_close int directory = open(rotation->directory, O_DIRECTORY | O_PATH | O_CLOEXEC);
	char name[NAME_ROOM];

	name_of(rotation, stamp, name);
	if (directory >= 0)
		(void)!unlinkat(directory, name, 0);
}

/* Bytes that one file may have; 0: no limit. */
static uint64_t file_bytes(const struct rotation *rotation)
{
	return rotation->options.max_bytes / FILES_OF_BYTES;
}

/* So that what there is and another file have room. */
static void tidy(struct rotation *rotation)
{
	const struct rotation_options *options = &rotation->options;
	uint64_t now_ns = clock_realtime_ns(), bytes = 0;
	cleanup_free struct rotated_file *files = NULL;
	size_t count = 0, first = 0;

	if (list(rotation, &files, &count) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++)
		bytes += files[i].bytes;
	while (first < count) {
		const struct rotated_file *file = &files[first];
		bool is_old = options->keep_ns && file->changed_ns + options->keep_ns < now_ns;
		bool is_much =
			options->max_bytes && bytes + file_bytes(rotation) > options->max_bytes;

		if (!is_old && !is_much && !rotation->is_full)
			break;
		rotation->is_full = false; /* for the space of one */
		remove_file(rotation, file->stamp);
		bytes -= file->bytes;
		first++;
	}
	rotation->bytes = bytes;
	rotation->files = count - first;
}

int rotation_open(struct rotation **ret_rotation, const struct rotation_options *options,
		  struct error *error)
{
	struct rotation *rotation = calloc(1, sizeof(*rotation));
	struct stat status;
	int result;

	if (!rotation)
		return error_set(error, ENOMEM, "out of memory");
	rotation->options = *options;
	result = split_path(rotation, options->path, error);
	if (result >= 0 && (stat(rotation->directory, &status) < 0 || !S_ISDIR(status.st_mode)))
		result = error_set(error, ENOTDIR, "%s is no directory that can be reached",
				   rotation->directory);
	if (result >= 0 && access(rotation->directory, W_OK) < 0)
		result = error_set(error, errno, "cannot write to %s: %s", rotation->directory,
				   strerror(errno));
	if (result < 0) {
		rotation_close(rotation);
		return result;
	}
	tidy(rotation);
	*ret_rotation = rotation;
	return 0;
}

void rotation_close(struct rotation *rotation)
{
	if (!rotation)
		return;
	recorder_close(rotation->recorder);
	free(rotation->kept);
	free(rotation);
}

/* Two files may not begin in one second: the later one is named by the next. */
static void next_path(struct rotation *rotation)
{
	time_t now = time(NULL);
	char name[NAME_ROOM];
	struct tm tm;

	do {
		gmtime_r(&now, &tm);
		strftime(rotation->last_stamp, sizeof(rotation->last_stamp), STAMP_FORMAT, &tm);
		name_of(rotation, rotation->last_stamp, name);
		snprintf(rotation->path, sizeof(rotation->path), "%s%s%s", rotation->directory,
			 strcmp(rotation->directory, "/") ? "/" : "", name);
		now++;
	} while (access(rotation->path, F_OK) == 0);
}

static int begin_file(struct rotation *rotation, struct error *error)
{
	int result;

	/* the one before is complete now, and counts */
	*rotation->last_stamp = '\0';
	tidy(rotation);
	next_path(rotation);
	rotation->begun_ns = clock_monotonic_ns();
	result = rotation->recorder
			 ? recorder_continue(rotation->recorder, rotation->path, error)
			 : recorder_open(&rotation->recorder, rotation->path, false, error);
	rotation->failed = result < 0;
	return result;
}

static bool is_due(const struct rotation *rotation)
{
	uint64_t age_ns = clock_monotonic_ns() - rotation->begun_ns;
	uint64_t limit = file_bytes(rotation);

	return (rotation->options.file_ns && age_ns >= rotation->options.file_ns) ||
	       (limit && recorder_bytes(rotation->recorder) >= limit);
}

static int keep_record(struct rotation *rotation, const struct wire_header *record,
		       struct error *error)
{
	if (array_reserve(&rotation->kept, &rotation->room, rotation->used + record->size, 1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	memcpy(rotation->kept + rotation->used, record, record->size);
	rotation->used += record->size;
	return 0;
}

/* The next file begins with the records that the last one ended with. */
static int rotate(struct rotation *rotation, struct error *error)
{
	int result = begin_file(rotation, error);

	for (size_t at = 0; result >= 0 && at < rotation->used;) {
		const struct wire_header *record =
			(const struct wire_header *)(rotation->kept + at);

		result = recorder_record(rotation->recorder, record, error);
		at += record->size;
	}
	rotation->used = 0;
	rotation->ends = false;
	return result;
}

int rotation_record(struct rotation *rotation, const struct wire_header *record,
		    struct error *error)
{
	bool is_last = record->kind == WIRE_INTERVAL;
	int result = 0;

	if (!rotation->recorder)
		result = begin_file(rotation, error);
	if (result >= 0 && rotation->ends)
		result = keep_record(rotation, record, error);
	if (result >= 0)
		result = rotation->failed ? recorder_note(rotation->recorder, record, error)
					  : recorder_record(rotation->recorder, record, error);
	if (result < 0)
		rotation->failed = true;
	rotation->is_full = rotation->is_full || result == -ENOSPC;
	if (is_last && rotation->ends) {
		int rotated = rotate(rotation, error);

		result = result < 0 ? result : rotated;
	}
	if (is_last)
		rotation->ends = rotation->failed || is_due(rotation);
	return result;
}

const char *rotation_path(const struct rotation *rotation)
{
	return rotation->recorder ? rotation->path : NULL;
}

uint64_t rotation_bytes(const struct rotation *rotation)
{
	return rotation->bytes + (rotation->recorder ? recorder_bytes(rotation->recorder) : 0);
}

uint64_t rotation_files(const struct rotation *rotation)
{
	return rotation->files + (rotation->recorder != NULL);
}
