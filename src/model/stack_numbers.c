// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/stack_numbers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

/* The place of the session's id, which may be new. 0, -ENOMEM or -EBADMSG. */
static int place_of(struct session_numbers *numbers, uint32_t id, uint32_t **ret_place)
{
	if (!stacks_is_next_id(id, numbers->count))
		return -EBADMSG;
	if (array_reserve(&numbers->items, &numbers->room, id, sizeof(*numbers->items)) < 0)
		return -ENOMEM;
	while (numbers->count < id)
		numbers->items[numbers->count++] = 0;
	*ret_place = &numbers->items[id - 1];
	return 0;
}

static uint32_t number_of(const struct session_numbers *numbers, uint32_t id)
{
	return id && id <= numbers->count ? numbers->items[id - 1] : 0;
}

/*
 * The id of what has this hash and is the same, or else a new one, which is the session's where
 * that is behind the last of `count`. `is_same` says so of an id. 0: no memory.
 */
static uint32_t find_same(struct known_stacks *known, uint64_t hash, uint32_t id, size_t count,
			  const struct stacks *stacks, const void *what,
			  bool (*is_same)(const struct stacks *stacks, uint32_t id,
					  const void *what))
{
	for (uint32_t which = 0;; which++) {
		size_t before = known->hashes.count;
		size_t index = identities_add(&known->hashes, which, hash);

		if (index == IDENTITY_NONE ||
		    array_reserve(&known->ids, &known->room, index + 1, sizeof(*known->ids)) < 0)
			return 0;
		if (index == before)
			return known->ids[index] = id > count ? id : (uint32_t)count + 1;
		if (is_same(stacks, known->ids[index], what))
			return known->ids[index];
	}
}

static uint64_t hash_of(struct stack_numbers *numbers, const void *bytes, size_t length)
{
	if (!numbers->secret)
		numbers->secret = hash_secret(numbers) | 1;
	return hash_bytes(numbers->secret, bytes, length);
}

static bool is_same_frame(const struct stacks *stacks, uint32_t id, const void *what)
{
	const struct wire_frame *record = what;
	const struct frame *frame = stacks_frame(stacks, id);
	const char *file = record->text + record->function_bytes,
		   *module = file + record->file_bytes, *build_id = module + record->module_bytes;

	return frame && !strcmp(frame->function, record->text) && !strcmp(frame->file, file) &&
	       !strcmp(frame->module, module) &&
	       !strcmp(frame->build_id, record->flags & WIRE_FRAME_BUILD_ID ? build_id : "") &&
	       frame->line == record->line && frame->kind == (enum wire_frame_kind)record->kind &&
	       frame->inlined == !!(record->flags & WIRE_FRAME_INLINED) &&
	       frame->named == !!(record->flags & WIRE_FRAME_NAMED);
}

int stack_numbers_frame(struct stack_numbers *numbers, struct stacks *stacks,
			const struct wire_frame *record)
{
	size_t bytes = (size_t)record->function_bytes + record->file_bytes + record->module_bytes;
	uint64_t hash = hash_of(numbers, record->text, bytes) ^ record->line;
	uint32_t *place;
	int result = place_of(&numbers->frames, record->id, &place);

	if (result < 0)
		return result;
	/* one that is named again takes the place of what it was */
	if (!*place)
		*place = find_same(&numbers->known_frames, hash, record->id, stacks->frame_count,
				   stacks, record, is_same_frame);
	return *place ? stacks_add_frame(stacks, *place, record) : -ENOMEM;
}

static bool is_same_stack(const struct stacks *stacks, uint32_t id, const void *what)
{
	const struct stack *own = what;
	const struct stack *stack = stacks_stack(stacks, id);

	return stack && stack->count == own->count && stack->end == own->end &&
	       !memcmp(stack->frames, own->frames, own->count * sizeof(*own->frames));
}

int stack_numbers_stack(struct stack_numbers *numbers, struct stacks *stacks,
			const struct wire_stack *record)
{
	size_t bytes = record->count * sizeof(record->frames[0]);
	cleanup_free uint32_t *frames = malloc(bytes + 1);
	const struct stack own = {frames, record->count, (enum wire_stack_end)record->end};
	uint32_t *place;
	int result = frames ? place_of(&numbers->stacks, record->id, &place) : -ENOMEM;

	if (result < 0)
		return result;
	for (uint32_t i = 0; i < record->count; i++)
		frames[i] = number_of(&numbers->frames, record->frames[i]);
	if (!*place)
		*place = find_same(&numbers->known_stacks, hash_of(numbers, frames, bytes),
				   record->id, stacks->stack_count, stacks, &own, is_same_stack);
	return *place ? stacks_add_stack(stacks, *place, record, frames) : -ENOMEM;
}

uint32_t stack_numbers_of(const struct stack_numbers *numbers, uint32_t id)
{
	return number_of(&numbers->stacks, id);
}

void stack_numbers_restart(struct stack_numbers *numbers)
{
	numbers->frames.count = numbers->stacks.count = 0;
}

void stack_numbers_release(struct stack_numbers *numbers)
{
	free(numbers->frames.items);
	free(numbers->stacks.items);
	identities_release(&numbers->known_frames.hashes);
	identities_release(&numbers->known_stacks.hashes);
	free(numbers->known_frames.ids);
	free(numbers->known_stacks.ids);
	*numbers = (struct stack_numbers){0};
}
