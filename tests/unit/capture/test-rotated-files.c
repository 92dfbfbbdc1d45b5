// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that follow each other, also where the clock did not go on. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/duration.h"
#include "capture/rotated_files.h"

#define DAY_NS (24 * 3600 * NS_PER_S)

static char path[] = "/tmp/dwell-test-rotated.XXXXXX";
static struct rotated_name names;

static int begin(void **state)
{
	char whole[sizeof(path) + 16];

	(void)state;
	if (!mkdtemp(path))
		return -1;
	snprintf(whole, sizeof(whole), "%s/a.dwell", path);
	return rotated_name_split(&names, whole, NULL);
}

static int remove_files(void **state)
{
	cleanup_free struct rotated_file *files = NULL;
	size_t count;

	(void)state;
	assert_int_equal(rotated_files_list(&names, &files, &count), 0);
	for (size_t i = 0; i < count; i++)
		rotated_file_remove(&names, files[i].stamp);
	return 0;
}

static int end(void **state)
{
	(void)state;
	return rmdir(path);
}

static void add(const char *stamp, uint64_t changed_ns)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    {.tv_sec = (time_t)(changed_ns / NS_PER_S)}};
	char file[ROTATED_PATH_BYTES];
	int fd;

	rotated_path(&names, stamp, file);
	fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

CASE(a_name_is_never_before_those_there_are)
{
	char stamp[ROTATED_STAMP_BYTES], next[ROTATED_STAMP_BYTES], file[ROTATED_PATH_BYTES];
	uint64_t now_ns = clock_realtime_ns();

	rotated_path_new(&names, stamp, file);
	assert_true(strcmp(stamp, "20500630T235959Z") < 0);
	add("20500630T235958Z", now_ns);
	add("20500630T235959Z", now_ns);
	add(stamp, now_ns);
	rotated_path_new(&names, next, file);
	assert_string_equal(next, "20500701T000000Z");
	assert_string_equal(strrchr(file, '/'), "/a.20500701T000000Z.dwell");
}

CASE(what_ended_later_than_now_ended_before_what_follows)
{
	cleanup_free struct rotated_file *files = NULL;
	uint64_t now_ns = clock_realtime_ns();
	size_t count;

	add("20200101T000000Z", now_ns + DAY_NS);
	add("20200102T000000Z", now_ns + 2 * DAY_NS);
	add("20200103T000000Z", now_ns - 3 * DAY_NS);
	add("20200104T000000Z", now_ns - 4 * DAY_NS);
	add("20200105T000000Z", now_ns + DAY_NS);
	assert_int_equal(rotated_files_list(&names, &files, &count), 0);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(files[i].changed_ns / NS_PER_S, (now_ns - 3 * DAY_NS) / NS_PER_S);
	assert_int_equal(files[3].changed_ns / NS_PER_S, (now_ns - 4 * DAY_NS) / NS_PER_S);
	/* nothing follows it */
	assert_in_range(files[4].changed_ns, now_ns, clock_realtime_ns());
}

CASE(what_is_no_time_is_not_ours)
{
	static const char *const foreign[] = {"20261301T000000Z", "20260230T000000Z",
					      "20260101T240000Z", "99991231T235959Z",
					      "2026-101T000000Z", "20260101 000000Z"};
	cleanup_free struct rotated_file *files = NULL;
	size_t count;

	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		add(foreign[i], clock_realtime_ns());
	assert_int_equal(rotated_files_list(&names, &files, &count), 0);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		rotated_file_remove(&names, foreign[i]);
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_teardown(a_name_is_never_before_those_there_are, remove_files),
		cmocka_unit_test_teardown(what_ended_later_than_now_ended_before_what_follows,
					  remove_files),
		cmocka_unit_test(what_is_no_time_is_not_ours),
	};

	return cmocka_run_group_tests(cases, begin, end);
}
