// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that are replaced: all or nothing. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static char directory[] = "/tmp/dwell-test-file.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void read_file(const char *path, char *into, size_t room)
{
	FILE *file = fopen(path, "r");
	size_t length;

	assert_non_null(file);
	length = fread(into, 1, room - 1, file);
	into[length] = '\0';
	fclose(file);
}

static size_t count_entries(void)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(entries);
	while ((entry = readdir(entries)))
		count += *entry->d_name != '.';
	closedir(entries);
	return count;
}

CASE(files_are_made_and_replaced_and_nothing_else_is_left)
{
	struct error error = {""};
	const char *path = path_of("a");
	char text[64];

	assert_int_equal(file_replace(path, "a long first text", 17, &error), 0);
	read_file(path, text, sizeof(text));
	assert_string_equal(text, "a long first text");
	assert_int_equal(file_replace(path, "second", 6, &error), 0);
	read_file(path, text, sizeof(text));
	assert_string_equal(text, "second");
	assert_int_equal(count_entries(), 1);
	unlink(path);
}

/* Of somebody who was killed. */
CASE(a_half_written_one_is_no_hindrance)
{
	struct error error = {""};
	char text[64];
	FILE *file = fopen(path_of("a.partial"), "w");

	assert_non_null(file);
	fputs("much more than there will be", file);
	fclose(file);
	assert_int_equal(file_replace(path_of("a"), "whole", 5, &error), 0);
	read_file(path_of("a"), text, sizeof(text));
	assert_string_equal(text, "whole");
	assert_int_equal(count_entries(), 1);
	unlink(path_of("a"));
}

CASE(what_is_no_plain_file_stays_what_it_is)
{
	struct error error = {""};
	struct stat status;
	char text[64], link[PATH_MAX];

	assert_int_equal(file_replace("/dev/null", "x", 1, &error), 0);
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));

	snprintf(link, sizeof(link), "%s", path_of("link"));
	assert_int_equal(file_replace(path_of("a"), "much longer", 11, &error), 0);
	assert_int_equal(symlink("a", link), 0);
	assert_int_equal(file_replace(link, "short", 5, &error), 0);
	assert_int_equal(lstat(link, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	read_file(path_of("a"), text, sizeof(text));
	assert_string_equal(text, "short");
	unlink(path_of("a"));

	/* to nothing: as a shell would, it makes that */
	assert_int_equal(file_replace(link, "new", 3, &error), 0);
	read_file(path_of("a"), text, sizeof(text));
	assert_string_equal(text, "new");
	unlink(path_of("a"));
	unlink(link);
	assert_int_equal(count_entries(), 0);
}

CASE(what_cannot_be_written_is_told_and_the_old_one_stays)
{
	struct error error = {""};
	char name[300];

	assert_int_equal(file_replace("/nonexistent/a", "x", 1, &error), -ENOENT);
	assert_string_equal(error.text, "cannot write /nonexistent/a: No such file or directory");
	/* it can be written beside, and not be put there */
	assert_int_equal(mkdir(path_of("b"), 0700), 0);
	assert_int_equal(file_replace(path_of("b"), "x", 1, &error), -EISDIR);
	assert_int_equal(count_entries(), 1);
	rmdir(path_of("b"));
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(file_replace(path_of(name), "x", 1, &error), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_made_and_replaced_and_nothing_else_is_left),
		cmocka_unit_test(a_half_written_one_is_no_hindrance),
		cmocka_unit_test(what_is_no_plain_file_stays_what_it_is),
		cmocka_unit_test(what_cannot_be_written_is_told_and_the_old_one_stays),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	failed = RUN(tests);
	rmdir(directory);
	return failed;
}
