// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_followers.h"

#include "symbol/frame_kind.h"

/* Its number; FOLLOWED_LOOPS: it is not known. */
static size_t find(const struct span_followers *followers, uint64_t file)
{
	size_t i = 0;

	while (i < FOLLOWED_LOOPS && followers->loops[i].file != file)
		i++;
	return i;
}

static size_t loop_of(const struct span_followers *followers, uint32_t tid)
{
	const struct following_thread *thread = &followers->threads[tid % FOLLOWING_THREADS];

	return thread->tid == tid && tid ? find(followers, thread->file) : FOLLOWED_LOOPS;
}

static bool has_stack(const struct followed_loop *loop, uint32_t stack)
{
	for (size_t i = 0; i < FOLLOWED_STACKS && i < loop->noted; i++)
		if (loop->stacks[i] == stack)
			return true;
	return false;
}

void span_followers_note(struct span_followers *followers, uint32_t stack, uint32_t tid,
			 uint64_t file)
{
	struct followed_loop *loop;
	size_t number = find(followers, file);

	if (!file)
		return;
	if (number == FOLLOWED_LOOPS) {
		number = followers->count++ % FOLLOWED_LOOPS;
		followers->loops[number] = (struct followed_loop){.file = file, .tid = tid};
	}
	loop = &followers->loops[number];
	followers->threads[tid % FOLLOWING_THREADS] = (struct following_thread){tid, file};
	loop->is_shared |= loop->tid != tid;
	if (stack && !has_stack(loop, stack))
		loop->stacks[loop->noted++ % FOLLOWED_STACKS] = stack;
}

void span_followers_know(struct span_followers *followers, uint32_t tid)
{
	size_t number = loop_of(followers, tid);

	if (number >= FOLLOWED_LOOPS)
		return;
	followers->loops[number].is_known = followers->loops[number].is_in_function = true;
	followers->loops[number].is_of_pool = false;
}

bool span_followers_may_follow(const struct span_followers *followers, uint32_t tid)
{
	size_t number = loop_of(followers, tid);

	return number < FOLLOWED_LOOPS && followers->loops[number].is_shared;
}

/*
 * How many functions of `way` are inside of where it parts from the nearest of the loop's; -1: from
 * none.
 */
static long inside_of(const struct followed_loop *loop, const struct span_stacks *stacks,
		      const struct span_way *way)
{
	size_t common = 0, inside = 0;
	struct span_way other;

	for (size_t i = 0; i < FOLLOWED_STACKS && i < loop->noted; i++) {
		struct span_parting part;

		span_way_read(&other, stacks, loop->stacks[i]);
		part = span_ways_part(&other, way);
		if (part.common > common) {
			common = part.common;
			inside = part.second;
		}
	}
	return common ? (long)inside : -1;
}

/* Whether one of the innermost functions may be the program's own. */
static bool any_of_program(const struct span_stacks *stacks, uint32_t stack, size_t count)
{
	size_t all;
	const uint32_t *frames = span_stacks_frames(stacks, stack, &all);

	for (; all && span_stacks_is_call(stacks, *frames); frames++)
		all--;
	for (size_t i = 0; i < count && i < all; i++) {
		unsigned int kind = span_stacks_kind(stacks, frames[i]);

		if (kind == FRAME_KIND_USER || kind == FRAME_KIND_UNKNOWN)
			return true;
	}
	return false;
}

bool span_followers_has_jobs(const struct span_followers *followers, uint32_t tid)
{
	size_t number = loop_of(followers, tid);

	return number < FOLLOWED_LOOPS && followers->loops[number].is_of_pool;
}

enum span_following span_followers_judge(struct span_followers *followers,
					 const struct span_stacks *stacks, uint32_t stack,
					 uint32_t tid, bool for_lock)
{
	struct followed_loop *loop;
	struct span_way way;
	long inside;
	bool is_certain;

	if (!stack || !span_followers_may_follow(followers, tid))
		return FOLLOWS_NOT;
	loop = &followers->loops[loop_of(followers, tid)];
	span_way_read(&way, stacks, stack);
	inside = inside_of(loop, stacks, &way);
	is_certain = inside >= 0 && !any_of_program(stacks, stack, (size_t)inside);
	if (for_lock)
		return is_certain && loop->is_of_pool ? FOLLOWS : FOLLOWS_NOT;
	if (!is_certain && loop->is_known)
		return FOLLOWS_NOT;
	loop->is_known |= is_certain;
	loop->is_of_pool |= is_certain && inside > 0 && !loop->is_in_function;
	return is_certain ? FOLLOWS : FOLLOWS_MAYBE;
}
