// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/map_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/interned.h"
#include "symbol/map_places.h"

/* Programs that are known, and what all of them have mapped: about 10 MiB. */
#define PROGRAMS_MAX (1 << 12)
#define PLACES_MAX   (1 << 16)
#define PATHS_BYTES  (4 << 20)

/* How far back the parents of a process are asked for what it had mapped before its own exec. */
#define PARENTS_MAX 16

/* What a process ran from its fork or exec to the next exec, or its end. */
struct program {
	uint32_t pid, parent;	   /* 0: none; not known */
	uint64_t begin_ns, end_ns; /* UINT64_MAX: it runs */
	bool is_whole;		   /* all that it had before is among its places */
	bool is_huge;		   /* that is too much to be */
	bool is_exec;
	size_t path;	   /* of its file, which load_elf_binary() maps first: number + 1, or 0 */
	uint64_t first_ns; /* when it mapped that */
	uint32_t earlier;  /* of the same hash: number + 1, or 0 */
	struct map_places places;
};

struct map_history {
	struct program programs[PROGRAMS_MAX]; /* by number modulo PROGRAMS_MAX */
	uint64_t next;			       /* number */
	uint32_t newest[PROGRAMS_MAX];	       /* by the hash of a pid: place + 1, or 0 */
	size_t place_count;		       /* of all programs */
	uint64_t oldest;		       /* number of the oldest one that has places */
	/* By pid, when the last one of them mapped a file; and before when that is not known. */
	uint64_t mapped_ns[OPENER_GROUPS], lost_ns[OPENER_GROUPS];
	struct interned paths;
};

struct map_history *map_history_new(void)
{
	struct map_history *history = calloc(1, sizeof(*history));

	if (history)
		history->paths.bytes_max = PATHS_BYTES;
	return history;
}

static void release(struct map_history *history)
{
	for (size_t i = 0; i < PROGRAMS_MAX; i++)
		map_places_release(&history->programs[i].places);
	interned_release(&history->paths);
}

void map_history_forget(struct map_history *history, uint64_t time_ns)
{
	release(history);
	memset(history, 0, sizeof(*history));
	history->paths.bytes_max = PATHS_BYTES;
	for (size_t i = 0; i < OPENER_GROUPS; i++)
		history->mapped_ns[i] = history->lost_ns[i] = time_ns;
}

void map_history_free(struct map_history *history)
{
	if (!history)
		return;
	release(history);
	free(history);
}

static size_t group_of(uint32_t pid)
{
	return pid % OPENER_GROUPS;
}

static uint32_t *newest_of(struct map_history *history, uint32_t pid)
{
	return &history->newest[pid % PROGRAMS_MAX];
}

static void drop_places(struct map_history *history, struct program *program)
{
	history->place_count -= program->places.count;
	map_places_release(&program->places);
}

/* When it mapped what it mapped last. */
static uint64_t last_ns(const struct program *program)
{
	const struct map_places *places = &program->places;

	if (places->count > places->had &&
	    places->items[places->count - 1].time_ns > places->lost_ns)
		return places->items[places->count - 1].time_ns;
	return places->lost_ns;
}

static void drop(struct map_history *history, struct program *program)
{
	uint32_t place = (uint32_t)(program - history->programs) + 1;
	uint32_t *link = newest_of(history, program->pid);

	if (!program->pid)
		return;
	while (*link && *link != place)
		link = &history->programs[*link - 1].earlier;
	/* it was the last of its chain: those before it are older, and gone */
	if (*link)
		*link = program->earlier;
	if (program->end_ns == UINT64_MAX &&
	    last_ns(program) > history->lost_ns[group_of(program->pid)])
		history->lost_ns[group_of(program->pid)] = last_ns(program);
	drop_places(history, program);
	program->pid = 0;
}

/* The last one that had begun by then. */
static struct program *find(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	uint32_t place = history->newest[pid % PROGRAMS_MAX];

	while (place) {
		const struct program *program = &history->programs[place - 1];

		if (program->pid == pid && program->begin_ns <= time_ns)
			return (struct program *)program;
		place = program->earlier;
	}
	return NULL;
}

static struct program *newest(const struct map_history *history, uint32_t pid)
{
	return find(history, pid, UINT64_MAX);
}

static struct program *begin(struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	struct program *program = &history->programs[history->next % PROGRAMS_MAX];
	uint32_t *first;

	drop(history, program);
	first = newest_of(history, pid);
	*program = (struct program){
		.pid = pid, .begin_ns = time_ns, .end_ns = UINT64_MAX, .earlier = *first};
	*first = (uint32_t)(program - history->programs) + 1;
	history->next++;
	return program;
}

/* One that began before what is known. */
static struct program *begin_unseen(struct map_history *history, uint32_t pid)
{
	struct program *program = begin(history, pid, 0);

