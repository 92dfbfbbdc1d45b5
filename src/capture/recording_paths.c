// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/recording_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "capture/rotated_files.h"

static int add(struct recording_paths *paths, const char *path, struct error *error)
{
	if (array_reserve(&paths->items, &paths->room, paths->count + 1, sizeof(*paths->items)) <
		    0 ||
	    !(paths->items[paths->count] = strdup(path)))
		return error_set(error, ENOMEM, "out of memory");
	paths->count++;
	return 0;
}

/* 0, also where there are none; or a negative errno. */
static int add_rotated(struct recording_paths *paths, const struct rotated_name *name,
		       struct error *error)
{
	cleanup_free struct rotated_file *files = NULL;
	char path[ROTATED_PATH_BYTES];
	size_t count;
	int result = rotated_files_list(name, &files, &count);

	if (result < 0)
		return error_set(error, -result, "cannot read %s: %s", name->directory,
				 strerror(-result));
	for (size_t i = 0; result >= 0 && i < count; i++) {
		rotated_path(name, files[i].stamp, path);
		result = add(paths, path, error);
	}
	return result;
}

static bool is_same(const struct rotated_name *a, const struct rotated_name *b)
{
	return !strcmp(a->prefix, b->prefix) && !strcmp(a->suffix, b->suffix);
}

static int refuse_several(const char *path, const struct rotated_name *a,
			  const struct rotated_name *b, struct error *error)
{
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";

	return error_set(error, EINVAL,
			 "%s has recordings of several names: give one, as %s%s%.*s%s or "
			 "%s%s%.*s%s",
			 path, path, slash, (int)strlen(a->prefix) - 1, a->prefix, a->suffix, path,
			 slash, (int)strlen(b->prefix) - 1, b->prefix, b->suffix);
}

static bool is_store(const struct rotated_name *name)
{
	char file[ROTATED_NAME_BYTES];

	snprintf(file, sizeof(file), "%.*s%s", (int)strlen(name->prefix) - 1, name->prefix,
		 name->suffix);
	return !strcmp(file, ROTATED_STORE);
}

static int add_directory(struct recording_paths *paths, const char *path, struct error *error)
{
	cleanup_dir DIR *directory = opendir(path);
	struct rotated_name name, found, other;
	bool has_name = false, has_other = false;
	struct dirent *entry;

	if (!directory)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	while ((entry = readdir(directory))) {
		if (!rotated_name_of(&found, path, entry->d_name))
			continue;
		if (!has_name) {
			name = found;
		} else if (!is_same(&name, &found)) {
			other = is_store(&found) ? name : found;
			name = is_store(&found) ? found : name;
			has_other = true;
		}
		has_name = true;
	}
	if (has_other && !is_store(&name))
		return refuse_several(path, &name, &other, error);
	if (!has_name)
		return error_set(error, EINVAL,
				 "%s is a directory without recordings of dwell record --rotate or "
				 "dwell serve --store: give a file",
				 path);
	return add_rotated(paths, &name, error);
}

int recording_paths_add(struct recording_paths *paths, const char *path, struct error *error)
{
	size_t before = paths->count;
	struct rotated_name name;
	struct stat status;
	int result = 0;

	if (!strcmp(path, "-"))
		return error_set(error, EINVAL,
				 "a recording is read from a file, not from a pipe: name it, or "
				 "./- for a file of that name");
	if (stat(path, &status) >= 0 && !S_ISDIR(status.st_mode)) {
		paths->are_found = false;
		return add(paths, path, error);
	}
	paths->are_found |= !before;
	if (stat(path, &status) >= 0)
		return add_directory(paths, path, error);
	if (errno == ENOENT && rotated_name_read(&name, path) >= 0)
		result = add_rotated(paths, &name, NULL);
	if (result == -ENOMEM)
		return error_set(error, ENOMEM, "out of memory");
	/* what is neither is refused where it is opened */
	return paths->count > before ? 0 : add(paths, path, error);
}

bool recording_paths_are(const char *path)
{
	struct recording_paths paths = {.are_found = false};
	struct stat status;
	bool are;

	if (stat(path, &status) >= 0 && !S_ISDIR(status.st_mode))
		return false;
	/* what cannot be read, or has several, is none for who has other things to look for */
	are = recording_paths_add(&paths, path, NULL) >= 0 &&
	      (paths.count > 1 || strcmp(paths.items[0], path) != 0);
	recording_paths_release(&paths);
	return are;
}

void recording_paths_release(struct recording_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->items[i]);
	free(paths->items);
	*paths = (struct recording_paths){.are_found = false};
}
