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
#include "command/outputs.h"
#include "guest/frame.h"
#include "guest/pulled_files.h"

/* A directory of a test, and receiving into it. */
static char top[64];
static struct pulled_files pulled;
static struct receiving receiving;
static struct error error;

static int make_top(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/dwell-returns-XXXXXX");
	receiving = RECEIVING_NONE;
	error = (struct error){""};
	return !mkdtemp(top) || pulled_files_add(&pulled, "/", top, true) < 0;
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
	pulled_files_release(&pulled);
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
	return receiving_begin(&receiving, &pulled, payload, sizeof(file) + strlen(path), &error);
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
		struct pulled_files one = {.roots = NULL};

		assert_int_equal(pulled_files_add(&one, "/", plain[i][0], true), 0);
		assert_int_equal(one.count, 1);
		assert_string_equal(one.roots[0].path, plain[i][1]);
		pulled_files_release(&one);
	}
}

CASE(all_of_the_guest_is_no_root)
{
	static const char *const whole[] = {"/", "//", "/.", "/a/..", "/.."};
	struct pulled_files none = {.roots = NULL};

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		assert_int_equal(pulled_files_add(&none, "/x", whole[i], true), 0);
	assert_int_equal(none.count, 0);
	assert_null(pulled_files_find(&none, "/"));
	assert_null(pulled_files_find(&none, "/etc/passwd"));
	pulled_files_release(&none);
}

/* Of a command line in /home/u/work. */
static size_t outputs_of(struct pulled_files *some, char **arguments)
{
	*some = (struct pulled_files){.roots = NULL};
	assert_int_equal(outputs_add(some, "/home/u/work", arguments), 0);
	return some->count;
}

CASE(outputs_come_from_the_options_of_the_command)
{
	char *record[] = {"record", "-d", "1s", "-o", "../x.dwell", "--", "cp", "-o", "y", NULL};
	char *joined[] = {"record", "-ox", "--force", NULL};
	char *shortened[] = {"record", "--out=x", NULL};
	char *without[] = {"record", "-p", "1", NULL};
	char *load[] = {"load", "/etc/spec.yaml", "--save", "/abs/runs/", "-d", "1s", NULL};
	char *blocked[] = {"blocked", "--export", "/a/x", "--record=/a/y", "--from", "/a/z", NULL};
	char *wrong[] = {"record", "--no-such", "-o", "x", NULL};
	char *program[] = {"/bin/cp", "-o", "x", NULL};
	char *doctor[] = {"doctor", "--json", NULL};
	struct pulled_files some;

	assert_int_equal(outputs_of(&some, record), 1);
	assert_string_equal(some.roots[0].path, "/home/u/x.dwell");
	assert_false(some.roots[0].directory);
	assert_null(pulled_files_find(&some, "/home/u/x.dwell/a"));
	pulled_files_release(&some);
	assert_int_equal(outputs_of(&some, joined), 1);
	assert_non_null(pulled_files_find(&some, "/home/u/work/x"));
	pulled_files_release(&some);
	assert_int_equal(outputs_of(&some, shortened), 1);
	assert_non_null(pulled_files_find(&some, "/home/u/work/x"));
	pulled_files_release(&some);
	assert_int_equal(outputs_of(&some, without), 1);
	assert_non_null(pulled_files_find(&some, "/home/u/work/dwell.dwell"));
	pulled_files_release(&some);
	assert_int_equal(outputs_of(&some, load), 1);
	assert_true(some.roots[0].directory);
	assert_non_null(pulled_files_find(&some, "/abs/runs/1/report.json"));
	assert_null(pulled_files_find(&some, "/abs/runs"));
	assert_null(pulled_files_find(&some, "/etc/spec.yaml"));
	pulled_files_release(&some);
	assert_int_equal(outputs_of(&some, blocked), 2);
	assert_null(pulled_files_find(&some, "/a/z"));
	pulled_files_release(&some);
	/* it is refused in the guest */
	assert_true(outputs_of(&some, wrong) <= 1);
	pulled_files_release(&some);
	assert_int_equal(outputs_of(&some, program), 0);
	assert_int_equal(outputs_of(&some, doctor), 0);
}