	if (history->lost_ns[group_of(pid)])
		map_places_lose(&program->places, 0, UINT64_MAX, history->lost_ns[group_of(pid)]);
	return program;
}

void map_history_fork(struct map_history *history, uint32_t pid, uint32_t parent, uint64_t time_ns)
{
	if (pid)
		begin(history, pid, time_ns)->parent = parent;
}

void map_history_exec(struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	struct program *before = newest(history, pid);
	uint32_t parent = before ? before->parent : 0;

	if (!pid)
		return;
	if (before && before->end_ns > time_ns)
		before->end_ns = time_ns;
	before = begin(history, pid, time_ns);
	before->parent = parent;
	before->is_whole = before->is_exec = true;
}

void map_history_exit(struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	struct program *program = newest(history, pid);

	/* that it has ended is worth knowing */
	if (!program && pid)
		program = begin_unseen(history, pid);
	if (program && program->end_ns > time_ns)
		program->end_ns = time_ns;
}

/* It may have more than is among its places. */
static bool is_lacking(const struct program *program)
{
	return !program->is_whole || program->places.is_cut;
}

/* Of all programs there are too many: those of the oldest go. */
static void make_room(struct map_history *history)
{
	uint64_t first = history->next > PROGRAMS_MAX ? history->next - PROGRAMS_MAX : 0;

	if (history->oldest < first || history->oldest == history->next)
		history->oldest = first;
	while (history->place_count >= PLACES_MAX && history->oldest < history->next) {
		struct program *program = &history->programs[history->oldest % PROGRAMS_MAX];
		uint64_t lost_ns = last_ns(program);

		drop_places(history, program);
		map_places_lose(&program->places, 0, UINT64_MAX, lost_ns);
		program->places.is_cut = true;
		history->oldest++;
	}
}

/* False: there is no memory, or too much that is kept already: all is forgotten. */
static bool number_path(struct map_history *history, const struct mapping *mapping,
			uint64_t time_ns, size_t *ret_path)
{
	*ret_path = interned_add(&history->paths, mapping->path, strlen(mapping->path) + 1);
	if (*ret_path != INTERNED_NONE && *ret_path != INTERNED_FULL)
		return true;
	map_history_forget(history, time_ns);
	return false;
}

static struct map_place place_of(const struct mapping *mapping, size_t path)
{
	return (struct map_place){.start = mapping->start,
				  .end = mapping->end,
				  .offset = mapping->offset,
				  .device = mapping->device,
				  .inode = mapping->inode,
				  .time_ns = mapping->time_ns,
				  .path = path};
}

void map_history_map(struct map_history *history, uint32_t pid, const struct mapping *mapping)
{
	struct program *program = newest(history, pid);
	struct map_place place;
	size_t before, path;
	int result;

	if (!pid || !number_path(history, mapping, mapping->time_ns, &path))
		return;
	if (!program)
		program = begin_unseen(history, pid);
	make_room(history);
	place = place_of(mapping, path);
	place.is_change = !program->is_whole;
	before = program->places.count;
	result = map_places_add(&program->places, place);
	if (result < 0) {
		map_history_forget(history, mapping->time_ns);
		return;
	}
	history->place_count += program->places.count - before;
	if (program->is_exec && !program->path) {
		program->path = path + 1;
		program->first_ns = mapping->time_ns;
	}
	if (result > 0)
		history->mapped_ns[group_of(pid)] = mapping->time_ns;
}

void map_history_adopt(struct map_history *history, uint32_t pid, const struct mappings *now,
		       uint64_t time_ns)
{
	struct program *program = newest(history, pid);
	struct map_place *places;
	size_t before, path;
	int result;

	if (!pid)
		return;
	if (!program)
		program = begin_unseen(history, pid);
	program->is_huge = now->count > MAP_PLACES_HAD_MAX;
	if (program->is_huge)
		return;
	before = program->places.count;
	places = calloc(now->count + 1, sizeof(*places));
	for (size_t i = 0; places && i < now->count; i++) {
		if (!number_path(history, &now->items[i], time_ns, &path)) {
			free(places);
			return;
		}
		places[i] = place_of(&now->items[i], path);
	}
	result = places ? map_places_adopt(&program->places, places, now->count) : -ENOMEM;
	free(places);
	if (result == 0)
		program->is_whole = true;
	program->is_huge = result == -E2BIG;
	history->place_count += program->places.count - before;
}

