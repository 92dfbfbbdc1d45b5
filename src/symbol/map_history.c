// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/map_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/interned.h"

/* Programs that are known, and what all of them have mapped: about 6 MiB. */
#define PROGRAMS_MAX (1 << 12)
#define PLACES_MAX   (1 << 16)
#define PATHS_BYTES  (4 << 20)
/* Of one program, which makes code as it runs: it would drive out all others. */
#define PLACES_OF_ONE 512

/* How far back the parents of a process are asked for what it had mapped before its own exec. */
#define PARENTS_MAX 16

/* As struct mapping; its path is numbered. */
struct place {
	uint64_t start, end, offset, device, inode, time_ns;
	size_t path;
};

/* What a process ran from its fork or exec to the next exec, or its end. */
struct program {
	uint32_t pid, parent;	   /* 0: none; not known */
	uint64_t begin_ns, end_ns; /* UINT64_MAX: it runs */
	bool is_whole;		   /* after an exec: all that is mapped is known */
	bool is_overfull;
	uint32_t earlier; /* of the same hash: number + 1, or 0 */
	struct place *places;
	size_t count, room;
};

struct map_history {
	struct program programs[PROGRAMS_MAX]; /* by number modulo PROGRAMS_MAX */
	uint64_t next;			       /* number */
	uint32_t newest[PROGRAMS_MAX];	       /* by the hash of a pid: place + 1, or 0 */
	size_t place_count;		       /* of all programs */
	uint64_t oldest;		       /* number of the oldest one that has places */
	uint64_t mapped_ns[OPENER_GROUPS];     /* when the last one of them mapped a file */
	struct interned paths;
};

struct map_history *map_history_new(void)
{
	struct map_history *history = calloc(1, sizeof(*history));

	if (history)
		history->paths.bytes_max = PATHS_BYTES;
	return history;
}

void map_history_forget(struct map_history *history)
{
	for (size_t i = 0; i < PROGRAMS_MAX; i++)
		free(history->programs[i].places);
	interned_release(&history->paths);
	memset(history, 0, sizeof(*history));
	history->paths.bytes_max = PATHS_BYTES;
}

void map_history_free(struct map_history *history)
{
	if (!history)
		return;
	map_history_forget(history);
	free(history);
}

static uint32_t *newest_of(struct map_history *history, uint32_t pid)
{
	return &history->newest[pid % PROGRAMS_MAX];
}

static void drop_places(struct map_history *history, struct program *program)
{
	history->place_count -= program->count;
	free(program->places);
	program->places = NULL;
	program->count = program->room = 0;
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
	before->is_whole = true;
}

void map_history_exit(struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	struct program *program = newest(history, pid);

	/* one that began before dwell: that it has ended is worth knowing */
	if (!program && pid)
		program = begin(history, pid, 0);
	if (program && program->end_ns > time_ns)
		program->end_ns = time_ns;
}

/* Of all programs there are too many: those of the oldest go. */
static void make_room(struct map_history *history)
{
	if (history->next > PROGRAMS_MAX && history->oldest < history->next - PROGRAMS_MAX)
		history->oldest = history->next - PROGRAMS_MAX;
	while (history->place_count >= PLACES_MAX && history->oldest < history->next) {
		struct program *program = &history->programs[history->oldest % PROGRAMS_MAX];

		program->is_overfull = true;
		drop_places(history, program);
		history->oldest++;
	}
}

void map_history_map(struct map_history *history, uint32_t pid, const struct mapping *mapping)
{
	struct program *program = newest(history, pid);
	size_t path;

	if (!pid)
		return;
	if (mapping->inode)
		history->mapped_ns[pid % OPENER_GROUPS] = mapping->time_ns;
	if (!program)
		program = begin(history, pid, 0);
	if (program->count == PLACES_OF_ONE) {
		program->is_overfull = true;
		drop_places(history, program);
	}
	if (program->is_overfull)
		return;
	make_room(history);
	path = interned_add(&history->paths, mapping->path, strlen(mapping->path) + 1);
	if (path == INTERNED_NONE || path == INTERNED_FULL ||
	    array_reserve(&program->places, &program->room, program->count + 1,
			  sizeof(*program->places)) < 0) {
		map_history_forget(history);
		return;
	}
	program->places[program->count++] = (struct place){
		mapping->start,	  mapping->end, mapping->offset, mapping->device, mapping->inode,
		mapping->time_ns, path};
	history->place_count++;
}

