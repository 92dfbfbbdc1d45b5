// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that are replaced: all or nothing. */
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

/* What another user put where a file of ours might go on its way. */
CASE(nothing_is_written_through_names_that_others_can_guess)
{
	struct error error = {""};
	char text[64];

	assert_int_equal(file_replace(path_of("victim"), "precious", 8, &error), 0);
	assert_int_equal(symlink("victim", path_of("a.partial")), 0);
	assert_int_equal(file_replace(path_of("a"), "whole", 5, &error), 0);
	read_file(path_of("a"), text, sizeof(text));
	assert_string_equal(text, "whole");
	read_file(path_of("victim"), text, sizeof(text));
	assert_string_equal(text, "precious");
	assert_int_equal(count_entries(), 3);
	unlink(path_of("a"));
	unlink(path_of("a.partial"));
	unlink(path_of("victim"));
}

/* In a directory of ours, as /tmp is root's: the link of a third user leads where they like. */
CASE(links_and_pipes_of_other_users_are_traps)
{
	struct error error = {""};
	char text[64];

	if (geteuid() != 0)
		skip();
	assert_int_equal(file_replace(path_of("victim"), "precious", 8, &error), 0);
	assert_int_equal(symlink("victim", path_of("link")), 0);
	assert_int_equal(lchown(path_of("link"), 65534, 65534), 0);
	assert_int_equal(file_replace(path_of("link"), "x", 1, &error), -ELOOP);
	read_file(path_of("victim"), text, sizeof(text));
	assert_string_equal(text, "precious");
	/* dangling */
	unlink(path_of("victim"));
	assert_int_equal(file_replace(path_of("link"), "x", 1, &error), -ELOOP);
	assert_int_equal(mkfifo(path_of("pipe"), 0666), 0);
	assert_int_equal(lchown(path_of("pipe"), 65534, 65534), 0);
	assert_int_equal(file_replace(path_of("pipe"), "x", 1, &error), -EPERM);
	/* their own directory: they may have what they like there */
	assert_int_equal(chown(directory, 65534, 65534), 0);
	assert_int_equal(file_replace(path_of("link"), "x", 1, &error), 0);
	assert_int_equal(chown(directory, 0, 0), 0);
	unlink(path_of("victim"));
	unlink(path_of("link"));
	unlink(path_of("pipe"));
	assert_int_equal(count_entries(), 0);
}

CASE(drafts_have_no_name_until_they_are_kept)
{
	struct file_draft draft, other;
	char text[64];

	assert_int_equal(file_draft_open(&draft, AT_FDCWD, path_of("a"), 0600, false), 0);
	assert_int_equal(file_write(draft.fd, "one", 3), 0);
	assert_int_equal(count_entries(), 0);
	assert_int_equal(file_draft_open(&other, AT_FDCWD, path_of("a"), 0600, false), 0);
	assert_int_equal(file_draft_keep(&draft), 0);
	assert_int_equal(file_draft_keep(&draft), 0);
	/* the second one does not replace it */
	assert_int_equal(file_draft_keep(&other), -EEXIST);
	file_draft_close(&other);
	/* written to further */
	assert_int_equal(file_write(draft.fd, " two", 4), 0);
	file_draft_close(&draft);
	read_file(path_of("a"), text, sizeof(text));
	assert_string_equal(text, "one two");
	assert_int_equal(file_draft_open(&draft, AT_FDCWD, path_of("a"), 0600, false), -EEXIST);
	/* dropped */
	assert_int_equal(file_draft_open(&draft, AT_FDCWD, path_of("a"), 0600, true), 0);
	assert_int_equal(file_write(draft.fd, "three", 5), 0);
	file_draft_close(&draft);
	read_file(path_of("a"), text, sizeof(text));
	assert_string_equal(text, "one two");
	unlink(path_of("a"));
	assert_int_equal(count_entries(), 0);
}

/* A filesystem without O_TMPFILE is hard to come by: the other way is the same from the name on. */
CASE(drafts_with_a_name_are_kept_and_dropped_too)
{
	struct file_draft draft;
	struct stat status;

	for (int replaces = 0; replaces < 2; replaces++) {
		assert_int_equal(
			file_draft_open(&draft, AT_FDCWD, path_of("a"), 0600, replaces != 0), 0);
		close(draft.fd);
		strcpy(draft.temporary, ".dwell-test");
		draft.fd = openat(draft.directory, draft.temporary,
				  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(draft.fd >= 0);
		assert_int_equal(file_draft_keep(&draft), 0);
		file_draft_close(&draft);
		assert_int_equal(stat(path_of("a"), &status), 0);
		assert_true(stat(path_of(".dwell-test"), &status) < 0);
	}
	unlink(path_of("a"));
	assert_int_equal(count_entries(), 0);
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

CASE(what_cannot_be_written_is_an_error_and_the_old_one_stays)
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

CASE(whether_a_file_can_be_written_is_known_before_and_changes_nothing)
{
	struct error error = {""};
	char text[64];

	assert_int_equal(file_draft_try(path_of("a"), &error), 0);
	assert_int_equal(count_entries(), 0);
	assert_int_equal(file_replace(path_of("a"), "old", 3, &error), 0);
	assert_int_equal(file_draft_try(path_of("a"), &error), 0);
	read_file(path_of("a"), text, sizeof(text));
	assert_string_equal(text, "old");
	unlink(path_of("a"));
	assert_int_equal(file_draft_try("/dev/null", &error), 0);
	/* without a reader, opening it would block */
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_int_equal(file_draft_try(path_of("pipe"), &error), 0);
	unlink(path_of("pipe"));
	assert_int_equal(file_draft_try("/nonexistent/a", &error), -ENOENT);
	assert_string_equal(error.text, "cannot write /nonexistent/a: No such file or directory");
	assert_int_equal(file_draft_try(directory, &error), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_made_and_replaced_and_nothing_else_is_left),
		cmocka_unit_test(whether_a_file_can_be_written_is_known_before_and_changes_nothing),
		cmocka_unit_test(nothing_is_written_through_names_that_others_can_guess),
		cmocka_unit_test(links_and_pipes_of_other_users_are_traps),
		cmocka_unit_test(drafts_have_no_name_until_they_are_kept),
		cmocka_unit_test(drafts_with_a_name_are_kept_and_dropped_too),
		cmocka_unit_test(what_is_no_plain_file_stays_what_it_is),
		cmocka_unit_test(what_cannot_be_written_is_an_error_and_the_old_one_stays),
	};
	int failed;

	if (!mkdtemp(directory))
		return 1;
	failed = RUN(tests);
	rmdir(directory);
	return failed;
}
