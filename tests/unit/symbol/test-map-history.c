// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory maps of processes that may have ended, put together from events. */
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/map_events.h"
#include "symbol/map_history.h"

static void map(struct map_history *history, uint32_t pid, uint64_t start, uint64_t end,
		const char *path)
{
	const struct mapping mapping = {start, end, 0x1000, 8ULL << 32 | 1, 7, 0, (char *)path};

	map_history_map(history, pid, &mapping);
}

/* Process 1 alone runs. */
static int has_now(void *data, uint32_t pid, struct mappings *mappings)
{
	const struct mapping mapping = {0x100, 0x200, 0, 1, 1, 0, (char *)"live"};

	(void)data;
	return pid == 1 ? mappings_overlay(mappings, &mapping) : -ESRCH;
}

/* `start-end path` of each, as of the time; "": not known. */
static const char *at(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	static char text[4096];
	struct mappings mappings = {0};
	size_t used = 0;

	*text = '\0';
	if (map_history_find(history, pid, time_ns, has_now, NULL, &mappings) < 0)
		return text;
	for (size_t i = 0; i < mappings.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lx-%lx %s",
					 i ? ", " : "", (unsigned long)mappings.items[i].start,
					 (unsigned long)mappings.items[i].end,
					 mappings.items[i].path);
	mappings_release(&mappings);
	return text;
}

CASE(a_later_mapping_lies_over_an_earlier_one)
{
	struct mappings mappings = {0};
	const struct mapping whole = {0x1000, 0x9000, 0x100, 1, 1, 0, (char *)"whole"};
	const struct mapping middle = {0x3000, 0x4000, 0, 1, 2, 0, (char *)"middle"};
	const struct mapping across = {0x3800, 0x5000, 0, 1, 3, 0, (char *)"across"};
	const struct mapping below = {0x0800, 0x1800, 0, 1, 4, 0, (char *)"below"};
	const struct mapping all = {0x0000, 0xf000, 0, 1, 5, 0, (char *)"all"};

	assert_int_equal(mappings_overlay(&mappings, &whole), 0);
	assert_int_equal(mappings_overlay(&mappings, &middle), 0);
	assert_int_equal(mappings.count, 3);
	assert_int_equal(mappings.items[0].end, 0x3000);
	assert_string_equal(mappings.items[1].path, "middle");
	assert_int_equal(mappings.items[2].start, 0x4000);
	assert_int_equal(mappings.items[2].offset, 0x3100);
	assert_int_equal(mappings_overlay(&mappings, &across), 0);
	assert_int_equal(mappings.count, 4);
	assert_int_equal(mappings.items[1].end, 0x3800);
	assert_int_equal(mappings.items[3].start, 0x5000);
	assert_int_equal(mappings.items[3].offset, 0x4100);
	assert_int_equal(mappings_overlay(&mappings, &below), 0);
	assert_int_equal(mappings.items[1].start, 0x1800);
	assert_int_equal(mappings.items[1].offset, 0x900);
	assert_int_equal(mappings_overlay(&mappings, &all), 0);
	assert_int_equal(mappings.count, 1);
	assert_string_equal(mappings.items[0].path, "all");
	mappings_release(&mappings);
}

CASE(a_written_mapping_is_read_again)
{
	struct mapping mapping = {
		0x1000, 0x2000, 0x3000, 0xfe00000001ULL, 99, 0, (char *)"/a file\nof two lines"};
	char *line = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&line, &length);

	mapping_write(&mapping, file);
	fclose(file);
	assert_true(mapping_parse(line, &mapping));
	assert_int_equal(mapping.start, 0x1000);
	assert_int_equal(mapping.end, 0x2000);
	assert_int_equal(mapping.offset, 0x3000);
	assert_int_equal(mapping.device, 0xfe00000001ULL);
	assert_int_equal(mapping.inode, 99);
	assert_string_equal(mapping.path, "/a file\\012of two lines");
	free(line);
}

