// SPDX-License-Identifier: GPL-2.0-or-later
/* Batches come out in order, also after the process that added them, and the oldest make room. */
#define _GNU_SOURCE
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "serve/push_queue.h"

#define ROOM 8192

static bool is_out_of_memory;

/* In place of the C library's. */
int fdatasync(int fd)
{
	(void)fd;
	if (!is_out_of_memory)
		return 0;
	errno = ENOMEM;
	return -1;
}

static time_t clock_seconds; /* by which the machine's clock is ahead */

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec += clock_seconds;
	return result;
}

static char path[] = "/tmp/dwell-test-queue.XXXXXX";
static int directory;

static int begin(void **state)
{
	(void)state;
	directory = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	return directory < 0;
}

static void each_file(void (*call)(const char *name))
{
	DIR *files = opendir(path);
	struct dirent *file;

	assert_non_null(files);
	while ((file = readdir(files)))
		if (*file->d_name != '.')
			call(file->d_name);
	closedir(files);
}

static void remove_file(const char *name)
{
	unlinkat(directory, name, 0);
}

static int end(void **state)
{
	(void)state;
	each_file(remove_file);
	close(directory);
	return rmdir(path);
}

static struct push_queue *open_queue(int in, const char *name)
{
	struct push_queue *queue = NULL;

	assert_int_equal(push_queue_open(&queue, in, name, ROOM, NULL), 0);
	return queue;
}

/* How many have made room. */
static unsigned int add(struct push_queue *queue, const char *query, size_t length, bool fails)
{
	struct push_item item = {.bytes = malloc(length + 1), .length = length};
	unsigned int dropped;
	int result;

	memset(item.bytes, *query, length);
	snprintf(item.query, sizeof(item.query), "%s", query);
	result = push_queue_add(queue, &item, &dropped, NULL);
	assert_int_equal(result, fails);
	return dropped;
}

/* The oldest is this one; removes it. */
static void take(struct push_queue *queue, const char *query, size_t length)
{
	struct push_item item;

	assert_int_equal(push_queue_first(queue, &item), 1);
	assert_string_equal(item.query, query);
	assert_int_equal(item.length, length);
	for (size_t i = 0; i < length; i++)
		assert_int_equal(item.bytes[i], *query);
	free(item.bytes);
	push_queue_remove(queue, item.id);
}

static void assert_empty(struct push_queue *queue)
{
	struct push_item item;

	assert_int_equal(push_queue_first(queue, &item), 0);
	assert_int_equal(push_queue_bytes(queue), 0);
	push_queue_close(queue);
}

static void use(int in)
{
	struct push_queue *queue = open_queue(in, "one");

	assert_int_equal(add(queue, "a", 100, false), 0);
	assert_int_equal(add(queue, "b", 0, false), 0);
	assert_int_equal(add(queue, "c", 2000, false), 0);
	take(queue, "a", 100);
	take(queue, "b", 0);
	assert_int_equal(add(queue, "d", 1, false), 0);
	take(queue, "c", 2000);
	take(queue, "d", 1);
	assert_empty(queue);
}

CASE(they_come_out_in_order)
{
	use(-1);
	use(directory);
}

static void fill(int in)
{
	struct push_queue *queue = open_queue(in, "one");
	struct push_item held;

	add(queue, "a", 3000, false);
	add(queue, "b", 3000, false);
	assert_int_equal(push_queue_first(queue, &held), 1);
	free(held.bytes);
	/* the first is being sent, and stays */
	assert_int_equal(add(queue, "c", 3000, false), 1);
	assert_true(push_queue_bytes(queue) <= ROOM);
	assert_int_equal(add(queue, "too large", ROOM, false), 2);
	take(queue, "a", 3000);
	assert_empty(queue);
	/* one that could not be sent is the oldest again */
	queue = open_queue(in, "one");
	add(queue, "a", 3000, false);
	add(queue, "b", 3000, false);
	assert_int_equal(push_queue_first(queue, &held), 1);
	free(held.bytes);
	push_queue_put_back(queue);
	assert_int_equal(add(queue, "c", 3000, false), 1);
	take(queue, "b", 3000);
	take(queue, "c", 3000);
	assert_empty(queue);
}

CASE(the_oldest_make_room)
{
	fill(-1);
	fill(directory);
}

