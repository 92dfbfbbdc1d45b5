// SPDX-License-Identifier: GPL-2.0-or-later
/* Files that follow each other on a disk that is full. The disk is a stand-in. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "capture/rotated_files.h"
#include "capture/rotation.h"

#define DISK_BYTES	 (4 << 20)
#define BLOCK_BYTES	 4096
#define INTERVAL_THREADS 100 /* some 16 KiB, which cannot be compressed */
#define INTERVALS_MOST	 5000

static char path[] = "/tmp/dwell-test-rotation.XXXXXX";
static struct rotated_name names;
static uint64_t others; /* bytes of the disk that other files have */

struct store {
	size_t files;
	uint64_t bytes;
	char oldest[ROTATED_STAMP_BYTES], newest[ROTATED_STAMP_BYTES];
};

static struct store look(void)
{
	cleanup_free struct rotated_file *files = NULL;
	struct store store = {0};

	assert_int_equal(rotated_files_list(&names, &files, &store.files), 0);
	for (size_t i = 0; i < store.files; i++)
		store.bytes += files[i].bytes;
	if (store.files) {
		memcpy(store.oldest, files[0].stamp, sizeof(store.oldest));
		memcpy(store.newest, files[store.files - 1].stamp, sizeof(store.newest));
	}
	return store;
}

static uint64_t room(void)
{
	uint64_t used = look().bytes + others;

	return used < DISK_BYTES ? DISK_BYTES - used : 0;
}

/* In place of the C library's. */
int statvfs(const char *directory, struct statvfs *into)
{
	assert_string_equal(directory, path);
	*into = (struct statvfs){.f_bavail = room() / BLOCK_BYTES, .f_frsize = BLOCK_BYTES};
	return 0;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	ssize_t whole = 0;

	for (int i = 0; i < count; i++)
		whole += (ssize_t)parts[i].iov_len;
	if ((uint64_t)whole > room()) {
		errno = ENOSPC;
		return -1;
	}
	for (int i = 0; i < count; i++)
		assert_int_equal(write(fd, parts[i].iov_base, parts[i].iov_len), parts[i].iov_len);
	return whole;
}

static int begin(void **state)
{
	char whole[sizeof(path) + 16];

	(void)state;
	others = 0;
	snprintf(path, sizeof(path), "/tmp/dwell-test-rotation.XXXXXX");
	if (!mkdtemp(path))
		return -1;
	snprintf(whole, sizeof(whole), "%s/a.dwell", path);
	return rotated_name_split(&names, whole, NULL);
}

static int end(void **state)
{
	(void)state;
	rotated_files_limit(&names, 0);
	return rmdir(path);
}

static struct rotation *begin_rotation(uint64_t max_bytes)
{
	char whole[sizeof(path) + 16];
	struct rotation_options options = {.path = whole,
					   .keep_ns = 3600 * NS_PER_S,
					   .max_bytes = max_bytes,
					   .fits_disk = true};
	struct rotation *rotation;

	snprintf(whole, sizeof(whole), "%s/a.dwell", path);
	assert_int_equal(rotation_open(&rotation, &options, NULL), 0);
	return rotation;
}

static struct wire_thread make_thread(uint32_t tid, uint64_t time_ns)
{
	static uint64_t noise = 1;
	struct wire_thread thread = {
		.header = {.size = sizeof(thread), .kind = WIRE_THREAD, .time_ns = time_ns},
		.end_ns = time_ns,
		.tid = tid,
		.pid = tid,
		.site = {WIRE_IDLE, 0, -1},
	};

	for (int i = 0; i < WIRE_STATES; i++) {
		noise = noise * 6364136223846793005ULL + 1442695040888963407ULL;
		thread.totals.ns[i] = noise ^ noise >> 29;
	}
	return thread;
}

