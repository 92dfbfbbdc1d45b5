// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH, statx */
#include "symbol/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kernel_text.h"

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U /* include/uapi/linux/stat.h; older kernels ignore it */
#endif

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* The mount that memfd_create(2) and shared memory have inside the kernel, which no list shows. */
static bool is_in_memory(unsigned int major, unsigned int minor)
{
	cleanup_close int fd = file_in_memory("device");
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) && major(status.st_dev) == major &&
	       minor(status.st_dev) == minor;
}

/*
 * Whether the filesystem of that device is one that another user's program serves (FUSE), by the
 * mounts that a process sees: any process that opens a file there waits for that program, and
 * cannot be killed meanwhile. Mounts of a user namespace are no danger: they refuse us. 0: it is
 * not; 1: it is; -ENOENT: no mount has that device, as after a lazy umount(8).
 */
static int is_served_by_others(unsigned int major, unsigned int minor, uint32_t pid)
{
	cleanup_free char *line = NULL;
	char path[64] = "/proc/self/mountinfo";
	size_t room = 0;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mountinfo", pid);
	cleanup_file FILE *file = fopen(path, "re");

	/* proc_pid_mountinfo(5): 36 35 98:0 /root /point options … - type source options */
	while (file && getline(&line, &room, file) > 0) {
		const char *end = strstr(line, " - "), *user = end ? strstr(end, "user_id=") : NULL;
		unsigned int its_major, its_minor, owner;

		if (sscanf(line, "%*u %*u %u:%u", &its_major, &its_minor) != 2 ||
		    its_major != major || its_minor != minor)
			continue;
		return end && !strncmp(end, " - fuse", 7) &&
		       (!user || sscanf(user, "user_id=%u", &owner) != 1 ||
			(owner && owner != geteuid()));
	}
	return -ENOENT;
}

/*
 * Mounts by numbers that no other mount will have (Linux 6.8 on). Whose filesystem it is stays the
 * same as long as there is one, and most files are of few: reading the lists again for each file
 * made names a tenth slower.
 */
static _Thread_local struct known_mount {
	uint64_t id; /* 0: none */
	bool may_never_answer;
} known_mounts[8];
static _Thread_local unsigned int known_count;

static uint64_t unique_mount(const struct statx *status)
{
	return status->stx_mask & STATX_MNT_ID_UNIQUE ? status->stx_mnt_id : 0;
}

static const struct known_mount *known_mount(uint64_t id)
{
	for (size_t i = 0; id && i < ARRAY_SIZE(known_mounts); i++)
		if (known_mounts[i].id == id)
			return &known_mounts[i];
	return NULL;
}

static bool keep_mount(uint64_t id, bool may_never_answer)
{
	if (id)
		known_mounts[known_count++ % ARRAY_SIZE(known_mounts)] =
			(struct known_mount){id, may_never_answer};
	return may_never_answer;
}

/* Asked without asking it, by the attributes that the kernel has. */
static bool may_never_answer(const struct statx *status, uint32_t pid)
{
	unsigned int major = status->stx_dev_major, minor = status->stx_dev_minor;
	uint64_t mount = unique_mount(status);
	const struct known_mount *known = known_mount(mount);
	int served;

	if (known)
		return known->may_never_answer;
	served = is_served_by_others(major, minor, pid);
	if (served == -ENOENT)
		served = is_served_by_others(major, minor, 0);
	if (served == -ENOENT && is_in_memory(major, minor))
		served = false;
	if (served != -ENOENT)
		return keep_mount(mount, served);
	/* what has no number of a disk, and is in no list, may be anything; others may see it */
	return !major;
}

int foreign_reopen(int path_fd, uint32_t pid)
{
	cleanup_close int fd = path_fd;
	struct statx status;
	char path[32];
	int opened;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID_UNIQUE,
		  &status) < 0)
		return -errno;
	if (!S_ISREG(status.stx_mode) || may_never_answer(&status, pid))
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, OPEN_FLAGS);
	return opened < 0 ? -errno : opened;
}

int foreign_path(int directory, const char *name, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_NO_MAGICLINKS | resolve};
	long fd = syscall(SYS_openat2, directory, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int foreign_root(uint32_t pid)
{
	char path[32] = "/";
	int fd;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The effective user of a process, also of one that is not dumpable. 0 or -errno. */
static int user_of(uint32_t pid, uid_t *ret_user)
{
	char users[64];

	return kernel_status(pid, "Uid", users, sizeof(users)) &&
			       sscanf(users, "%*u %u", ret_user) == 1
		       ? 0
		       : -ESRCH;
}

static bool is_for_user(const struct stat *status, uint32_t pid)
{
	uid_t user;

	if (!status->st_uid && status->st_mode & S_IROTH)
		return true;
	return pid && !user_of(pid, &user) && user == status->st_uid;
}

int foreign_open_below(uint32_t pid, const char *directory, const char *name, uint64_t resolve,
		       uint64_t name_resolve)
{
	cleanup_close int root = foreign_root(pid);
	cleanup_close int at =
		root < 0 ? root : foreign_path(root, directory, RESOLVE_IN_ROOT | resolve);
	struct stat status;
	int fd;

	if (at < 0)
		return at;
	fd = foreign_path(at, name, RESOLVE_BENEATH | resolve | name_resolve);
	fd = fd < 0 ? fd : foreign_reopen(fd, pid);
	if (fd < 0 || (!fstat(fd, &status) && is_for_user(&status, pid)))
		return fd;
	close(fd);
	return -EACCES;
}
