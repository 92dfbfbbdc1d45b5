// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* open_by_handle_at */
#include "capture/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/array.h"
#include "base/identities.h"
#include "base/mount.h"

/* include/linux/exportfs.h: the handle is the 64-bit kernfs id */
#define FILEID_KERNFS 0xfe

/* fs/kernfs/dir.c: kernfs_create_root() gives the first number to the root */
#define ROOT_ID 1

/* Threads of a cgroup that are asked for its path, at most: they may be gone, or hidden. */
#define TRIES 8

bool cgroup_mount_point(char *into, size_t room)
{
	return mount_find("cgroup2", NULL, into, room);
}

bool cgroup_are_several(void)
{
	char mount[PATH_MAX];
	cleanup_dir DIR *root = cgroup_mount_point(mount, sizeof(mount)) ? opendir(mount) : NULL;
	struct dirent *entry;

	while (root && (entry = readdir(root)))
		if (entry->d_type == DT_DIR && *entry->d_name != '.')
			return true;
	return false;
}

static uint32_t level_below(const char *path)
{
	uint32_t level = 0;

	for (; *path; path++)
		level += *path == '/' && path[1] && path[1] != '/';
	return level;
}

static bool is_machines(const char *mount)
{
	struct stat st;

	return !stat(mount, &st) && st.st_ino == ROOT_ID;
}

bool cgroup_paths_are_whole(void)
{
	char mount[PATH_MAX];

	return cgroup_mount_point(mount, sizeof(mount)) && is_machines(mount);
}

int cgroup_locate(const char *path, struct cgroup_location *ret_location, struct error *error)
{
	char mount[PATH_MAX], whole[2 * PATH_MAX], real[PATH_MAX];
	struct statfs fs;
	struct stat st;

	if (!cgroup_mount_point(mount, sizeof(mount)))
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
	/* in a cgroup namespace, or of a bind mount, the root is another one */
	ret_location->is_below_root = is_machines(mount);
	return 0;
}

bool cgroup_of_thread(uint32_t tid, char *into, size_t room)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", tid);
	cleanup_file FILE *file = fopen(path, "re");

	while (file && fgets(into, (int)room, file)) {
		if (strncmp(into, "0::", 3) != 0)
			continue;
		into[strcspn(into, "\n")] = '\0';
		memmove(into, into + 3, strlen(into + 3) + 1);
		return true;
	}
	return false;
}

struct cgroup_paths {
	char mount[PATH_MAX];
	int mount_fd;
	struct identities ids; /* (0, id) */
	struct known {
		char *path; /* NULL: not known */
		unsigned int tries;
	} * known; /* by number */
	size_t room;
};

struct cgroup_paths *cgroup_paths_new(void)
{
	struct cgroup_paths *paths = calloc(1, sizeof(*paths));

	if (!paths)
		return NULL;
	paths->mount_fd = -1;
	if (cgroup_mount_point(paths->mount, sizeof(paths->mount)))
		paths->mount_fd = open(paths->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return paths;
}

size_t cgroup_paths_count(const struct cgroup_paths *paths)
{
	return paths->ids.count;
}

void cgroup_paths_forget(struct cgroup_paths *paths)
{
	for (size_t i = 0; i < paths->ids.count; i++)
		free(paths->known[i].path);
	identities_clear(&paths->ids);
}

void cgroup_paths_free(struct cgroup_paths *paths)
{
	if (!paths)
		return;
	cgroup_paths_forget(paths);
	free(paths->known);
	identities_release(&paths->ids);
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

/*
 * Of a thread in it, or in one below it: for those who may not open by handle, which needs
 * CAP_DAC_READ_SEARCH, and for kernels without CONFIG_FHANDLE.
 */
static char *ask_thread(uint64_t id, uint32_t tid)
{
	struct cgroup_location location;
	char path[PATH_MAX], *end;

	if (!cgroup_of_thread(tid, path, sizeof(path)))
		return NULL;
	while (cgroup_locate(path, &location, NULL) < 0 || location.id != id) {
		end = strrchr(path, '/');
		if (!end || end == path)
			return NULL;
		*end = '\0';
	}
	return strdup(path);
}

/* NULL: without a mount, without memory, or 0 is none. */
static struct known *find_or_add(struct cgroup_paths *paths, uint64_t id)
{
	size_t known = paths->ids.count, index;

	if (!id || paths->mount_fd < 0 ||
	    array_reserve(&paths->known, &paths->room, known + 1, sizeof(*paths->known)) < 0)
		return NULL;
	index = identities_add(&paths->ids, 0, id);
	if (index == IDENTITY_NONE)
		return NULL;
	if (index == known)
		paths->known[index] = (struct known){0};
	return &paths->known[index];
}

void cgroup_paths_note(struct cgroup_paths *paths, uint64_t id, const char *path)
{
	struct known *known = find_or_add(paths, id);

	if (known && !known->path)
		known->path = strdup(path);
}

bool cgroup_paths_learn(struct cgroup_paths *paths, uint64_t id, uint32_t tid,
			const char **ret_path)
{
	struct known *known = find_or_add(paths, id);

	*ret_path = known ? known->path : NULL;
	if (!known || known->path || known->tries >= TRIES)
		return false;
	if (!known->tries++)
		known->path = ask_kernel(paths, id);
	if (!known->path)
		known->path = ask_thread(id, tid);
	*ret_path = known->path;
	return known->path;
}