uint64_t map_history_unchanged(const struct map_history *history, uint32_t pid, uint64_t time_ns,
			       uint64_t *ret_since, uint64_t *ret_until)
{
	const struct program *program = newest(history, pid);
	struct map_places none = {0};
	const struct map_places *places = program ? &program->places : &none;

	if (!program && history->lost_ns[group_of(pid)])
		map_places_lose(&none, 0, UINT64_MAX, history->lost_ns[group_of(pid)]);
	map_places_unchanged(places, time_ns, ret_since, ret_until);
	return time_ns < places->lost_ns ? places->lost_ns : 0;
}

bool map_history_has_now(const struct map_history *history, uint32_t pid)
{
	const struct program *program = newest(history, pid);

	return program && !is_lacking(program) &&
	       (program->places.is_reused || program->places.had);
}

void map_history_groups(const struct map_history *history, uint64_t since_ns,
			uint8_t ret_bits[OPENER_GROUPS / 8])
{
	memset(ret_bits, 0, OPENER_GROUPS / 8);
	for (size_t i = 0; i < OPENER_GROUPS; i++)
		if (history->mapped_ns[i] > since_ns)
			ret_bits[i / 8] |= (uint8_t)(1U << i % 8);
}

bool map_history_is_now(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	const struct program *program = newest(history, pid);

	return !program || (program->begin_ns <= time_ns && program->end_ns == UINT64_MAX);
}

static const char *path_at(const struct map_history *history, size_t number)
{
	return (const char *)history->paths.bytes + history->paths.items[number].at;
}

static const char *path_of(const struct map_history *history, const struct map_place *place)
{
	return path_at(history, place->path);
}

static struct mapping mapping_of(const struct map_history *history, const struct map_place *place)
{
	return (struct mapping){.start = place->start,
				.end = place->end,
				.offset = place->offset,
				.device = place->device,
				.inode = place->inode,
				.path = (char *)path_of(history, place)};
}

/* The programs whose mappings, one over the other, are those of the process: itself first. */
static size_t lineage(const struct map_history *history, uint32_t pid, uint64_t time_ns,
		      const struct program *programs[PARENTS_MAX])
{
	size_t count = 0;

	while (count < PARENTS_MAX) {
		const struct program *program = find(history, pid, time_ns);

		if (!program)
			break;
		programs[count++] = program;
		if (program->is_whole || program->places.is_cut || !program->parent)
			break;
		pid = program->parent;
		time_ns = program->begin_ns;
	}
	return count;
}

/* No file is known there. */
static int clear(struct mappings *mappings, uint64_t start, uint64_t end)
{
	const struct mapping unknown = {.start = start, .end = end, .path = (char *)""};

	return mappings_overlay(mappings, &unknown);
}