uint64_t map_history_changed(const struct map_history *history, uint32_t pid, uint64_t since_ns)
{
	const struct program *program = newest(history, pid);
	uint64_t first_ns = 0;

	if (!program || program->is_overfull)
		return 0;
	for (size_t i = program->count; i-- > 0 && program->places[i].time_ns > since_ns;)
		if (program->places[i].inode)
			first_ns = program->places[i].time_ns;
	return first_ns;
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

static const char *path_of(const struct map_history *history, const struct place *place)
{
	return (const char *)history->paths.bytes + history->paths.items[place->path].at;
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
		if (program->is_whole || !program->parent)
			break;
		pid = program->parent;
		time_ns = program->begin_ns;
	}
	return count;
}

/* What it had mapped by then; in the midst of its exec(), what it was about to map. */
static int add_places(const struct map_history *history, const struct program *program,
		      uint64_t time_ns, struct mappings *mappings)
{
	if (program->is_whole && program->count && program->places[0].time_ns > time_ns)
		time_ns = UINT64_MAX;
	for (size_t i = 0; i < program->count && program->places[i].time_ns <= time_ns; i++) {
		const struct place *place = &program->places[i];
		const struct mapping mapping = {.start = place->start,
						.end = place->end,
						.offset = place->offset,
						.device = place->device,
						.inode = place->inode,
						.path = (char *)path_of(history, place)};

		if (mappings_overlay(mappings, &mapping) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What is there now says nothing of a time before other code was mapped there: no file is known. */
static int clear_later(const struct map_history *history, uint32_t pid, uint64_t time_ns,
		       struct mappings *mappings)
{
	const struct program *program = newest(history, pid);

	for (size_t i = program ? program->count : 0; i-- > 0;) {
		const struct place *place = &program->places[i];
		const struct mapping unknown = {
			.start = place->start, .end = place->end, .path = (char *)""};

		if (place->time_ns <= time_ns)
			break;
		if (mappings_overlay(mappings, &unknown) < 0)
			return -ENOMEM;
	}
	return 0;
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
	if (!first->is_whole) {
		uint32_t of = first->parent ? first->parent : first->pid;
		uint64_t at_ns = first->parent ? first->begin_ns : time_ns;

		/* what was mapped before anything was known: the process, or its parent, still has
		 * it */
		result = map_history_is_now(history, of, at_ns) ? now(data, of, &found) : -ENOENT;
		if (result >= 0)
			result = clear_later(history, of, at_ns, &found);
	}
	while (result == 0 && count) {
		const struct program *program = programs[--count];
		uint64_t until_ns = count ? programs[count - 1]->begin_ns : time_ns;

		/* a child has what its parent had mapped before it began */
		result = program->is_overfull ? -ENOENT
					      : add_places(history, program, until_ns, &found);
	}
	if (result == 0 && !found.count)
		result = -ENOENT;
	if (result < 0)
		mappings_release(&found);
	else
		*ret_mappings = found;
	return result == -ENOMEM ? result : result < 0 ? -ENOENT : 0;
}

const char *map_history_program(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	const struct program *programs[PARENTS_MAX];
	size_t count = lineage(history, pid, time_ns, programs);
	const struct program *first = count ? programs[count - 1] : NULL;

	/* load_elf_binary() maps the program before its interpreter */
	return first && first->is_whole && first->count ? path_of(history, &first->places[0])
							: NULL;
}

uint32_t map_history_parent(const struct map_history *history, uint32_t pid, uint64_t time_ns)
{
	const struct program *program = find(history, pid, time_ns);

	return program ? program->parent : 0;
}
