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

/* `start-end path` of each; they are released. */
static const char *text_of(struct mappings *mappings)
{
	static char text[1 << 16];
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < mappings->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lx-%lx %s",
					 i ? ", " : "", (unsigned long)mappings->items[i].start,
					 (unsigned long)mappings->items[i].end,
					 mappings->items[i].path);
	mappings_release(mappings);
	return text;
}

/* As of the time; "": not known. */
static const char *at(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	struct mappings mappings = {0};

	return map_history_find(history, pid, time_ns, has_now, NULL, &mappings) < 0
		       ? ""
		       : text_of(&mappings);
}

/* What there is at the one time and is not at the other. */
static const char *different(const struct map_history *history, uint32_t pid, uint64_t from_ns,
			     uint64_t time_ns)
{
	struct mappings mappings = {0};
	int result = map_history_differences(history, pid, from_ns, time_ns, &mappings);

	assert_true(result == 0 || result == -ENOENT);
	return result == 0 ? text_of(&mappings) : "not known";
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

static void assert_unchanged(const struct map_history *history, uint32_t pid, uint64_t time_ns,
			     uint64_t since_ns, uint64_t until_ns)
{
	uint64_t since, until;

	assert_int_equal(map_history_unchanged(history, pid, time_ns, &since, &until), 0);
	assert_int_equal(since, since_ns);
	assert_int_equal(until, until_ns);
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
	assert_unchanged(history, 2, 205, 0, 210);
	assert_unchanged(history, 2, 210, 210, 300);
	assert_unchanged(history, 2, 350, 300, 400);
	assert_unchanged(history, 2, 400, 400, 0);
	assert_unchanged(history, 2, 600, 400, 0);
	assert_unchanged(history, 7, 600, 0, 0);
	assert_true(map_history_has_now(history, 2));
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

/* Whether that is there, at that time. */
static bool is_mapped(const struct map_history *history, uint32_t pid, uint64_t time_ns,
		      unsigned long start, const char *path)
{
	char text[64];

	snprintf(text, sizeof(text), "%lx-%lx %s", start, start + 0x1000, path);
	return strstr(at(history, pid, time_ns), text);
}

/* "second" is loaded for two of ten moments, "first" for the others; i begins at the moment 10 i.
 */
static void take_turns(struct map_history *history, uint32_t pid, uint64_t from, uint64_t until)
{
	for (uint64_t i = from; i < until; i++) {
		map_at(history, pid, 10 * i, 0x8000, 0x9000, 2, "first");
		map_at(history, pid, 10 * i + 8, 0x8000, 0x9000, 3, "second");
	}
}

CASE(libraries_take_turns_for_ever)
{
	struct map_history *history = map_history_new();

	map_history_exec(history, 2, 5);
	map_at(history, 2, 6, 0x5000, 0x6000, 1, "program");
	take_turns(history, 2, 10, 5000);
	for (uint64_t i = 4950; i < 5000; i++) {
		assert_string_equal(at(history, 2, 10 * i + 7),
				    "5000-6000 program, 8000-9000 first");
		assert_string_equal(at(history, 2, 10 * i + 8),
				    "5000-6000 program, 8000-9000 second");
	}
	assert_unchanged(history, 2, 49993, 49990, 49998);
	/* so long ago, nothing is known of that place, and all of the others */
	assert_string_equal(at(history, 2, 1000), "5000-6000 program, 8000-9000 ");
	assert_int_equal(map_history_lacking(history, 2, 50001), 0);
	map_history_free(history);
}

CASE(what_differs_between_two_times)
{
	struct map_history *history = map_history_new();

	map_history_exec(history, 2, 5);
	map_at(history, 2, 6, 0x5000, 0x6000, 1, "program");
	/* until files take the place of others the whole map is read */
	assert_string_equal(different(history, 2, 5, 7), "not known");
	take_turns(history, 2, 10, 5000);
	map_at(history, 2, 50000, 0x8800, 0xa000, 4, "third");
	assert_string_equal(different(history, 2, 49991, 49997), "");
	assert_string_equal(different(history, 2, 49991, 49998), "8000-9000 second");
	assert_string_equal(different(history, 2, 49998, 49991), "8000-9000 first");
	assert_string_equal(different(history, 2, 49998, 60000), "8800-a000 third");
	assert_string_equal(different(history, 2, 60000, 49991),
			    "8000-8800 first, 8800-9000 first, 9000-a000 ");
	/* too long ago */
	assert_string_equal(different(history, 2, 1000, 60000), "not known");
	map_history_exit(history, 2, 70000);
	assert_string_equal(different(history, 2, 49991, 49998), "not known");
	map_history_free(history);
}

CASE(what_was_lost_long_ago_is_known_since)
{
	struct map_history *history = map_history_new();

	map_history_exec(history, 2, 5);
	/* more at once than is kept */
	for (uint64_t i = 0; i < 1000; i++)
		map_at(history, 2, 10 + i, 0x100000 + 0x2000 * i, 0x101000 + 0x2000 * i, 5, "more");
	/* at an address between them two take turns */
	for (uint64_t i = 0; i < 1000; i++)
		map_at(history, 2, 2000 + i, 0x101000, 0x102000, 2 + i % 2,
		       i % 2 ? "second" : "first");
	assert_false(is_mapped(history, 2, 2100, 0x101000, "first"));
	assert_false(is_mapped(history, 2, 2100, 0x101000, "second"));
	assert_true(is_mapped(history, 2, 2100, 0x100000 + 0x2000 * 999, "more"));
	assert_true(is_mapped(history, 2, 2990, 0x101000, "first"));
	assert_true(is_mapped(history, 2, 2991, 0x101000, "second"));
	/* in the midst of its exec, what it was about to map */
	assert_true(is_mapped(history, 2, 6, 0x100000 + 0x2000 * 999, "more"));
	map_history_free(history);
}

CASE(what_a_process_had_before_is_adopted)
{
	const struct mapping live[] = {{0x1000, 0xa000, 0x100, 1, 1, 0, (char *)"live"},
				       {0xf000, 0xf800, 0, 1, 4, 0, (char *)"other"}};
	const struct mappings now = {.items = (struct mapping *)live, .count = 2};
	struct map_history *history = map_history_new();

	assert_int_equal(map_history_lacking(history, 9, 500), 0); /* nothing has been seen of it */
	map_at(history, 9, 300, 0x8000, 0x9000, 2, "first");
	map_at(history, 9, 400, 0x8000, 0x8800, 3, "second");
	assert_int_equal(map_history_lacking(history, 9, 500), 9);
	map_history_adopt(history, 9, &now, 500);
	assert_int_equal(map_history_lacking(history, 9, 500), 0);
	assert_true(map_history_has_now(history, 9));
	/* what was in the place of others before is not known */
	assert_string_equal(at(history, 9, 299), "1000-8000 live, 9000-a000 live, f000-f800 other");
	assert_string_equal(at(history, 9, 300), "1000-8000 live, 8000-9000 first, "
						 "9000-a000 live, f000-f800 other");
	assert_string_equal(at(history, 9, 400), "1000-8000 live, 8000-8800 second, "
						 "8800-9000 first, 9000-a000 live, "
						 "f000-f800 other");
	take_turns(history, 9, 100, 2000);
	assert_string_equal(at(history, 9, 19997), "1000-8000 live, 8000-9000 first, "
						   "9000-a000 live, f000-f800 other");
	/* what had no end was dropped: it is there now, if ever */
	for (uint64_t i = 0; i < 1000; i++)
		map_at(history, 9, 20000 + i, 0x100000 + 0x2000 * i, 0x101000 + 0x2000 * i, 5,
		       "more");
	assert_int_equal(map_history_lacking(history, 9, 30000), 9);
	map_history_free(history);
}

CASE(what_a_parent_had_is_adopted_once_for_all_its_children)
{
	const struct mapping live[] = {{0x1000, 0xa000, 0x100, 1, 1, 0, (char *)"live"}};
	const struct mappings now = {.items = (struct mapping *)live, .count = 1};
	struct map_history *history = map_history_new();

	/* children of children of one of which nothing has been seen */
	map_history_fork(history, 10, 9, 100);
	map_history_fork(history, 11, 10, 200);
	map_at(history, 11, 210, 0xb000, 0xc000, 2, "own");
	map_history_exit(history, 11, 300);
	map_history_exit(history, 10, 310);
	map_at(history, 9, 150, 0x8000, 0x9000, 3, "later");
	assert_int_equal(map_history_lacking(history, 11, 250), 9);
	assert_string_equal(at(history, 11, 250), "");
	map_history_adopt(history, 9, &now, 500);
	assert_int_equal(map_history_lacking(history, 11, 250), 0);
	/* no one is asked any more; what the parent mapped later is not the children's */
	assert_string_equal(at(history, 11, 250), "1000-8000 live, 9000-a000 live, b000-c000 own");
	assert_string_equal(at(history, 9, 250), "1000-8000 live, 8000-9000 later, 9000-a000 live");
	/* what has ended has nothing to adopt */
	map_history_fork(history, 21, 20, 600);
	map_history_exit(history, 20, 700);
	assert_int_equal(map_history_lacking(history, 21, 650), 21);
	map_history_exit(history, 21, 700);
	assert_int_equal(map_history_lacking(history, 21, 650), 0);
	/* what has too much is asked for once */
	map_history_fork(history, 31, 30, 800);
	map_history_exit(history, 31, 900);
	assert_int_equal(map_history_lacking(history, 31, 850), 30);
	map_history_adopt(history, 30, &(struct mappings){.count = 1 << 20}, 950);
	assert_int_equal(map_history_lacking(history, 31, 850), 0);
	map_history_free(history);
}

CASE(code_that_is_made_at_run_time_is_no_change)
{
	struct map_history *history = map_history_new();

	map_history_exec(history, 2, 5);
	map_at(history, 2, 6, 0x5000, 0x6000, 1, "program");
	map_at(history, 2, 7, 0x8000, 0x9000, 2, "plugin");
	for (uint64_t i = 0; i < 5000; i++)
		map_at(history, 2, 10 + i, 0x100000, 0x101000 + 0x1000 * (i % 16), 0, "");
	assert_unchanged(history, 2, 6000, 7, 0);
	assert_string_equal(at(history, 2, 6000),
			    "5000-6000 program, 8000-9000 plugin, 100000-110000 ");
	/* but where a file had been */
	map_at(history, 2, 7000, 0x8800, 0x8900, 0, "");
	assert_unchanged(history, 2, 7000, 7000, 0);
	map_history_free(history);
}

static int none_now(void *data, uint32_t pid, struct mappings *mappings)
{
	(void)data;
	(void)pid;
	(void)mappings;
	return -ESRCH;
}

#define CHANCE_PAGES  48
#define CHANCE_EVENTS 3000

/* What a process has mapped, one after the other; of "", which is in no file, to "e". */
struct chance {
	struct mapping mappings[CHANCE_EVENTS];
	size_t count;
	uint32_t state;
};

static uint32_t chance(struct chance *chances, uint32_t below)
{
	chances->state = chances->state * 1664525 + 1013904223;
	return (chances->state >> 8) % below;
}

static const struct mapping *map_by_chance(struct chance *chances)
{
	static const char *const paths[] = {"", "a", "b", "c", "d", "e"};
	struct mapping *mapping = &chances->mappings[chances->count];
	uint64_t inode = chance(chances, 6);

	*mapping = (struct mapping){.start = 0x1000 * (uint64_t)chance(chances, CHANCE_PAGES),
				    .offset = inode ? 0x1000 * (uint64_t)chance(chances, 4) : 0,
				    .device = 1,
				    .inode = inode,
				    .time_ns = 10 + 10 * chances->count,
				    .path = (char *)paths[inode]};
	mapping->end = mapping->start + 0x1000 * (uint64_t)(1 + chance(chances, 6));
	/* mostly where another one was */
	if (chances->count > 4 && chance(chances, 3)) {
		mapping->start = mapping[-4].start;
		mapping->end = mapping[-4].end;
	}
	chances->count++;
	return mapping;
}

/* Whether what is found there is what was mapped there last; or nothing, as it is not known. */
static bool is_right(const struct chance *chances, const struct mappings *found, uint64_t address,
		     uint64_t time_ns, size_t *known)
{
	const struct mapping *mapping = mappings_find(found, address), *truth = NULL;

	if (!mapping || !*mapping->path)
		return true;
	for (size_t i = 0; i < chances->count && chances->mappings[i].time_ns <= time_ns; i++)
		if (chances->mappings[i].start <= address && address < chances->mappings[i].end)
			truth = &chances->mappings[i];
	(*known)++;
	return truth && !strcmp(truth->path, mapping->path) &&
	       truth->offset + address - truth->start == mapping->offset + address - mapping->start;
}

CASE(whatever_is_dropped_no_file_is_wrong)
{
	static struct chance chances;
	size_t known = 0;

	for (uint32_t seed = 1; seed <= 8; seed++) {
		struct map_history *history = map_history_new();

		chances = (struct chance){.state = seed};
		map_history_exec(history, 2, 5);
		while (chances.count < CHANCE_EVENTS) {
			struct mappings found = {0};
			uint64_t last_ns, time_ns;

			map_history_map(history, 2, map_by_chance(&chances));
			last_ns = 10 * (uint64_t)chances.count;
			time_ns = last_ns - chance(&chances, chance(&chances, 2) && last_ns > 4000
								     ? 4000
								     : (uint32_t)last_ns - 9);
			if (chance(&chances, 16) ||
			    map_history_find(history, 2, time_ns, none_now, NULL, &found) < 0)
				continue;
			for (uint64_t page = 0; page < CHANCE_PAGES; page++)
				assert_true(
					is_right(&chances, &found, 0x1000 * page, time_ns, &known));
			mappings_release(&found);
		}
		map_history_free(history);
	}
	assert_true(known > 10000);
}

CASE(what_is_kept_has_a_bound)
{
	struct map_history *history = map_history_new();
	uint64_t since_ns, until_ns;

	for (uint32_t pid = 1; pid <= 20000; pid++) {
		map_history_exec(history, pid, pid);
		for (uint64_t i = 0; i < 20; i++)
			map(history, pid, 0x1000 * (i + 1), 0x1000 * (i + 2), "library");
		map_history_exit(history, pid, pid);
	}
	assert_string_equal(at(history, 1, 1), "");
	assert_true(strlen(at(history, 20000, 20000)) > 300);
	/* of one that maps code for ever, the last; it does not drive out others */
	map_history_exec(history, 5, 30000);
	map_at(history, 5, 30000, 0x1000, 0x2000, 8, "program");
	for (uint64_t i = 1; i <= 60000; i++)
		map_at(history, 5, 30000 + i, 0x1000 * (i + 1), 0x1000 * (i + 2), 7, "made");
	assert_string_equal(map_history_program(history, 5, 80000), "program");
	assert_true(is_mapped(history, 5, 90000, 0x1000UL * 60001, "made"));
	assert_false(is_mapped(history, 5, 90000, 0x1000, "program"));
	assert_true(strlen(at(history, 20000, 20000)) > 300);
	/* events were lost */
	map_history_forget(history, 100000);
	assert_string_equal(at(history, 20000, 20000), "");
	assert_int_equal(map_history_unchanged(history, 5, 99999, &since_ns, &until_ns), 100000);
	assert_int_equal(until_ns, 100000);
	assert_unchanged(history, 5, 100000, 100000, 0);
	map_history_free(history);
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
		cmocka_unit_test(libraries_take_turns_for_ever),
		cmocka_unit_test(what_differs_between_two_times),
		cmocka_unit_test(what_was_lost_long_ago_is_known_since),
		cmocka_unit_test(what_a_process_had_before_is_adopted),
		cmocka_unit_test(what_a_parent_had_is_adopted_once_for_all_its_children),
		cmocka_unit_test(code_that_is_made_at_run_time_is_no_change),
		cmocka_unit_test(whatever_is_dropped_no_file_is_wrong),
		cmocka_unit_test(what_is_kept_has_a_bound),
		cmocka_unit_test(what_the_kernel_says_of_a_process_that_has_ended),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
