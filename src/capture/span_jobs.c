// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_jobs.h"

/*
 * So much longer is a handler's way: where they are about as long, the thread has no loop. A wait
 * for a condition has frames of its own, in C++ and in C; among Python's it has none.
 */
#define FARTHER_MIN	      2
#define FARTHER_IN_PYTHON_MIN 1

bool span_jobs_is_handler(const struct span_way *poll, const struct span_way *wait,
			  size_t farther_min)
{
	size_t polls = poll->count, waits = wait->count;

	if (!polls || !waits)
		return false;
	while (polls && waits && poll->frames[polls - 1] == wait->frames[waits - 1]) {
		polls--;
		waits--;
	}
	return waits >= polls + farther_min;
}

/* Without the innermost frames, the call's own: poll() has fewer than a condition. */
static void set_native(struct span_way *way, const struct span_stacks *stacks,
		       const struct span_found *found)
{
	const uint32_t *frames;
	size_t count;

	way->count = 0;
	if (!found->id || !found->signs.complete)
		return;
	frames = span_stacks_frames(stacks, found->id, &count);
	for (; count && span_stacks_is_call(stacks, *frames); frames++)
		count--;
	for (; way->count < count && way->count < SPAN_JOBS_FRAMES; way->count++)
		way->frames[way->count] = frames[way->count];
}

/* Of Python's own frames, which are all there whatever of the native stack was copied. */
static void set_python(struct span_way *way, const struct span_stack *raw)
{
	way->count = 0;
	if (raw->python_count >= PYTHON_FRAMES)
		return;
	for (; way->count < raw->python_count; way->count++)
		way->frames[way->count] =
			raw->python[way->count].code * 31 + raw->python[way->count].instruction;
}

static struct span_job *find(struct span_jobs *jobs, uint32_t tid)
{
	for (size_t i = 0; i < SPAN_JOBS_ASKED; i++)
		if (jobs->asked[i].tid == tid)
			return &jobs->asked[i];
	return NULL;
}

static bool is_handler(const struct span_job *job, const struct span_stacks *stacks,
		       const struct span_stack *raw, const struct span_found *found)
{
	struct span_way way;

	if (job->is_lock)
		return true;
	set_python(&way, raw);
	if (way.count && job->python.count)
		return span_jobs_is_handler(&way, &job->python, FARTHER_IN_PYTHON_MIN);
	set_native(&way, stacks, found);
	return span_jobs_is_handler(&way, &job->native, FARTHER_MIN);
}

bool span_jobs_take(struct span_jobs *jobs, const struct span_stacks *stacks,
		    const struct span_stack *raw, const struct span_found *found,
		    struct loop_park *ret_place)
{
	struct span_job *job = find(jobs, raw->worker_tid);
	bool is;

	if (raw->of == SPAN_STACK_JOB) {
		if (!job)
			job = &jobs->asked[jobs->next++ % SPAN_JOBS_ASKED];
		job->tid = raw->worker_tid;
		job->stack = raw->frame.stack;
		job->is_lock = found->signs.futex == SITE_LOCK;
		set_native(&job->native, stacks, found);
		set_python(&job->python, raw);
		return false;
	}
	if (!job)
		return false;
	is = is_handler(job, stacks, raw, found);
	*ret_place = (struct loop_park){.stack = job->stack, .tid = job->tid};
	job->tid = 0;
	return is;
}
