// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_loops.h"

/* Threads that wait for one file are of one loop, whichever function a compiler has put it into. */
static void share(struct span_loops *loops, uint64_t file, uint32_t tid)
{
	bool is_shared = false;

	for (size_t i = 0; i < loops->count; i++)
		is_shared |= loops->functions[i].file == file && loops->functions[i].tid != tid;
	for (size_t i = 0; is_shared && i < loops->count; i++)
		loops->functions[i].is_shared |= loops->functions[i].file == file;
}

static struct loop_function *find(struct span_loops *loops, uint64_t hash)
{
	for (size_t i = 0; i < loops->count; i++)
		if (loops->functions[i].hash == hash)
			return &loops->functions[i];
	return NULL;
}

void span_loops_note(struct span_loops *loops, const struct span_signs *signs, uint32_t tid,
		     uint64_t file)
{
	for (size_t i = 0; i < SPAN_FUNCTIONS && signs->functions[i]; i++) {
		struct loop_function *known = find(loops, signs->functions[i]);

		if (known) {
			known->is_shared |= known->tid != tid;
			known->file = file ? file : known->file;
		} else if (loops->count < LOOP_FUNCTIONS) {
			loops->functions[loops->count++] = (struct loop_function){
				.hash = signs->functions[i], .file = file, .tid = tid};
		}
	}
	if (file)
		share(loops, file, tid);
}

const struct loop_function *span_loops_find(const struct span_loops *loops,
					    const struct span_signs *signs)
{
	for (size_t i = 0; i < loops->count; i++)
		if (signs->functions[0] == loops->functions[i].hash)
			return &loops->functions[i];
	return NULL;
}

/* That of a thread, or of any (tid 0), which has been kept for longest. */
static struct loop_wait *oldest(struct span_loops *loops, uint32_t tid, size_t *ret_count)
{
	struct loop_wait *found = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < LOOP_WAITS; i++) {
		struct loop_wait *wait = &loops->waits[i];

		if (tid && wait->tid != tid)
			continue;
		++*ret_count;
		if (!found || wait->number < found->number)
			found = wait;
	}
	return found;
}

void span_loops_note_wait(struct span_loops *loops, const struct span_way *way, uint32_t tid,
			  bool is_answer)
{
	size_t count;
	struct loop_wait *wait = oldest(loops, tid, &count);

	if (count < LOOP_WAITS_OF_ONE)
		wait = oldest(loops, 0, &count);
	*wait = (struct loop_wait){
		.number = ++loops->waits_noted, .tid = tid, .is_answer = is_answer, .way = *way};
}

/*
 * How far a wait for events is, at least, from the function that also does other things, for that
 * to be no loop's: by Python's functions, and by all. asyncio's, Trio's and Twisted's loops are 1
 * or 2 functions from their wait; of those in C++, and Netty's in Java, none is known to be 7.
 */
#define FAR_IN_PYTHON_MIN 4
#define FAR_MIN		  7

/* Whether code made at run time is there: how many functions it has is chance. */
static bool is_made(const struct span_way *way, size_t count)
{
	for (size_t i = 0; i < count && i < way->count; i++)
		if (!way->functions[i])
			return true;
	return false;
}

static size_t count_python(const struct span_way *way, size_t from, size_t to)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++)
		count += way->functions[i] & SPAN_FUNCTION_PYTHON ? 1 : 0;
	return count;
}

/* Where greenlets switch stacks, Python's parts of two have nothing in common. */
static bool are_of_one_stack(const struct span_way *wait, const struct span_way *other,
			     struct span_parting part)
{
	return count_python(wait, part.first, wait->count) || !count_python(wait, 0, wait->count) ||
	       !count_python(other, 0, other->count);
}

static bool is_outside(struct loop_wait *wait, const struct span_way *way)
{
	struct span_parting part = span_ways_part(&wait->way, way);
	bool is_far;

	if (!part.common || !are_of_one_stack(&wait->way, way, part))
		return false;
	/* with the function in which they part */
	is_far = !is_made(&wait->way, part.first + 1) &&
		 (part.first >= FAR_MIN ||
		  count_python(&wait->way, 0, part.first) >= FAR_IN_PYTHON_MIN);
	/* a handler is called by a dispatcher, and calls on */
	if (is_far && part.second * 2 <= part.first && part.common > wait->outer)
		wait->outer = part.common;
	/* a function with a loop is called by others, and they by none that it calls */
	return part.common <= wait->outer;
}

bool span_loops_is_outside(struct span_loops *loops, const struct span_way *way, uint32_t tid)
{
	bool any = false, all = true;

	for (size_t i = 0; i < LOOP_WAITS; i++) {
		struct loop_wait *wait = &loops->waits[i];

		if (wait->tid != tid)
			continue;
		any = true;
		/* of each, for what it says of the next stack */
		all &= is_outside(wait, way);
	}
	return any && all;
}

bool span_loops_is_asking(const struct span_loops *loops, uint32_t tid)
{
	bool any = false, all = true;

	for (size_t i = 0; i < LOOP_WAITS; i++) {
		if (loops->waits[i].tid != tid)
			continue;
		any = true;
		all &= loops->waits[i].is_answer;
	}
	return any && all;
}