CASE(a_process_has_what_its_parent_had_until_its_exec)
{
	struct map_history *history = map_history_new();

	/* 1 began before all this, and still runs */
	map_history_fork(history, 2, 1, 100);
	map(history, 2, 0x1000, 0x2000, "plugin");
	map_history_fork(history, 3, 2, 200);
	map_history_exec(history, 3, 300);
	map(history, 3, 0x5000, 0x6000, "program");
	map(history, 3, 0x7000, 0x8000, "ld.so");
	assert_true(map_history_is_now(history, 2, 150));
	assert_true(map_history_is_now(history, 3, 300));
	assert_false(map_history_is_now(history, 3, 299));
	assert_string_equal(at(history, 3, 250), "100-200 live, 1000-2000 plugin");
	map_history_exit(history, 3, 400);
	map_history_exit(history, 2, 400);
	assert_false(map_history_is_now(history, 3, 350));
	assert_string_equal(at(history, 3, 350), "5000-6000 program, 7000-8000 ld.so");
	assert_string_equal(at(history, 3, 250), "100-200 live, 1000-2000 plugin");
	assert_string_equal(map_history_program(history, 3, 350), "program");
	assert_null(map_history_program(history, 2, 350));
	assert_int_equal(map_history_parent(history, 3, 350), 2);
	/* when the parent has ended, too, what it had is not known */
	map_history_exit(history, 1, 500);
	assert_string_equal(at(history, 2, 150), "");
	assert_string_equal(at(history, 3, 350), "5000-6000 program, 7000-8000 ld.so");
	map_history_free(history);
}

static void map_at(struct map_history *history, uint32_t pid, uint64_t time_ns, uint64_t start,
		   uint64_t end, uint64_t inode, const char *path)
{
	const struct mapping mapping = {start, end, 0, 1, inode, time_ns, (char *)path};

	map_history_map(history, pid, &mapping);
}

CASE(a_process_that_runs_had_another_library_there)
{
	struct map_history *history = map_history_new();
	uint8_t groups[OPENER_GROUPS / 8];

	map_history_fork(history, 2, 1, 100);
	map_history_exec(history, 2, 200);
	map_at(history, 2, 210, 0x5000, 0x6000, 1, "program");
	map_at(history, 2, 300, 0x8000, 0x9000, 2, "first");
	map_at(history, 2, 400, 0x8000, 0x9000, 3, "second");
	map_at(history, 2, 500, 0xa000, 0xb000, 0, ""); /* code made at run time */
	assert_true(map_history_is_now(history, 2, 350));
	assert_string_equal(at(history, 2, 250), "5000-6000 program");
	assert_string_equal(at(history, 2, 399), "5000-6000 program, 8000-9000 first");
	assert_string_equal(at(history, 2, 400), "5000-6000 program, 8000-9000 second");
	assert_int_equal(map_history_changed(history, 2, 0), 210);
	assert_int_equal(map_history_changed(history, 2, 210), 300);
	assert_int_equal(map_history_changed(history, 2, 350), 400);
	assert_int_equal(map_history_changed(history, 2, 400), 0);
	assert_int_equal(map_history_changed(history, 7, 0), 0);
	map_history_groups(history, 399, groups);
	assert_int_equal(groups[0], 1U << 2);
	map_history_groups(history, 400, groups);
	assert_int_equal(groups[0], 0);
	/* what its child has is what it had when the child began */
	map_history_fork(history, 3, 2, 350);
	assert_string_equal(at(history, 3, 600), "5000-6000 program, 8000-9000 first");
	map_history_free(history);
}

CASE(what_is_mapped_now_was_not_before_it_was_mapped)
{
	struct map_history *history = map_history_new();

	/* 1 began before all this: what it had where it mapped another file is not known */
	map_at(history, 1, 300, 0x180, 0x200, 2, "later");
	assert_string_equal(at(history, 1, 250), "100-180 live, 180-200 ");
	assert_string_equal(at(history, 1, 300), "100-180 live, 180-200 later");
	map_history_free(history);
}

