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

/* Where the function is of a library, by its name, none of a handler's code is in it. */
bool span_loops_takes_turns(const struct loop_function *loop, const struct span_signs *signs)
{
	return loop && (loop->is_shared || signs->loop_waits);
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

void span_loops_note_wait(struct span_loops *loops, const struct span_calls *calls, uint32_t tid,
			  bool is_answer)
{
	size_t count;
	struct loop_wait *wait = oldest(loops, tid, &count);

	if (count < LOOP_WAITS_OF_ONE)
		wait = oldest(loops, 0, &count);
	*wait = (struct loop_wait){.number = ++loops->waits_noted,
				   .tid = tid,
				   .is_answer = is_answer,
				   .calls = *calls};
}

/* select() of the module `selectors` is one function, and called by loops of programs' own. */
#define LIBRARY_MIN 2

/*
 * Whether the function at `caller` waits by calling another's, itself or by functions of the same
 * program or package.
 */
static bool calls_library(const struct span_calls *calls, size_t caller)
{
	size_t below = 0;

	while (calls->ranks[below] < calls->ranks[caller])
		below++;
	return below >= LIBRARY_MIN;
}

/* Whether one of the `count` innermost functions is of that rank: a library has called a handler.
 */
static bool is_called_back(const struct span_calls *calls, size_t count, uint8_t rank)
{
	for (size_t i = 0; i < count; i++)
		if (calls->ranks[i] >= rank)
			return true;
	return false;
}

/*
 * Whether the function that calls both ways is of the language's library, and so is all that it
 * calls here. Its loops are known by their names.
 */
static bool is_librarys_own(const struct span_calls *calls, size_t common)
{
	size_t at = calls->count - common;

	return calls->ranks[at] == SPAN_RANK_STANDARD &&
	       !is_called_back(calls, at, SPAN_RANK_STANDARD + 1);
}

/* Functions of greenlets have none in common with those of the loop. */
static bool is_outside(struct loop_wait *wait, const struct span_calls *calls, bool is_named)
{
	struct span_parting part = span_calls_part(&wait->calls, calls);
	bool is;

	if (!part.common)
		return false;
	if (part.common > wait->outer && calls_library(&wait->calls, part.first))
		wait->outer = part.common;
	is = part.common <= wait->outer || (!is_named && is_librarys_own(calls, part.common)) ||
	     /* what the library itself does for the call */
	     (wait->outer && !is_called_back(calls, calls->count - wait->outer,
					     wait->calls.ranks[wait->calls.count - wait->outer]));
	wait->inside |= !is;
	return is;
}

bool span_loops_is_outside(struct span_loops *loops, const struct span_calls *calls, uint32_t tid,
			   bool is_named)
{
	bool any = false, all = true;

	for (size_t i = 0; i < LOOP_WAITS; i++) {
		struct loop_wait *wait = &loops->waits[i];

		if (wait->tid != tid)
			continue;
		any = true;
		/* of each, for what it says of the next stack */
		all &= is_outside(wait, calls, is_named);
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
		all &= loops->waits[i].is_answer ||
		       (loops->waits[i].outer && !loops->waits[i].inside);
	}
	return any && all;
}