/* False: it could not be written. */
static bool record_interval(struct rotation *rotation)
{
	static uint64_t time_ns = NS_PER_S;
	struct wire_interval interval = {
		.header = {.size = sizeof(interval), .kind = WIRE_INTERVAL},
		.start_ns = time_ns,
	};
	bool is_written = true;

	time_ns += NS_PER_S;
	interval.header.time_ns = interval.end_ns = time_ns;
	for (uint32_t tid = 1; tid <= INTERVAL_THREADS; tid++) {
		struct wire_thread thread = make_thread(tid, time_ns);

		is_written &= rotation_record(rotation, &thread.header, NULL) >= 0;
	}
	return (rotation_record(rotation, &interval.header, NULL) >= 0) & is_written;
}

/* Until it has failed so often. */
static void fill(struct rotation *rotation, unsigned int failures)
{
	unsigned int failed = 0;

	for (int i = 0; failed < failures && i < INTERVALS_MOST; i++)
		failed += !record_interval(rotation);
	assert_int_equal(failed, failures);
}

/* Other files take each byte of the disk as it comes. */
static void crowd_out(struct rotation *rotation)
{
	for (int i = 0; i < 50; i++) {
		others = DISK_BYTES - look().bytes;
		record_interval(rotation);
	}
}

CASE(the_oldest_makes_room_where_the_recordings_fill_the_disk)
{
	struct rotation *rotation = begin_rotation(0);
	struct store full, later;
	int failures = 0;

	fill(rotation, 1);
	full = look();
	assert_in_range(full.files, 6, 40);
	/* and before it is full again: no interval is lost */
	for (int i = 0; i < 600; i++) {
		failures += !record_interval(rotation);
		later = look();
		assert_true(later.bytes > full.bytes / 3 * 2);
	}
	assert_true(failures <= 3);
	/* all that there was has gone on */
	assert_true(strcmp(later.oldest, full.newest) > 0);
	rotation_close(rotation);
}

/* One file is what it costs to see that its room is taken. */
CASE(the_history_stays_where_others_fill_the_disk)
{
	struct rotation *rotation = begin_rotation(0);
	struct store before, after;

	for (int i = 0; i < 100; i++)
		assert_true(record_interval(rotation));
	before = look();
	assert_true(before.files >= 3);
	crowd_out(rotation);
	after = look();
	assert_in_range(after.files, before.files - 1, before.files);
	assert_true(after.bytes >= before.bytes / 4 * 3);
	/* and there is room again */
	others = 0;
	for (int i = 0; i < 600; i++)
		record_interval(rotation);
	assert_true(strcmp(look().oldest, before.newest) > 0);
	rotation_close(rotation);
}

CASE(what_is_much_of_the_history_makes_no_room)
{
	struct rotation *rotation = begin_rotation(0);
	struct store only;

	for (int i = 0; i < 5; i++)
		assert_true(record_interval(rotation));
	only = look();
	assert_int_equal(only.files, 1);
	crowd_out(rotation);
	assert_int_equal(look().files, 1);
	assert_int_equal(look().bytes, only.bytes);
	rotation_close(rotation);
}

CASE(a_limit_removes_the_oldest_on_a_full_disk_too)
{
	struct rotation *rotation = begin_rotation(2 << 20);
	uint64_t bytes;

	for (int i = 0; i < 400; i++)
		assert_true(record_interval(rotation));
	bytes = look().bytes;
	assert_in_range(bytes, 1 << 20, 2 << 20);
	crowd_out(rotation);
	/* and it removes no more than it would anyway */
	assert_in_range(look().bytes, 1 << 20, 2 << 20);
	rotation_close(rotation);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(
			the_oldest_makes_room_where_the_recordings_fill_the_disk, begin, end),
		cmocka_unit_test_setup_teardown(the_history_stays_where_others_fill_the_disk, begin,
						end),
		cmocka_unit_test_setup_teardown(what_is_much_of_the_history_makes_no_room, begin,
						end),
		cmocka_unit_test_setup_teardown(a_limit_removes_the_oldest_on_a_full_disk_too,
						begin, end),
	};

	return RUN(cases);
}