/* What it had mapped by then; in the midst of its exec(), what it was about to map. */
static int add_places(const struct map_history *history, const struct program *program,
		      uint64_t time_ns, struct mappings *mappings)
{
	const struct map_places *places = &program->places;
	bool is_midst = program->is_exec && time_ns < program->first_ns;

	for (size_t i = 0; i < places->count; i++) {
		const struct mapping mapping = mapping_of(history, &places->items[i]);

		if (places->items[i].time_ns > time_ns && !is_midst)
			break;
		if (mappings_overlay(mappings, &mapping) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < places->lost_count; i++)
		if (time_ns < places->lost[i].until_ns &&
		    clear(mappings, places->lost[i].start, places->lost[i].end) < 0)
			return -ENOMEM;
	return 0;
}

/* What is there now says nothing of a time before other code was mapped there. */
static int clear_later(const struct map_history *history, uint32_t pid, uint64_t time_ns,
		       struct mappings *mappings)
{
	const struct program *program = newest(history, pid);

	for (size_t i = program ? program->places.count : 0; i-- > 0;) {
		const struct map_place *place = &program->places.items[i];

		if (place->time_ns <= time_ns)
			break;
		if (clear(mappings, place->start, place->end) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * Who still has what was mapped before anything was known, or has been dropped since: the process,
 * or its parent, of which this is then asked by *time_ns. 0: it does not run any more.
 */
static uint32_t has_lacking(const struct map_history *history, const struct program *program,
			    uint64_t *time_ns)
{
	bool is_of_parent = program->parent && !program->places.is_cut;
	uint32_t pid = is_of_parent ? program->parent : program->pid;

	if (is_of_parent)
		*time_ns = program->begin_ns;
	return map_history_is_now(history, pid, *time_ns) ? pid : 0;
}

uint32_t map_history_lacking(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	const struct program *programs[PARENTS_MAX], *program = newest(history, pid);
	bool is_now = program && is_lacking(program) && map_history_is_now(history, pid, time_ns);
	size_t count = is_now ? 0 : lineage(history, pid, time_ns, programs);

	if (count && is_lacking(programs[count - 1])) {
		pid = has_lacking(history, programs[count - 1], &time_ns);
		program = pid ? newest(history, pid) : NULL;
		is_now = pid;
	}
	return is_now && !(program && program->is_huge) ? pid : 0;
}

static int add_lacking(const struct map_history *history, const struct program *program,
		       uint64_t time_ns, map_history_now *now, void *data,
		       struct mappings *mappings)
{
	uint32_t of = has_lacking(history, program, &time_ns);
	int result = of ? now(data, of, mappings) : -ENOENT;

	if (result >= 0)
		return clear_later(history, of, time_ns, mappings);
	return program->is_whole && result != -ENOMEM ? 0 : result;
}

static bool is_known(const struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->count; i++)
		if (*mappings->items[i].path)
			return true;
	return false;
}

int map_history_find(const struct map_history *history, uint32_t pid, uint64_t time_ns,
		     map_history_now *now, void *data, struct mappings *ret_mappings)
{
	const struct program *programs[PARENTS_MAX], *first;
	size_t count = lineage(history, pid, time_ns, programs);
	struct mappings found = {0};
	int result = 0;

	if (!count)
		return -ENOENT;
	first = programs[count - 1];
	if (is_lacking(first))
		result = add_lacking(history, first, time_ns, now, data, &found);
	while (result == 0 && count) {
		const struct program *program = programs[--count];

		/* a child has what its parent had mapped before it began */
		result = add_places(history, program,
				    count ? programs[count - 1]->begin_ns : time_ns, &found);
	}
	if (result == 0 && !is_known(&found))
		result = -ENOENT;
	if (result < 0)
		mappings_release(&found);
	else
		*ret_mappings = found;
	return result == -ENOMEM ? result : result < 0 ? -ENOENT : 0;
}

/* Of one that changes all the time there are more, and its whole map is as quick to make. */
#define DIFFERENT_MAX 32

struct range {
	uint64_t start, end;
};

/* Where something was mapped after the one time, and until the other. Too many: DIFFERENT_MAX. */
static size_t find_different(const struct map_places *places, uint64_t after_ns, uint64_t until_ns,
			     struct range ranges[DIFFERENT_MAX])
{
	size_t count = 0, known;

	for (size_t i = places->had; i < places->count && count < DIFFERENT_MAX; i++) {
		const struct map_place *place = &places->items[i];

		if (place->time_ns <= after_ns || place->time_ns > until_ns)
			continue;
		for (known = 0; known < count; known++)
			if (ranges[known].start == place->start && ranges[known].end == place->end)
				break;
		if (known == count)
			ranges[count++] = (struct range){place->start, place->end};
	}
	return count;
}

/* The part of a place that lies there, if any does. */
static int add_part(const struct map_history *history, const struct map_place *place,
		    const struct range *range, struct mappings *mappings)
{
	struct mapping mapping = mapping_of(history, place);

	if (mapping.start < range->start) {
		mapping.offset += mapping.inode ? range->start - mapping.start : 0;
		mapping.start = range->start;
	}
	if (mapping.end > range->end)
		mapping.end = range->end;
	return mapping.start < mapping.end ? mappings_overlay(mappings, &mapping) : 0;
}

int map_history_differences(const struct map_history *history, uint32_t pid, uint64_t from_ns,
			    uint64_t time_ns, struct mappings *ret_mappings)
{
	const struct program *program = newest(history, pid);
	uint64_t first_ns = from_ns < time_ns ? from_ns : time_ns;
	struct range ranges[DIFFERENT_MAX];
	struct mappings found = {0};
	size_t count;
	int result = 0;

	if (!map_history_has_now(history, pid) || !map_history_is_now(history, pid, first_ns) ||
	    first_ns < program->places.lost_ns)
		return -ENOENT;
	count = find_different(&program->places, first_ns, from_ns < time_ns ? time_ns : from_ns,
			       ranges);
	if (count == DIFFERENT_MAX)
		return -ENOENT;
	for (size_t i = 0; i < count && result == 0; i++)
		result = clear(&found, ranges[i].start, ranges[i].end);
	for (size_t i = 0; i < program->places.count && result == 0; i++)
		for (size_t k = 0; k < count && result == 0; k++)
			if (program->places.items[i].time_ns <= time_ns)
				result = add_part(history, &program->places.items[i], &ranges[k],
						  &found);
	if (result < 0)
		mappings_release(&found);
	else
		*ret_mappings = found;
	return result;
}

const char *map_history_program(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	const struct program *program = find(history, pid, time_ns);

	for (int i = 0; i < PARENTS_MAX && program && !program->is_exec && program->parent; i++)
		program = find(history, program->parent, program->begin_ns);
	return program && program->path ? path_at(history, program->path - 1) : NULL;
}

uint32_t map_history_parent(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	const struct program *program = find(history, pid, time_ns);

	return program ? program->parent : 0;
}
