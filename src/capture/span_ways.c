// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_ways.h"

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

struct span_parting span_ways_part(const struct span_way *first, const struct span_way *second)
{
	struct span_parting part = {.first = first->count, .second = second->count};

	while (part.first && part.second &&
	       first->functions[part.first - 1] == second->functions[part.second - 1]) {
		part.common++;
		part.first--;
		part.second--;
	}
	return part;
}
