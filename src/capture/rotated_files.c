// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH, strptime */
#include "capture/rotated_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"

static int check_directory(const char *directory, struct error *error)
{
	struct stat status;

	if (stat(directory, &status) < 0)
		return errno == ENOENT
			       ? error_set(error, ENOENT,
					   "the directory %s does not exist: mkdir it", directory)
			       : error_set(error, errno, "cannot reach %s: %s", directory,
					   strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return error_set(error, ENOTDIR, "%s is not a directory", directory);
	if (access(directory, W_OK) < 0)
		return error_set(error, errno, "cannot write to %s: %s", directory,
				 strerror(errno));
	return 0;
}

static int split(struct rotated_name *ret_name, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (!*name || strlen(name) + ROTATED_STAMP_BYTES > NAME_MAX ||
	    strlen(path) + ROTATED_STAMP_BYTES + 1 >= PATH_MAX)
		return -ENAMETOOLONG;
	*ret_name = (struct rotated_name){.is_read = false};
	if (!dot || dot == name)
		dot = name + strlen(name);
	snprintf(ret_name->directory, sizeof(ret_name->directory), "%.*s",
		 slash ? (int)(slash - path + (slash == path)) : 1, slash ? path : ".");
	snprintf(ret_name->prefix, sizeof(ret_name->prefix), "%.*s.", (int)(dot - name), name);
	snprintf(ret_name->suffix, sizeof(ret_name->suffix), "%s", dot);
	return 0;
}

int rotated_name_split(struct rotated_name *ret_name, const char *path, struct error *error)
{
	if (split(ret_name, path) < 0)
		return error_set(error, ENAMETOOLONG, "%.200s is not a name for files", path);
	return check_directory(ret_name->directory, error);
}

int rotated_name_read(struct rotated_name *ret_name, const char *path)
{
	int result = split(ret_name, path);

	ret_name->is_read = true;
	return result;
}

static void format_stamp(char stamp[ROTATED_STAMP_BYTES], time_t time)
{
	struct tm tm;

	gmtime_r(&time, &tm);
	strftime(stamp, ROTATED_STAMP_BYTES, "%Y%m%dT%H%M%SZ", &tm);
}

static time_t parse_stamp(const char *stamp)
{
	struct tm tm = {0};

	strptime(stamp, "%Y%m%dT%H%M%SZ", &tm);
	return timegm(&tm);
}

/* What is no time, or leaves none for those that follow it, is not from dwell. */
static bool is_stamp(const char *stamp)
{
	char same[ROTATED_STAMP_BYTES];

	if (strcmp(stamp, "9999") >= 0)
		return false;
	format_stamp(same, parse_stamp(stamp));
	return !strcmp(stamp, same);
}

/* Whether it is one of ours, by its name. */
static bool take_stamp(const struct rotated_name *name, const char *file, char *stamp)
{
	size_t prefix = strlen(name->prefix);

	if (strlen(file) != prefix + ROTATED_STAMP_BYTES - 1 + strlen(name->suffix) ||
	    strncmp(file, name->prefix, prefix) != 0 ||
	    strcmp(file + prefix + ROTATED_STAMP_BYTES - 1, name->suffix) != 0)
		return false;
	memcpy(stamp, file + prefix, ROTATED_STAMP_BYTES - 1);
	stamp[ROTATED_STAMP_BYTES - 1] = '\0';
	return is_stamp(stamp);
}

bool rotated_name_of(struct rotated_name *ret_name, const char *directory, const char *file)
{
	char stamp[ROTATED_STAMP_BYTES];

	if (strlen(file) > NAME_MAX || strlen(directory) >= PATH_MAX)
		return false;
	*ret_name = (struct rotated_name){.is_read = true};
	for (const char *dot = file; (dot = strchr(dot, '.')); dot++) {
		if (dot == file || strlen(dot) < ROTATED_STAMP_BYTES)
			continue;
		snprintf(ret_name->directory, sizeof(ret_name->directory), "%s", directory);
		snprintf(ret_name->prefix, sizeof(ret_name->prefix), "%.*s", (int)(dot + 1 - file),
			 file);
		snprintf(ret_name->suffix, sizeof(ret_name->suffix), "%s",
			 dot + ROTATED_STAMP_BYTES);
		if (take_stamp(ret_name, file, stamp))
			return true;
	}
	return false;
}

static void file_name(const struct rotated_name *name, const char *stamp,
		      char into[ROTATED_NAME_BYTES])
{
	snprintf(into, ROTATED_NAME_BYTES, "%s%s%s", name->prefix, stamp, name->suffix);
}

void rotated_path(const struct rotated_name *name, const char *stamp, char path[ROTATED_PATH_BYTES])
{
	char file[ROTATED_NAME_BYTES];

	file_name(name, stamp, file);
	snprintf(path, ROTATED_PATH_BYTES, "%s%s%s", name->directory,
		 strcmp(name->directory, "/") != 0 ? "/" : "", file);
}

static int by_stamp(const void *left, const void *right)
{
	const struct rotated_file *a = left, *b = right;

	return strcmp(a->stamp, b->stamp);
}

/*
 * A file that ended later than now did so before the clock was set back, and not after the one that
 * follows it: else its age would never reach a limit.
 */
static void correct_changes(struct rotated_file *files, size_t count)
{
	uint64_t now_ns = clock_realtime_ns(), next_ns = now_ns;

	for (size_t i = count; i-- > 0;) {
		if (files[i].changed_ns > now_ns)
			files[i].changed_ns = next_ns;
		next_ns = files[i].changed_ns;
	}
}

int rotated_files_list(const struct rotated_name *name, struct rotated_file **ret_files,
		       size_t *ret_count)
{
	cleanup_dir DIR *directory = opendir(name->directory);
	size_t room = 0;
	struct dirent *entry;

	*ret_files = NULL;
	*ret_count = 0;
	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		struct rotated_file file;
		struct stat status;

		if (!take_stamp(name, entry->d_name, file.stamp) ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(status.st_mode) || (!name->is_read && status.st_uid != geteuid()))
			continue;
		file.bytes = (uint64_t)status.st_blocks * 512;
		file.changed_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_S;
		if (array_reserve(ret_files, &room, *ret_count + 1, sizeof(file)) < 0)
			return -ENOMEM;
		(*ret_files)[(*ret_count)++] = file;
	}
	if (*ret_count)
		qsort(*ret_files, *ret_count, sizeof(**ret_files), by_stamp);
	correct_changes(*ret_files, *ret_count);
	return 0;
}

