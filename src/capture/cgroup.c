// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* open_by_handle_at */
#include "capture/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* include/linux/exportfs.h: the handle is the 64-bit kernfs id */
#define FILEID_KERNFS 0xfe

/* Where cgroup v2 is mounted. 0 or -ENOENT. */
static int find_mount(char into[PATH_MAX])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	int result = -ENOENT;

	while (mounts && result < 0 && (entry = getmntent(mounts))) {
		if (!strcmp(entry->mnt_type, "cgroup2")) {
			snprintf(into, PATH_MAX, "%s", entry->mnt_dir);
			result = 0;
		}
	}
	if (mounts)
		endmntent(mounts);
	return result;
}

bool cgroup_mount_point(char *into, size_t room)
{
	char mount[PATH_MAX];

	if (find_mount(mount) < 0)
		return false;
	snprintf(into, room, "%s", mount);
	return true;
}

static uint32_t level_below(const char *path)
{
	uint32_t level = 0;

	for (; *path; path++)
		level += *path == '/' && path[1] && path[1] != '/';
	return level;
}

int cgroup_locate(const char *path, struct cgroup_location *ret_location, struct error *error)
{
	char mount[PATH_MAX], whole[2 * PATH_MAX], real[PATH_MAX];
	struct statfs fs;
	struct stat st;

	if (find_mount(mount) < 0)
		return error_set(error, ENOENT,
				 "cgroup v2 is not mounted, so --cgroup cannot be used: "
				 "mount -t cgroup2 none DIRECTORY");
	if (!realpath(path, real) || strncmp(real, mount, strlen(mount))) {
		snprintf(whole, sizeof(whole), "%s/%s", mount, path);
		if (!realpath(whole, real))
			return error_set(error, ENOENT,
					 "no cgroup '%s': cgroup v2 is mounted at %s", path, mount);
	}
	if (statfs(real, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC || stat(real, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return error_set(error, ENOTDIR,
				 "'%s' is not a cgroup v2 directory: cgroup v2 is mounted at %s",
				 path, mount);
	ret_location->id = st.st_ino;
	ret_location->level = level_below(real + strlen(mount));
	return 0;
}

struct entry {
	uint64_t id; /* 0 = free */
	char *path;  /* NULL = not known */
};

struct cgroup_paths {
	char mount[PATH_MAX];
	int mount_fd;
	struct entry *entries; /* open addressing */
	size_t count, room;
};

struct cgroup_paths *cgroup_paths_new(void)
{
	struct cgroup_paths *paths = calloc(1, sizeof(*paths));

	if (!paths)
		return NULL;
	paths->mount_fd = -1;
	if (find_mount(paths->mount) == 0)
		paths->mount_fd = open(paths->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return paths;
}

void cgroup_paths_free(struct cgroup_paths *paths)
{
	if (!paths)
		return;
	for (size_t i = 0; i < paths->room; i++)
		free(paths->entries[i].path);
	free(paths->entries);
	if (paths->mount_fd >= 0)
		close(paths->mount_fd);
	free(paths);
}

/* The directory with that id, opened by its handle: no walk over the tree. */
static char *ask_kernel(const struct cgroup_paths *paths, uint64_t id)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} request = {.handle = {.handle_bytes = sizeof(uint64_t), .handle_type = FILEID_KERNFS}};
	char link[64], path[PATH_MAX];
	size_t prefix = strlen(paths->mount);
	ssize_t length;

	if (paths->mount_fd < 0)
		return NULL;
	memcpy(request.handle.f_handle, &id, sizeof(id));
	cleanup_close int fd =
		open_by_handle_at(paths->mount_fd, &request.handle, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < (ssize_t)prefix || strncmp(path, paths->mount, prefix))
		return NULL;
	path[length] = '\0';
	return strdup(path[prefix] ? path + prefix : "/");
}

static struct entry *slot(const struct cgroup_paths *paths, uint64_t id)
{
	size_t mask = paths->room - 1;
	size_t at = (size_t)(id * 0x9e3779b97f4a7c15ULL >> 32) & mask;

	while (paths->entries[at].id && paths->entries[at].id != id)
		at = (at + 1) & mask;
	return &paths->entries[at];
}

static int grow(struct cgroup_paths *paths)
{
	struct cgroup_paths bigger = *paths;

	bigger.room = paths->room ? paths->room * 2 : 64;
	bigger.entries = calloc(bigger.room, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < paths->room; i++)
		if (paths->entries[i].id)
			*slot(&bigger, paths->entries[i].id) = paths->entries[i];
	free(paths->entries);
	paths->entries = bigger.entries;
	paths->room = bigger.room;
	return 0;
}

bool cgroup_paths_learn(struct cgroup_paths *paths, uint64_t id, const char **ret_path)
{
	struct entry *entry;
	bool is_new;

	*ret_path = NULL;
	if (!id || ((paths->count + 1) * 2 > paths->room && grow(paths) < 0))
		return false;
	entry = slot(paths, id);
	is_new = !entry->id;
	if (is_new) {
		*entry = (struct entry){.id = id, .path = ask_kernel(paths, id)};
		paths->count++;
	}
	*ret_path = entry->path;
	return is_new;
}