CASE(a_pid_that_is_used_again)
{
	struct map_history *history = map_history_new();

	for (uint32_t i = 0; i < 3; i++) {
		map_history_fork(history, 9, 1, 100 * i);
		map_history_exec(history, 9, 100 * i + 10);
		map(history, 9, 0x1000 + i, 0x2000, i == 1 ? "second" : "other");
		map_history_exit(history, 9, 100 * i + 90);
	}
	assert_string_equal(at(history, 9, 150), "1001-2000 second");
	assert_string_equal(at(history, 9, 250), "1002-2000 other");
	/* another one of the same hash */
	map_history_exec(history, 9 + 4096, 160);
	map(history, 9 + 4096, 0x3000, 0x4000, "stranger");
	assert_string_equal(at(history, 9, 170), "1001-2000 second");
	map_history_free(history);
}

CASE(what_is_kept_has_a_bound)
{
	struct map_history *history = map_history_new();

	for (uint32_t pid = 1; pid <= 20000; pid++) {
		map_history_exec(history, pid, pid);
		for (uint64_t i = 0; i < 20; i++)
			map(history, pid, 0x1000 * (i + 1), 0x1000 * (i + 2), "library");
		map_history_exit(history, pid, pid);
	}
	assert_string_equal(at(history, 1, 1), "");
	assert_true(strlen(at(history, 20000, 20000)) > 300);
	/* of one that maps code for ever, nothing: it would be wrong */
	map_history_exec(history, 5, 30000);
	for (uint64_t i = 0; i < 600; i++)
		map(history, 5, 0x1000 * (i + 1), 0x1000 * (i + 2), "made");
	assert_string_equal(at(history, 5, 30001), "");
	assert_true(strlen(at(history, 20000, 20000)) > 300);
	/* events were lost */
	map_history_forget(history);
	assert_string_equal(at(history, 20000, 20000), "");
	map_history_free(history);
}

static int none_now(void *data, uint32_t pid, struct mappings *mappings)
{
	(void)data;
	(void)pid;
	(void)mappings;
	return -ESRCH;
}

CASE(what_the_kernel_says_of_a_process_that_has_ended)
{
	struct map_events *events = map_events_open();
	struct map_history *history = map_history_new();
	struct mappings mappings = {0};
	uint64_t ran_ns = 0;
	bool has_true = false;
	int status;
	pid_t pid;

	if (!events) {
		map_history_free(history);
		skip(); /* no CAP_PERFMON */
	}
	pid = fork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	assert_true(waitpid(pid, &status, 0) == pid);
	if (status)
		skip(); /* there is no such program */
	ran_ns = clock_monotonic_ns();
	usleep(2 * MAP_EVENTS_SETTLED_NS / 1000);
	map_events_read(events, history);
	assert_false(map_history_is_now(history, (uint32_t)pid, ran_ns));
	assert_int_equal(map_history_parent(history, (uint32_t)pid, ran_ns), getpid());
	assert_int_equal(
		map_history_find(history, (uint32_t)pid, ran_ns, none_now, NULL, &mappings), 0);
	for (size_t i = 0; i < mappings.count; i++)
		has_true |= strstr(mappings.items[i].path, "/true") && mappings.items[i].inode;
	assert_true(has_true && mappings.count > 1);
	assert_non_null(strstr(map_history_program(history, (uint32_t)pid, ran_ns), "/true"));
	mappings_release(&mappings);
	map_history_free(history);
	map_events_close(events);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(a_later_mapping_lies_over_an_earlier_one),
		cmocka_unit_test(a_written_mapping_is_read_again),
		cmocka_unit_test(a_process_has_what_its_parent_had_until_its_exec),
		cmocka_unit_test(a_process_that_runs_had_another_library_there),
		cmocka_unit_test(what_is_mapped_now_was_not_before_it_was_mapped),
		cmocka_unit_test(a_pid_that_is_used_again),
		cmocka_unit_test(what_is_kept_has_a_bound),
		cmocka_unit_test(what_the_kernel_says_of_a_process_that_has_ended),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