void rotated_file_remove(const struct rotated_name *name, const char *stamp)
{
	cleanup_close int directory = open(name->directory, O_DIRECTORY | O_PATH | O_CLOEXEC);
	char file[ROTATED_NAME_BYTES];

	file_name(name, stamp, file);
	if (directory >= 0)
		(void)!unlinkat(directory, file, 0);
}

void rotated_files_limit(const struct rotated_name *name, size_t count)
{
	cleanup_free struct rotated_file *files = NULL;
	size_t found;

	if (rotated_files_list(name, &files, &found) < 0)
		return;
	for (size_t i = 0; i + count < found; i++)
		rotated_file_remove(name, files[i].stamp);
}

/* 0: there is none. */
static time_t newest_time(const struct rotated_name *name)
{
	cleanup_free struct rotated_file *files = NULL;
	size_t count;

	if (rotated_files_list(name, &files, &count) < 0 || !count)
		return 0;
	return parse_stamp(files[count - 1].stamp);
}

void rotated_path_new(const struct rotated_name *name, char stamp[ROTATED_STAMP_BYTES],
		      char path[ROTATED_PATH_BYTES])
{
	time_t now = time(NULL), newest = newest_time(name);

	if (now <= newest)
		now = newest + 1;
	do {
		format_stamp(stamp, now++);
		rotated_path(name, stamp, path);
	} while (access(path, F_OK) == 0);
}
