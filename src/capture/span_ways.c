// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_ways.h"

#include "symbol/frame_kind.h"

/* The innermost frames are the call's own: poll() has fewer than a wait for a condition. */
void span_way_read(struct span_way *way, const struct span_stacks *stacks, uint32_t stack)
{
	const uint32_t *frames;
	size_t count;

	way->count = 0;
	if (!stack)
		return;
	frames = span_stacks_frames(stacks, stack, &count);
	for (; count && span_stacks_is_call(stacks, *frames); frames++)
		count--;
	for (; way->count < count && way->count < SPAN_WAY_FUNCTIONS; way->count++)
		way->functions[way->count] = span_stacks_function(stacks, frames[way->count]);
}

void span_way_read_python(struct span_way *way, const struct span_stack *raw)
{
	way->count = 0;
	if (raw->python_count >= PYTHON_FRAMES)
		return;
	for (; way->count < raw->python_count; way->count++)
		way->functions[way->count] = raw->python[way->count].code;
}

static uint8_t rank_of(unsigned int kind)
{
	if (kind == FRAME_KIND_USER)
		return SPAN_RANK_PROGRAM;
	return kind == FRAME_KIND_DEPENDENCY ? SPAN_RANK_PACKAGE : SPAN_RANK_STANDARD;
}

void span_calls_read(struct span_calls *calls, const struct span_stacks *stacks, uint32_t stack)
{
	const uint32_t *frames;
	size_t count;

	calls->count = 0;
	if (!stack)
		return;
	frames = span_stacks_frames(stacks, stack, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t function = span_stacks_function(stacks, frames[i]);

		if (!(function & SPAN_FUNCTION_PYTHON))
			continue;
		if (calls->count == PYTHON_FRAMES) {
			calls->count = 0;
			return;
		}
		calls->functions[calls->count] = function;
		calls->ranks[calls->count++] = rank_of(span_stacks_kind(stacks, frames[i]));
	}
}

static struct span_parting part_of(const uint64_t *first, size_t first_count,
				   const uint64_t *second, size_t second_count)
{
	struct span_parting part = {.first = first_count, .second = second_count};

	while (part.first && part.second && first[part.first - 1] == second[part.second - 1]) {
		part.common++;
		part.first--;
		part.second--;
	}
	return part;
}

struct span_parting span_ways_part(const struct span_way *first, const struct span_way *second)
{
	return part_of(first->functions, first->count, second->functions, second->count);
}

struct span_parting span_calls_part(const struct span_calls *first, const struct span_calls *second)
{
	return part_of(first->functions, first->count, second->functions, second->count);
}
