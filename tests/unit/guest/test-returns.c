// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that come back from a guest: which are looked for, which are taken, and how they are
 * received. */
#define _GNU_SOURCE /* mkdtemp */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/frame.h"
#include "guest/returns.h"

/* A directory of a test, and receiving into it. */
static char top[64];
static struct returns returns;
static struct receiving receiving;
static struct error error;

static int make_top(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/dwell-returns-XXXXXX");
	receiving = (struct receiving){.fd = -1};
	error = (struct error){""};
	return !mkdtemp(top) || returns_add(&returns, top) < 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static int remove_top(void **state)
{
	(void)state;
	receiving_abort(&receiving);
	returns_release(&returns);
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *in_top(const char *name)
{
	static char path[256];

	assert_in_range(snprintf(path, sizeof(path), "%s/%s", top, name), 1, sizeof(path) - 1);
	return path;
}

/* Files and directories, hidden ones too. */
static size_t count_entries(const char *path)
{
	cleanup_dir DIR *directory = opendir(path);
	size_t count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	return count - 2;
}

static int begin(const char *path, unsigned int mode)
{
	char payload[PATH_MAX + 64];
	struct frame_file file = {.mode = mode};

	memcpy(payload, &file, sizeof(file));
	memcpy(payload + sizeof(file), path, strlen(path));
	return receiving_begin(&receiving, &returns, payload, sizeof(file) + strlen(path), &error);
}

static int take(const char *text)
{
	return receiving_take(&receiving, text, strlen(text), &error);
}

static int end(uint64_t bytes)
{
	return receiving_end(&receiving, &bytes, sizeof(bytes), &error);
}

static void expect_file(const char *path, const char *text)
{
	cleanup_file FILE *file = fopen(path, "re");
	char bytes[256] = "";

	assert_non_null(file);
	assert_int_equal(fread(bytes, 1, sizeof(bytes) - 1, file), strlen(text));
	assert_string_equal(bytes, text);
}

CASE(roots_are_names_without_dots)
{
	static const char *const plain[][2] = {
		{"/a/b", "/a/b"},   {"/a/./b/", "/a/b"}, {"//a///b", "/a/b"},  {"/a/../b", "/b"},
		{"/../../b", "/b"}, {"/a/b/..", "/a"},	 {"/a/...", "/a/..."}, {"/a/..b", "/a/..b"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		struct returns one = {.roots = NULL};

		assert_int_equal(returns_add(&one, plain[i][0]), 0);
		assert_int_equal(one.count, 1);
		assert_string_equal(one.roots[0], plain[i][1]);
		returns_release(&one);
	}
}

CASE(all_of_the_guest_is_no_root)
{
	static const char *const whole[] = {"/", "//", "/.", "/a/..", "/.."};
	struct returns none = {.roots = NULL};

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		assert_int_equal(returns_add(&none, whole[i]), 0);
	assert_int_equal(none.count, 0);
	assert_false(returns_allow(&none, "/"));
	assert_false(returns_allow(&none, "/etc/passwd"));
	returns_release(&none);
}

CASE(roots_come_from_the_directory_and_the_arguments)
{
	char *const arguments[] = {"record", "-o",	  "../x.dwell", "-O/abs/y", "--save=runs",
				   "-q",     "--verbose", "/home/u/z",	"--",	    NULL};
	struct returns some = {.roots = NULL};

	assert_int_equal(returns_add_command(&some, "/home/u/work", arguments), 0);
	assert_true(returns_allow(&some, "/home/u/work/record"));
	assert_true(returns_allow(&some, "/home/u/work/runs/a.json"));
	assert_true(returns_allow(&some, "/home/u/x.dwell"));
	assert_true(returns_allow(&some, "/abs/y"));
	assert_true(returns_allow(&some, "/home/u/z"));
	assert_false(returns_allow(&some, "/home/u/x.dwel"));
	assert_false(returns_allow(&some, "/home/u/other"));
	assert_false(returns_allow(&some, "/abs"));
	/* below the directory nothing is looked for twice */
	assert_int_equal(some.count, 4);
	returns_release(&some);
}

CASE(only_plain_names_below_a_root_are_allowed)
{
	static const char *const wrong[] = {
		"",	      "a",	   "work/a",   "/",	 "/workshop", "/work/../etc",
		"/work/a/..", "/work/./a", "/work//a", "/work/", "/work/.",   "/work/..",
		"/../work/a", "//work/a",
	};
	struct returns one = {.roots = NULL};

	assert_int_equal(returns_add(&one, "/work"), 0);
	assert_true(returns_allow(&one, "/work"));
	assert_true(returns_allow(&one, "/work/a"));
	assert_true(returns_allow(&one, "/work/..a/.b"));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (returns_allow(&one, wrong[i]))
			fail_msg("'%s' is allowed", wrong[i]);
	returns_release(&one);
}

CASE(complete_files_take_their_name_and_mode)
{
	mode_t mask = umask(027);
	struct stat st;

	assert_int_equal(begin(in_top("a"), 04667), 0);
	umask(mask);
	assert_int_equal(take("hello "), 0);
	assert_int_not_equal(access(in_top("a"), F_OK), 0);
	assert_int_equal(take("there"), 0);
	assert_int_equal(end(11), 0);
	expect_file(in_top("a"), "hello there");
	assert_int_equal(stat(in_top("a"), &st), 0);
	/* never set-user-ID, whatever the guest says, nor what the user keeps from others */
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(count_entries(top), 1);
	assert_int_equal(receiving.fd, -1);
}

CASE(empty_files_come_back_too)
{
	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(end(0), 0);
	expect_file(in_top("a"), "");
}

CASE(files_that_are_there_are_replaced)
{
	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(take("one that is longer"), 0);
	assert_int_equal(end(18), 0);
	assert_int_equal(begin(in_top("a"), 0600), 0);
	assert_int_equal(take("two"), 0);
	expect_file(in_top("a"), "one that is longer");
	assert_int_equal(end(3), 0);
	expect_file(in_top("a"), "two");
	assert_int_equal(count_entries(top), 1);
}

CASE(directories_are_made)
{
	assert_int_equal(begin(in_top("x/y/z"), 0644), 0);
	assert_int_equal(take("deep"), 0);
	assert_int_equal(end(4), 0);
	expect_file(in_top("x/y/z"), "deep");
}

CASE(names_that_are_directories_are_told)
{
	assert_int_equal(mkdir(in_top("a"), 0755), 0);
	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(end(0), -EISDIR);
	assert_non_null(strstr(error.text, in_top("a")));
	assert_int_equal(count_entries(top), 1);
}

CASE(cut_files_are_not_kept)
{
	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(take("hel"), 0);
	assert_int_equal(end(5), -EPROTO);
	assert_non_null(strstr(error.text, "incomplete"));
	assert_int_equal(count_entries(top), 0);

	/* longer than it says is as wrong */
	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(take("hello"), 0);
	assert_int_equal(end(4), -EPROTO);
	assert_int_equal(count_entries(top), 0);

	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(receiving_end(&receiving, "1234", 4, &error), -EPROTO);
	assert_int_equal(count_entries(top), 0);

	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(receiving_cut(&receiving, &error), -EPROTO);
	assert_int_equal(receiving_cut(&receiving, &error), 0);
	assert_int_equal(count_entries(top), 0);
}

CASE(what_belongs_to_no_file_is_dropped)
{
	assert_int_equal(take("hello"), 0);
	assert_int_equal(end(5), 0);
	assert_int_equal(count_entries(top), 0);
}

CASE(files_that_nobody_asked_for_are_refused)
{
	char path[PATH_MAX + 32];

	assert_int_equal(begin("/tmp/dwell-never", 0644), -EPROTO);
	assert_non_null(strstr(error.text, "nobody asked for: /tmp/dwell-never"));
	assert_int_not_equal(access("/tmp/dwell-never", F_OK), 0);
	assert_int_equal(begin(in_top("../dwell-never"), 0644), -EPROTO);
	assert_int_equal(begin(in_top("x/../../dwell-never"), 0644), -EPROTO);
	assert_int_equal(begin("dwell-never", 0644), -EPROTO);
	assert_int_equal(take("hello"), 0);
	assert_int_equal(end(5), 0);

	assert_int_equal(begin("", 0644), -EPROTO);
	assert_int_equal(receiving_begin(&receiving, &returns, "12", 2, &error), -EPROTO);
	/* one that hides behind a NUL */
	snprintf(path, sizeof(path), "....%s/a%c/../../b", top, 0);
	assert_int_equal(receiving_begin(&receiving, &returns, path, 4 + strlen(top) + 10, &error),
			 -EPROTO);
	memset(path, 'a', sizeof(path));
	memcpy(path, in_top(""), strlen(in_top("")));
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(begin(path, 0644), -EPROTO);
	assert_int_equal(count_entries(top), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, remove_top)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_names_without_dots),
		cmocka_unit_test(all_of_the_guest_is_no_root),
		cmocka_unit_test(roots_come_from_the_directory_and_the_arguments),
		cmocka_unit_test(only_plain_names_below_a_root_are_allowed),
		TEST(complete_files_take_their_name_and_mode),
		TEST(empty_files_come_back_too),
		TEST(files_that_are_there_are_replaced),
		TEST(directories_are_made),
		TEST(names_that_are_directories_are_told),
		TEST(cut_files_are_not_kept),
		TEST(what_belongs_to_no_file_is_dropped),
		TEST(files_that_nobody_asked_for_are_refused),
	};

	return RUN(tests);
}
