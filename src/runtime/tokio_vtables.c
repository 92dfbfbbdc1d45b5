// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memmem */
#include "runtime/tokio_vtables.h"

#include <string.h>

/*
 * In Tokio 1.24 to 1.49 (both tried), seven functions: poll, schedule, dealloc, try_read_output,
 * drop_join_handle_slow, drop_abort_handle, shutdown; and where trailer, scheduler and id are in
 * the task. With tokio_unstable a fourth offset follows. Tables of the first releases have six to
 * eight functions and one offset or none, as other tables do: those are not looked for.
 */
#define FUNCTIONS 7
enum { TRAILER = FUNCTIONS, SCHEDULER, ID, WORDS };

/*
 * A task begins with a header of four words, which may fill a cache line (struct Cell in
 * task/core.rs); its scheduler follows. That of a task is one pointer, Arc<Handle>. The blocking
 * pool's has none, or hooks and the like: no task is taken for a closure, as far as it is known.
 */
#define HEADER_BYTES	    32
#define LINE_BYTES_MAX	    256
#define TASK_SCHEDULER	    8
#define SCHEDULER_BYTES_MAX 64
#define TASK_BYTES_MAX	    (1 << 26)

/* What the parts of a program say that has Tokio in it: messages, and paths in those of panics. */
static const char *const signs[] = {"Tokio 1.x", "/tokio-1.", "tokio-runtime-w", "tokio-rt-worker"};

struct search {
	struct object *object;
	struct linked_code code;
	bool is_tokio;
	tokio_vtables_call *call;
	void *data;
};

static void look_for_signs(void *data, const struct linked_data *part)
{
	struct search *search = data;

	for (size_t i = 0; !search->is_tokio && i < ARRAY_SIZE(signs); i++)
		search->is_tokio = memmem(part->words, part->count * sizeof(*part->words), signs[i],
					  strlen(signs[i]));
}

static bool are_offsets(const uint64_t *words)
{
	uint64_t trailer = words[TRAILER], scheduler = words[SCHEDULER], id = words[ID];

	return (trailer | scheduler | id) % sizeof(uint64_t) == 0 && scheduler >= HEADER_BYTES &&
	       scheduler <= LINE_BYTES_MAX && id >= scheduler &&
	       id - scheduler <= SCHEDULER_BYTES_MAX && trailer > id && trailer < TASK_BYTES_MAX;
}

/* A probe within an instruction would be the end of the program: each is where a function begins.
 */
static bool are_functions(const struct search *search, const uint64_t *words)
{
	uint64_t start;

	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!linked_code_has(&search->code, words[i]))
			return false;
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (!object_function_start(search->object, words[i], &start) || start != words[i])
			return false;
	return true;
}

static void look_for_tables(void *data, const struct linked_data *part)
{
	const struct search *search = data;

	if (part->is_code)
		return;
	for (size_t i = 0; i + WORDS <= part->count; i++) {
		const uint64_t *words = part->words + i;

		if (are_offsets(words) && are_functions(search, words))
			search->call(search->data, words[0],
				     words[ID] - words[SCHEDULER] == TASK_SCHEDULER);
	}
}

int tokio_vtables_each(struct object *object, tokio_vtables_call *call, void *data)
{
	struct search search = {
		.object = object, .code = object_code(object), .call = call, .data = data};
	int result = object_each_data(object, look_for_signs, &search);

	return result < 0 || !search.is_tokio ? result
					      : object_each_data(object, look_for_tables, &search);
}
