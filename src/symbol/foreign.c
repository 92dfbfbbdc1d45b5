// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* O_PATH, statx */
#include "symbol/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kernel_text.h"
#include "base/proc_stat.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x00001000U /* include/uapi/linux/stat.h; older kernels ignore both */
#endif
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

/* include/linux/exportfs.h: FILEID_INO32_GEN, FILEID_BTRFS_WITHOUT_PARENT */
#define HANDLE_INO32 1
#define HANDLE_BTRFS 0x4d

#define OPEN_FLAGS   (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* The mount that memfd_create(2) and shared memory have inside the kernel, which no list shows. */
static bool is_in_memory(unsigned int major, unsigned int minor)
{
	cleanup_close int fd = file_in_memory("device");
	struct stat status;

	return fd >= 0 && !fstat(fd, &status) && major(status.st_dev) == major &&
	       minor(status.st_dev) == minor;
}

/*
 * Whether the kernel itself has the file, in memory or on a disk: it makes a handle of a file
 * (name_to_handle_at(2)) without a word to who serves it, and those of FUSE and overlayfs are of
 * other types.
 */
static bool is_of_the_kernel(int fd)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} file = {.handle.handle_bytes = MAX_HANDLE_SZ};
	int mount;

	return !name_to_handle_at(fd, "", &file.handle, &mount, AT_EMPTY_PATH) &&
	       (file.handle.handle_type == HANDLE_INO32 || file.handle.handle_type == HANDLE_BTRFS);
}

struct mount {
	uint64_t device; /* of the filesystem: major << 32 | minor */
	bool is_served_by_others;
};

static uint64_t device_number(unsigned int major, unsigned int minor)
{
	return (uint64_t)major << 32 | minor;
}

/* Its number in lists of mounts; -1: this kernel does not say it (Linux 5.8 on does). */
static int64_t mount_number(int fd)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &status) < 0 ||
	    !(status.stx_mask & STATX_MNT_ID))
		return -1;
	return (int64_t)status.stx_mnt_id;
}

/* Whether who may mount where that process runs has our rights too. 0: our own mounts. */
static bool are_mounts_of_our_users(uint32_t pid)
{
	struct stat ours, theirs;
	char path[64];

	if (!pid)
		return true;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/mnt", pid);
	cleanup_close int mounts = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_close int users = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);

	return users >= 0 && !fstat(users, &theirs) && !stat("/proc/self/ns/user", &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* `end`: of the line, from " - " on. */
static bool is_served_by_others(const char *end)
{
	const char *user = end ? strstr(end, "user_id=") : NULL;
	unsigned int owner;

	return end && !strncmp(end, " - fuse", 7) &&
	       (!user || sscanf(user, "user_id=%u", &owner) != 1 || (owner && owner != geteuid()));
}

/*
 * The mount of that number, or, with -1, of that device, among those that a process sees (0: our
 * own). A layer of an overlayfs that is another filesystem may be one that others serve, where they
 * may mount.
 */
static bool find_mount(int64_t number, uint64_t device, uint32_t pid, struct mount *ret_mount)
{
	cleanup_free char *line = NULL;
	char path[64] = "/proc/self/mountinfo";
	size_t room = 0;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/mountinfo",
			 proc_living_thread(pid));
	cleanup_file FILE *file = fopen(path, "re");

	/* proc_pid_mountinfo(5): 36 35 98:0 /root /point options … - type source options */
	while (file && getline(&line, &room, file) > 0) {
		const char *end = strstr(line, " - ");
		unsigned int its_major, its_minor;
		int64_t its_number;

		if (sscanf(line, "%" SCNd64 " %*u %u:%u", &its_number, &its_major, &its_minor) != 3)
			continue;
		ret_mount->device = device_number(its_major, its_minor);
		if (number < 0 ? ret_mount->device != device : its_number != number)
			continue;
		ret_mount->is_served_by_others =
			is_served_by_others(end) ||
			(end && !strncmp(end, " - overlay ", 11) && ret_mount->device != device &&
			 !are_mounts_of_our_users(pid));
		return true;
	}
	return false;
}

/*
 * By the mounts of the process, or by ours. Subvolumes of btrfs and layers of overlayfs have
 * devices that no list shows; the mount of a layer itself may be in none. False: no mount is its,
 * as after a lazy umount(8).
 */
static bool find_mount_of(int fd, uint64_t device, uint32_t pid, struct mount *ret_mount)
{
	int64_t number = mount_number(fd);

	return (number >= 0 && (find_mount(number, device, pid, ret_mount) ||
				(pid && find_mount(number, device, 0, ret_mount)))) ||
	       find_mount(-1, device, pid, ret_mount) ||
	       (pid && find_mount(-1, device, 0, ret_mount));
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

/*
 * Whether the file lies on a filesystem that another user's program serves (FUSE): any process that
 * opens a file there waits for that program, and cannot be killed meanwhile. Asked without asking
 * it, by the attributes that the kernel has. Mounts of a user namespace are no danger: they refuse
 * us.
 */
static bool may_never_answer(int fd, const struct statx *status, uint32_t pid)
{
	unsigned int major = status->stx_dev_major, minor = status->stx_dev_minor;
	uint64_t id = unique_mount(status);
	const struct known_mount *known = known_mount(id);
	struct mount mount;

	if (known)
		return known->may_never_answer;
	if (find_mount_of(fd, device_number(major, minor), pid, &mount))
		return keep_mount(id, mount.is_served_by_others);
	if (is_in_memory(major, minor) || (!major && is_of_the_kernel(fd)))
		return keep_mount(id, false);
	/* what has no number of a disk, and is in no list, may be anything; others may see it */
	return !major;
}

bool foreign_is_on(int fd, uint32_t pid, uint64_t device)
{
	struct stat status;
	struct mount mount;

	return !fstat(fd, &status) &&
	       find_mount_of(fd, device_number(major(status.st_dev), minor(status.st_dev)), pid,
			     &mount) &&
	       mount.device == device;
}

int foreign_reopen(int path_fd, uint32_t pid)
{
	cleanup_close int fd = path_fd;
	struct statx status;
	char path[32];
	int opened;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID_UNIQUE,
		  &status) < 0)
		/* as FUSE says of itself to all but its user */
		return errno == EACCES ? -EREMOTE : -errno;
	if (!S_ISREG(status.stx_mode))
		return -EACCES;
	if (may_never_answer(fd, &status, pid))
		return -EREMOTE;
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
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", proc_living_thread(pid));
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
