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
	struct span_parting part;

	if (!poll->count || !wait->count)
		return false;
	part = span_ways_part(poll, wait);
	return part.second >= part.first + farther_min;
}

static struct span_job *find(struct span_jobs *jobs, uint32_t tid)
{
	for (size_t i = 0; i < SPAN_JOBS_ASKED; i++)
		if (jobs->asked[i].tid == tid)
			return &jobs->asked[i];
	return NULL;
}

static void read_whole(struct span_way *way, const struct span_stacks *stacks,
		       const struct span_found *found)
{
	span_way_read(way, stacks, found->signs.complete ? found->id : 0);
}

static bool is_handler(const struct span_job *job, const struct span_stacks *stacks,
		       const struct span_stack *raw, const struct span_found *found)
{
	struct span_way way;

	if (job->is_lock)
		return true;
	span_way_read_python(&way, raw);
	if (way.count && job->python.count)
		return span_jobs_is_handler(&way, &job->python, FARTHER_IN_PYTHON_MIN);
	read_whole(&way, stacks, found);
	return span_jobs_is_handler(&way, &job->whole, FARTHER_MIN);
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
		read_whole(&job->whole, stacks, found);
		span_way_read_python(&job->python, raw);
		return false;
	}
	if (!job)
		return false;
	is = is_handler(job, stacks, raw, found);
	*ret_place = (struct loop_park){.stack = job->stack, .tid = job->tid};
	job->tid = 0;
	return is;
}
