// SPDX-License-Identifier: GPL-2.0-or-later
/* Directories are removed, and nothing outside of them is, whatever is put into them meanwhile. */
#define _GNU_SOURCE /* renameat2 */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree.h"

#define FILES 50

static char parent_path[] = "/tmp/dwell-test-tree.XXXXXX";
static int parent;

static int open_directory(int above, const char *name)
{
	int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void make_files(int directory)
{
	char name[32];

	for (int i = 0; i < FILES; i++) {
		int fd;

		snprintf(name, sizeof(name), "file-%d", i);
		fd = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
}

/* A directory in `above` with files. */
static int make_directory(int above, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(above, name, 0700), 0);
	fd = open_directory(above, name);
	make_files(fd);
	return fd;
}

static int count_files(int directory)
{
	int fd = open_directory(directory, "."), count = 0;
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += *entry->d_name != '.';
	closedir(dir);
	return count;
}

static void remove_tree(const char *name)
{
	int directory = tree_open(parent, name);

	assert_true(directory >= 0);
	assert_int_equal(tree_remove(parent, name, directory), 0);
	close(directory);
	assert_int_equal(tree_open(parent, name), -ENOENT);
}

CASE(trees_are_removed)
{
	int top = make_directory(parent, "top"), inner = make_directory(top, "inner");

	close(make_directory(inner, "innermost"));
	close(inner);
	close(top);
	remove_tree("top");
}

CASE(only_directories_right_below_are_opened)
{
	assert_int_equal(symlinkat("/tmp", parent, "link"), 0);
	assert_true(tree_open(parent, "link") == -ELOOP || tree_open(parent, "link") == -ENOTDIR);
	assert_true(tree_open(parent, "..") < 0);
	assert_true(tree_open(parent, "/tmp") < 0);
	assert_int_equal(mkfifoat(parent, "fifo", 0600), 0);
	assert_int_equal(tree_open(parent, "fifo"), -ENOTDIR);
	assert_int_equal(unlinkat(parent, "link", 0), 0);
	assert_int_equal(unlinkat(parent, "fifo", 0), 0);
}

CASE(mount_points_are_not_entered)
{
	int root = open_directory(AT_FDCWD, "/");

	assert_int_equal(tree_open(root, "proc"), -EXDEV);
	close(root);
}

CASE(links_are_removed_not_followed)
{
	int victim = make_directory(parent, "victim"), top = make_directory(parent, "top");

	assert_int_equal(symlinkat("../victim", top, "to-directory"), 0);
	assert_int_equal(symlinkat("../victim/file-1", top, "to-file"), 0);
	close(top);
	remove_tree("top");
	assert_int_equal(count_files(victim), FILES);
	close(victim);
	remove_tree("victim");
}

CASE(what_lies_too_deep_is_kept)
{
	int top = make_directory(parent, "top"), at = dup(top);

	for (int i = 0; i < TREE_DEPTH + 5; i++) {
		int below = make_directory(at, "d");

		close(at);
		at = below;
	}
	close(at);
	assert_int_equal(tree_remove(parent, "top", top), -ELOOP);
	/* but all files above it are gone */
	assert_int_equal(count_files(top), 1);
	close(top);
	/* each time as much */
	top = open_directory(parent, "top");
	for (int i = 0; i < TREE_DEPTH - 1; i++) {
		int below = open_directory(top, "d");

		close(top);
		top = below;
	}
	at = open_directory(top, "d");
	assert_int_equal(tree_remove(top, "d", at), 0);
	close(at);
	close(top);
	remove_tree("top");
}

static bool over;

/* Of top/inner and a link to the victim, in turn. */
static void *exchange(void *directory)
{
	int top = *(int *)directory;

	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		if (renameat2(top, "inner", top, "link", RENAME_EXCHANGE) < 0)
			break;
	return NULL;
}

CASE(nothing_outside_is_removed_while_directories_are_exchanged)
{
	int victim = make_directory(parent, "victim");

	for (int round = 0; round < 100; round++) {
		int top = make_directory(parent, "top"), inner = make_directory(top, "inner");
		pthread_t thread;

		close(inner);
		assert_int_equal(symlinkat("../victim", top, "link"), 0);
		over = false;
		assert_int_equal(pthread_create(&thread, NULL, exchange, &top), 0);
		for (int attempt = 0; attempt < 100; attempt++)
			if (!tree_remove(parent, "top", top))
				break;
		__atomic_store_n(&over, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		assert_int_equal(count_files(victim), FILES);
		close(top);
		if (faccessat(parent, "top", F_OK, 0) == 0)
			remove_tree("top");
	}
	close(victim);
	remove_tree("victim");
}

static int make_parent(void **state)
{
	(void)state;
	parent = mkdtemp(parent_path) ? open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	return parent < 0 ? -1 : 0;
}

/* Nothing is left in it. */
static int remove_parent(void **state)
{
	(void)state;
	close(parent);
	return rmdir(parent_path);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(trees_are_removed),
		cmocka_unit_test(only_directories_right_below_are_opened),
		cmocka_unit_test(mount_points_are_not_entered),
		cmocka_unit_test(links_are_removed_not_followed),
		cmocka_unit_test(what_lies_too_deep_is_kept),
		cmocka_unit_test(nothing_outside_is_removed_while_directories_are_exchanged),
	};

	return cmocka_run_group_tests(cases, make_parent, remove_parent);
}