CASE(only_plain_names_below_a_root_are_allowed)
{
	static const char *const wrong[] = {
		"",	      "a",
		"work/a",     "/",
		"/workshop",  "/work/../etc",
		"/work/a/..", "/work/./a",
		"/work//a",   "/work/",
		"/work/.",    "/work/..",
		"/../work/a", "//work/a",
		"/work",      "/work/.ssh/authorized_keys",
		"/work/a/.b", "/work/..a",
		"/file/a",    "/.file",
		"/file/",
	};
	struct pulled_files one = {.roots = NULL};

	assert_int_equal(pulled_files_add(&one, "/", "work", true), 0);
	assert_int_equal(pulled_files_add(&one, "/", "file", false), 0);
	assert_int_equal(pulled_files_add(&one, "/home/u", ".profile", false), 0);
	assert_non_null(pulled_files_find(&one, "/work/a"));
	assert_non_null(pulled_files_find(&one, "/work/a./b"));
	assert_non_null(pulled_files_find(&one, "/file"));
	/* it was named */
	assert_non_null(pulled_files_find(&one, "/home/u/.profile"));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (pulled_files_find(&one, wrong[i]))
			fail_msg("'%s' is allowed", wrong[i]);
	pulled_files_release(&one);
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
	assert_int_equal(receiving.file.fd, -1);
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

CASE(names_that_are_directories_are_reported)
{
	assert_int_equal(mkdir(in_top("a"), 0755), 0);
	assert_int_equal(begin(in_top("a"), 0644), -EISDIR);
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

/* Which the user has, or another one of this machine has made. */
CASE(links_pipes_and_devices_are_left_alone)
{
	char outside[] = "/tmp/dwell-returns-outside-XXXXXX";
	struct stat st;

	assert_non_null(mkdtemp(outside));
	assert_int_equal(symlink(outside, in_top("link")), 0);
	assert_int_equal(begin(in_top("link/a"), 0644), -ENOTDIR);
	assert_int_equal(take("hostile"), 0);
	assert_int_equal(end(7), 0);
	assert_int_equal(begin(in_top("link"), 0644), -EEXIST);
	assert_int_equal(count_entries(outside), 0);
	assert_int_equal(mkfifo(in_top("pipe"), 0600), 0);
	assert_int_equal(begin(in_top("pipe"), 0644), -EEXIST);
	assert_int_equal(lstat(in_top("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(count_entries(top), 2);
	assert_int_equal(rmdir(outside), 0);
}

CASE(files_and_bytes_are_limited)
{
	receiving.max_bytes = 10;
	assert_int_equal(begin(in_top("a"), 0644), 0);
	assert_int_equal(take("1234567"), 0);
	assert_int_equal(end(7), 0);
	assert_int_equal(begin(in_top("b"), 0644), 0);
	assert_int_equal(take("1234"), -EFBIG);
	assert_non_null(strstr(error.text, "--return-limit"));
	assert_int_equal(take("5"), 0);
	assert_int_equal(end(5), 0);
	assert_int_equal(count_entries(top), 1);
	receiving.files = RECEIVING_FILES_MAX;
	assert_int_equal(begin(in_top("c"), 0644), -EFBIG);
	assert_int_equal(count_entries(top), 1);
}

CASE(what_belongs_to_no_file_is_dropped)
{
	assert_int_equal(take("hello"), 0);
	assert_int_equal(end(5), 0);
	assert_int_equal(count_entries(top), 0);
}

CASE(files_that_were_not_asked_for_are_refused)
{
	char path[PATH_MAX + 32];

	assert_int_equal(begin("/tmp/dwell-never", 0644), -EPROTO);
	assert_non_null(strstr(error.text, "unexpected file: /tmp/dwell-never"));
	assert_int_not_equal(access("/tmp/dwell-never", F_OK), 0);
	assert_int_equal(begin(in_top("../dwell-never"), 0644), -EPROTO);
	assert_int_equal(begin(in_top("x/../../dwell-never"), 0644), -EPROTO);
	assert_int_equal(begin("dwell-never", 0644), -EPROTO);
	assert_int_equal(take("hello"), 0);
	assert_int_equal(end(5), 0);

	assert_int_equal(begin("", 0644), -EPROTO);
	assert_int_equal(receiving_begin(&receiving, &pulled, "12", 2, &error), -EPROTO);
	/* one that hides behind a NUL */
	snprintf(path, sizeof(path), "....%s/a%c/../../b", top, 0);
	assert_int_equal(receiving_begin(&receiving, &pulled, path, 4 + strlen(top) + 10, &error),
			 -EPROTO);
	memset(path, 'a', sizeof(path));
	memcpy(path, in_top(""), strlen(in_top("")));
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(begin(path, 0644), -ENAMETOOLONG);
	assert_int_equal(count_entries(top), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, remove_top)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots_are_names_without_dots),
		cmocka_unit_test(all_of_the_guest_is_no_root),
		cmocka_unit_test(outputs_come_from_the_options_of_the_command),
		cmocka_unit_test(only_plain_names_below_a_root_are_allowed),
		TEST(complete_files_take_their_name_and_mode),
		TEST(empty_files_come_back_too),
		TEST(files_that_are_there_are_replaced),
		TEST(directories_are_made),
		TEST(names_that_are_directories_are_reported),
		TEST(cut_files_are_not_kept),
		TEST(links_pipes_and_devices_are_left_alone),
		TEST(files_and_bytes_are_limited),
		TEST(what_belongs_to_no_file_is_dropped),
		TEST(files_that_were_not_asked_for_are_refused),
	};

	return RUN(tests);
}
