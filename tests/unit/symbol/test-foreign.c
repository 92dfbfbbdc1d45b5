// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files of others are opened for reading, and which are not. */
#define _GNU_SOURCE /* O_PATH */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "symbol/foreign.h"

#define OTHER 65534

static char directory[] = "/tmp/dwell-foreign-XXXXXX";

static void make(const char *name, uid_t owner, mode_t mode)
{
	char path[128];
	int fd;

	if (geteuid())
		skip(); /* only root can */
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(fchown(fd, owner, owner), 0);
	close(fd);
}

static int opened(const char *below, const char *name, uint32_t pid, uint64_t resolve)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s%s", directory, below);
	fd = foreign_open_below(pid, path, name, resolve, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int reopened(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	fd = foreign_reopen(fd, 0);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

CASE(files_are_of_root_or_of_the_process)
{
	uint32_t us = (uint32_t)getpid();

	make("for-all", 0, 0644);
	make("root's", 0, 0600);
	make("other's", OTHER, 0644);
	assert_int_equal(opened("", "for-all", 0, 0), 0);
	assert_int_equal(opened("", "for-all", us, 0), 0);
	/* no process is asked for: only what all may read */
	assert_int_equal(opened("", "root's", 0, 0), -EACCES);
	assert_int_equal(opened("", "root's", us, 0), 0);
	assert_int_equal(opened("", "other's", us, 0), -EACCES);
	assert_int_equal(opened("", "none", us, 0), -ENOENT);
	assert_int_equal(opened("", "for-all", 0x7ffffffe, 0), -ENOENT);
}

CASE(no_link_leads_elsewhere)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/inner", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	make("inner/file", 0, 0644);
	snprintf(path, sizeof(path), "%s/inner/out", directory);
	assert_int_equal(symlink("../for-all", path), 0);
	snprintf(path, sizeof(path), "%s/inner/in", directory);
	assert_int_equal(symlink("file", path), 0);
	snprintf(path, sizeof(path), "%s/way", directory);
	assert_int_equal(symlink("inner", path), 0);
	assert_int_equal(opened("/inner", "in", 0, 0), 0);
	assert_int_equal(opened("/inner", "in", 0, RESOLVE_NO_SYMLINKS), -ELOOP);
	assert_int_equal(opened("/inner", "out", 0, 0), -EXDEV);
	assert_int_equal(opened("/inner", "../for-all", 0, 0), -EXDEV);
	assert_int_equal(opened("/way", "file", 0, 0), 0);
	assert_int_equal(opened("/way", "file", 0, RESOLVE_NO_SYMLINKS), -ELOOP);
}

/* They may block, or act when they are opened. */
CASE(only_plain_files_are_opened)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/pipe", directory);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(reopened(path), -EACCES);
	assert_int_equal(opened("", "pipe", (uint32_t)getpid(), 0), -EACCES);
	assert_int_equal(reopened("/dev/null"), -EACCES);
	assert_int_equal(reopened("/tmp"), -EACCES);
	assert_int_equal(reopened("/proc/self/exe"), 0);
}

/* As programs that were loaded into memory, and run from there. */
CASE(files_in_memory_are_opened)
{
	int fd = memfd_create("program", MFD_CLOEXEC);
	char path[64];

	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(reopened(path), 0);
	close(fd);
}

/* Mounts of this process alone, which go with it. */
static void mount_at(const char *name, const char *type, const char *options)
{
	static bool are_own;
	char path[128];

	if (geteuid() || (!are_own && (unshare(CLONE_NEWNS) < 0 ||
				       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)))
		skip(); /* only root can */
	are_own = true;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (mount("none", path, type, 0, options) < 0)
		skip(); /* the kernel has no such filesystem */
}