CASE(files_outlive_the_process)
{
	struct push_queue *queue = open_queue(directory, "one"), *other;
	const char *const names[] = {"one", "two"};

	add(queue, "a", 10, false);
	add(queue, "b", 10, false);
	push_queue_close(queue);
	other = open_queue(directory, "two");
	add(other, "x", 10, false);
	push_queue_close(other);
	assert_int_equal(push_queue_foreign(directory, names, 2), 0);
	assert_int_equal(push_queue_foreign(directory, names, 1), 1);
	queue = open_queue(directory, "one");
	assert_int_equal(push_queue_count(queue), 2);
	add(queue, "c", 10, false);
	take(queue, "a", 10);
	take(queue, "b", 10);
	take(queue, "c", 10);
	assert_empty(queue);
	other = open_queue(directory, "two");
	take(other, "x", 10);
	assert_empty(other);
}

/* Those of a process that has ended, and of the one that goes on, in the order they were added. */
static void set_clocks(int in)
{
	static const time_t day = 24 * 3600;
	static const time_t clocks[] = {0, -day, 365 * day, -365 * day};
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct push_queue *queue = open_queue(in, "one");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		clock_seconds = clocks[i / 2];
		assert_int_equal(add(queue, names[i], 10, false), 0);
		if (in < 0)
			continue;
		push_queue_close(queue);
		queue = open_queue(in, "one");
	}
	clock_seconds = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		take(queue, names[i], 10);
	assert_empty(queue);
}

CASE(a_clock_that_is_set_changes_no_order)
{
	set_clocks(-1);
	set_clocks(directory);
}

static const char *damage_how;

static void damage(const char *name)
{
	int fd = openat(directory, name, O_RDWR | O_CLOEXEC);
	off_t length = lseek(fd, 0, SEEK_END);

	assert_true(fd >= 0);
	if (!strcmp(damage_how, "cut"))
		assert_int_equal(ftruncate(fd, length - 1), 0);
	else if (!strcmp(damage_how, "changed"))
		assert_int_equal(pwrite(fd, "?", 1, length - 1), 1);
	else if (!strcmp(damage_how, "query"))
		assert_int_equal(pwrite(fd, "?", 1, 24), 1);
	else if (!strcmp(damage_how, "foreign"))
		assert_int_equal(pwrite(fd, "?", 1, 0), 1);
	else
		assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
}

static size_t files;

static void count_file(const char *name)
{
	(void)name;
	files++;
}

CASE(what_is_damaged_is_left_out)
{
	static const char *const ways[] = {"cut", "changed", "query", "foreign", "empty"};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct push_queue *queue = open_queue(directory, "one");
		bool is_foreign = !strcmp(ways[i], "foreign") || !strcmp(ways[i], "empty");
		struct push_item item;

		add(queue, "a", 50, false);
		damage_how = ways[i];
		each_file(damage);
		add(queue, "b", 50, false);
		push_queue_close(queue);
		queue = open_queue(directory, "one");
		assert_int_equal(push_queue_first(queue, &item), -EBADMSG);
		take(queue, "b", 50);
		assert_empty(queue);
		files = 0;
		each_file(count_file);
		/* only what dwell has written is removed */
		assert_int_equal(files, is_foreign);
		each_file(remove_file);
	}
}

CASE(without_a_directory_that_takes_files_they_are_in_memory)
{
	int gone = open(path, O_PATH | O_CLOEXEC), deep;
	struct push_queue *queue;

	assert_int_equal(mkdirat(gone, "deep", 0700), 0);
	deep = openat(gone, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	queue = open_queue(deep, "one");
	assert_int_equal(unlinkat(gone, "deep", AT_REMOVEDIR), 0);
	add(queue, "a", 10, true);
	take(queue, "a", 10);
	assert_empty(queue);
	close(deep);
	close(gone);
}

/* It is sent all the same, and must not count as lost. */
CASE(one_that_could_not_be_written_for_want_of_memory_is_in_memory)
{
	struct push_queue *queue = open_queue(directory, "one");

	is_out_of_memory = true;
	add(queue, "a", 10, true);
	is_out_of_memory = false;
	take(queue, "a", 10);
	assert_empty(queue);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(they_come_out_in_order),
		cmocka_unit_test(the_oldest_make_room),
		cmocka_unit_test(files_outlive_the_process),
		cmocka_unit_test(a_clock_that_is_set_changes_no_order),
		cmocka_unit_test(what_is_damaged_is_left_out),
		cmocka_unit_test(without_a_directory_that_takes_files_they_are_in_memory),
		cmocka_unit_test(one_that_could_not_be_written_for_want_of_memory_is_in_memory),
	};

	return cmocka_run_group_tests(cases, begin, end);
}