/* Its files have a device that no list of mounts shows. */
CASE(files_of_an_overlay_of_two_filesystems_are_opened)
{
	char path[128], options[512];
	struct stat file, top;

	snprintf(path, sizeof(path), "%s/memory", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/overlay", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	mount_at("memory", "tmpfs", NULL);
	snprintf(path, sizeof(path), "%s/memory/upper", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/memory/work", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/lower", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	make("lower/file", 0, 0644);
	snprintf(options, sizeof(options),
		 "lowerdir=%s/lower,upperdir=%s/memory/upper,workdir=%s/memory/work", directory,
		 directory, directory);
	mount_at("overlay", "overlay", options);
	snprintf(path, sizeof(path), "%s/overlay", directory);
	assert_int_equal(stat(path, &top), 0);
	snprintf(path, sizeof(path), "%s/overlay/file", directory);
	assert_int_equal(stat(path, &file), 0);
	assert_int_not_equal(file.st_dev, top.st_dev);
	assert_int_equal(reopened(path), 0);
	assert_int_equal(opened("/overlay", "file", (uint32_t)getpid(), 0), 0);
}

static bool is_on(const char *path, dev_t device)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	bool is;

	assert_true(fd >= 0);
	is = foreign_is_on(fd, 0, (uint64_t)major(device) << 32 | minor(device));
	close(fd);
	return is;
}

/* As /proc/PID/maps shows their device: that of the whole. */
CASE(files_of_a_layer_are_on_the_overlay)
{
	char path[128];
	struct stat top;

	snprintf(path, sizeof(path), "%s/overlay", directory);
	assert_int_equal(stat(path, &top), 0);
	snprintf(path, sizeof(path), "%s/overlay/file", directory);
	if (access(path, F_OK) < 0)
		skip(); /* it could not be mounted */
	assert_true(is_on(path, top.st_dev));
	snprintf(path, sizeof(path), "%s/lower/file", directory);
	assert_false(is_on(path, top.st_dev));
}

static int path_of(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void unmount(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
}

/* No list has its mount any more. */
CASE(a_file_whose_filesystem_was_unmounted_lazily_is_opened)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/lazy", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	mount_at("lazy", "tmpfs", NULL);
	make("lazy/file", 0, 0644);
	fd = path_of("lazy/file");
	unmount("lazy");
	fd = foreign_reopen(fd, 0);
	assert_true(fd >= 0);
	close(fd);
}

/* None answers: who opened a file here would wait for ever. Its root is a plain file. */
static void refuse_served(const char *more)
{
	int server = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;
	char options[128];

	make("served", 0, 0644);
	if (server < 0)
		skip(); /* the kernel has no FUSE */
	snprintf(options, sizeof(options), "fd=%d,rootmode=100644,user_id=%d,group_id=%d%s", server,
		 OTHER, OTHER, more);
	mount_at("served", "fuse", options);
	assert_int_equal(foreign_reopen(path_of("served"), 0), -EREMOTE);
	fd = path_of("served");
	unmount("served");
	assert_int_equal(foreign_reopen(fd, 0), -EREMOTE);
	close(server);
}

CASE(a_file_that_another_program_serves_is_not_opened)
{
	refuse_served(",allow_other");
}

CASE(nor_one_that_it_serves_to_its_user_alone)
{
	refuse_served("");
}

static int prepare(void **state)
{
	(void)state;
	return mkdtemp(directory) && !chmod(directory, 0755) ? 0 : -1;
}

static int clean(void **state)
{
	static const char *const names[] = {"inner/file", "inner/out",	"inner/in", "inner",
					    "way",	  "for-all",	"root's",   "other's",
					    "pipe",	  "lower/file", "lower",    "memory",
					    "overlay",	  "lazy",	"served",   ""};
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/overlay", directory);
	umount2(path, MNT_DETACH);
	snprintf(path, sizeof(path), "%s/memory", directory);
	umount2(path, MNT_DETACH);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		remove(path);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(files_are_of_root_or_of_the_process),
		cmocka_unit_test(no_link_leads_elsewhere),
		cmocka_unit_test(only_plain_files_are_opened),
		cmocka_unit_test(files_in_memory_are_opened),
		cmocka_unit_test(files_of_an_overlay_of_two_filesystems_are_opened),
		cmocka_unit_test(files_of_a_layer_are_on_the_overlay),
		cmocka_unit_test(a_file_whose_filesystem_was_unmounted_lazily_is_opened),
		cmocka_unit_test(a_file_that_another_program_serves_is_not_opened),
		cmocka_unit_test(nor_one_that_it_serves_to_its_user_alone),
	};

	return cmocka_run_group_tests(cases, prepare, clean);
}
