// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/profile_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct profile *profile_new(void)
{
	return calloc(1, sizeof(struct profile));
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	stacks_release(&profile->stacks);
	identities_release(&profile->thread_ids);
	identities_release(&profile->cell_ids);
	free(profile->threads);
	free(profile->cells);
	free(profile->sums);
	free(profile->paths);
	free(profile->spots);
	free(profile);
}

double estimate_error(const struct estimate *estimate)
{
	return estimate->variance > 0 ? sqrt(estimate->variance) : 0;
}

/* NULL: no memory. */
static struct profile_thread *thread_of(struct profile *profile, uint32_t tid, uint32_t pid,
					uint64_t start_ns, size_t *ret_index)
{
	size_t known = profile->thread_ids.count;
	size_t index = identities_add(&profile->thread_ids, tid, start_ns);

	if (index == IDENTITY_NONE || array_reserve(&profile->threads, &profile->thread_room,
						    index + 1, sizeof(*profile->threads)) < 0)
		return NULL;
	if (index == known)
		profile->threads[index] =
			(struct profile_thread){.tid = tid, .pid = pid, .start_ns = start_ns};
	*ret_index = index;
	return &profile->threads[index];
}

/* Of that weight, taken with the probability 1 / `inverse`; `shared`: its stack was added before.
 */
static int add(struct profile *profile, const struct wire_spent *spent, enum state state,
	       double length, double inverse, bool shared)
{
	size_t known = profile->cell_ids.count, thread, index;
	struct cell *cell;

	if (!thread_of(profile, spent->tid, spent->pid, spent->start_ns, &thread))
		return -ENOMEM;
	index = identities_add(&profile->cell_ids, (uint32_t)thread,
			       (uint64_t)state << 32 | spent->stack);
	if (index == IDENTITY_NONE || array_reserve(&profile->cells, &profile->cell_room, index + 1,
						    sizeof(*profile->cells)) < 0)
		return -ENOMEM;
	cell = &profile->cells[index];
	if (index == known)
		*cell = (struct cell){
			.thread = (uint32_t)thread, .state = state, .stack = spent->stack};
	/* one stack, in however many parts */
	if (!(spent->flags & WIRE_SPENT_MORE) || !cell->count) {
		cell->count++;
		cell->shared += shared;
	}
	cell->weight += length * inverse;
	cell->spread += (1 - 1 / inverse) * length * inverse * length * inverse;
	if (inverse > 1) {
		cell->uncertain += length * inverse;
		cell->uncertain_count++;
	}
	return 0;
}

bool spent_is_possible(const struct wire_spent *spent)
{
	return spent->header.size == sizeof(*spent) && spent->site.state < WIRE_STATES &&
	       spent->inverse >= WIRE_SPENT_CERTAIN && spent->left_ns <= spent->ready_ns &&
	       spent->ready_ns <= spent->header.time_ns;
}

static int add_spent(struct profile *profile, const struct wire_spent *spent)
{
	uint64_t begin_ns = profile->begin_ns, left_ns = spent->left_ns, ready_ns = spent->ready_ns;
	double inverse = (double)spent->inverse / WIRE_SPENT_CERTAIN;
	int result = 0;

	if (!spent_is_possible(spent))
		return -EBADMSG;
	if (!begin_ns || spent->header.time_ns <= begin_ns)
		return 0;
	/* of an instant it is not known how likely it was: one among very many */
	if (spent->site.state == WIRE_ON_CPU)
		return add(profile, spent,
			   spent->flags & WIRE_SPENT_IN_USER_MODE ? STATE_USER : STATE_KERNEL, 1e-6,
			   1e6, false);
	left_ns = left_ns < begin_ns ? begin_ns : left_ns;
	ready_ns = ready_ns < begin_ns ? begin_ns : ready_ns;
	if (ready_ns > left_ns)
		result = add(profile, spent, state_of_wait(spent->site.state),
			     (double)(ready_ns - left_ns), inverse, false);
	if (result >= 0 && spent->header.time_ns > ready_ns)
		result = add(profile, spent, STATE_RUNNABLE,
			     (double)(spent->header.time_ns - ready_ns), inverse,
			     ready_ns > left_ns);
	return result;
}

int profile_feed(struct profile *profile, const struct wire_header *record)
{
	switch (record->kind) {
	case WIRE_FRAME:
		return stacks_add_frame(&profile->stacks, (const struct wire_frame *)record);
	case WIRE_STACK:
		return stacks_add_stack(&profile->stacks, (const struct wire_stack *)record);
	case WIRE_SPENT:
		return add_spent(profile, (const struct wire_spent *)record);
	case WIRE_PROFILE:
		if (record->size != sizeof(profile->quality))
			return -EBADMSG;
		profile->quality = *(const struct wire_profile *)record;
		return 0;
	case WIRE_INTERVAL:
		/* the first sets the baseline */
		if (!profile->begin_ns)
			profile->begin_ns = ((const struct wire_interval *)record)->end_ns;
		return 0;
	}
	return 0;
}

int profile_add_interval(struct profile *profile, const struct interval *interval)
{
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		size_t index;
		struct profile_thread *thread =
			thread_of(profile, row->tid, row->pid, row->start_ns, &index);

		if (!thread)
			return -ENOMEM;
		memcpy(thread->comm, row->comm, sizeof(thread->comm));
		memcpy(thread->process, row->process, sizeof(thread->process));
		for (int state = 0; state < STATES; state++)
			thread->states_ns[state] += row->states_ns[state];
	}
	return 0;
}

static void end_sum(struct cells_sum *sum, uint64_t total_ns)
{
	double mean;

	if (sum->weight <= 0)
		return;
	sum->factor = (double)total_ns / sum->weight;
	/* where all that was taken is of one place, the next might have been of another */
	mean = sum->uncertain_count ? sum->uncertain / (double)sum->uncertain_count : 0;
	sum->unseen = mean * mean;
}

struct estimate profile_estimate(const struct cells_sum *sum, const struct part *part)
{
	double share = part->weight / sum->weight, others = sum->spread - part->spread;
	double variance = (1 - share) * (1 - share) * part->spread +
			  share * share * (others > 0 ? others : 0) + sum->unseen * share;

	return (struct estimate){.ns = part->weight * sum->factor,
				 .variance = variance * sum->factor * sum->factor};
}

static int by_time(const void *left, const void *right)
{
	const struct profile_path *a = left, *b = right;

	return a->time.ns < b->time.ns ? 1 : a->time.ns > b->time.ns ? -1 : 0;
}

int profile_end(struct profile *profile)
{
	size_t count = profile->thread_ids.count;

	if (array_reserve(&profile->sums, &profile->sum_room, count * STATES + 1,
			  sizeof(*profile->sums)) < 0 ||
	    array_reserve(&profile->paths, &profile->path_room, profile->cell_ids.count + 1,
			  sizeof(*profile->paths)) < 0)
		return -ENOMEM;
	memset(profile->sums, 0, count * STATES * sizeof(*profile->sums));
	memset(profile->states, 0, sizeof(profile->states));
	for (size_t i = 0; i < profile->cell_ids.count; i++) {
		const struct cell *cell = &profile->cells[i];
		struct cells_sum *sum = profile_sum(profile, cell->thread, cell->state);

		sum->weight += cell->weight;
		sum->spread += cell->spread;
		sum->uncertain += cell->uncertain;
		sum->uncertain_count += cell->uncertain_count;
		sum->count += cell->count;
	}
	for (size_t i = 0; i < count; i++)
		for (int state = 0; state < STATES; state++) {
			struct cells_sum *sum = profile_sum(profile, i, (enum state)state);
			uint64_t total_ns = profile->threads[i].states_ns[state];

			end_sum(sum, total_ns);
			profile->threads[i].sampled[state] = sum->count;
			profile->states[state].total_ns += total_ns;
			profile->states[state].sampled_ns += sum->count ? total_ns : 0;
			profile->states[state].count += sum->count;
		}
	profile->path_count = 0;
	for (size_t i = 0; i < profile->cell_ids.count; i++) {
		const struct cell *cell = &profile->cells[i];
		const struct part part = {cell->weight, cell->spread, cell->count, true};

		profile->paths[profile->path_count++] = (struct profile_path){
			.thread = cell->thread,
			.stack = cell->stack,
			.state = cell->state,
			.count = cell->count,
			.shared = cell->shared,
			.time = profile_estimate(profile_sum(profile, cell->thread, cell->state),
						 &part),
		};
	}
	qsort(profile->paths, profile->path_count, sizeof(*profile->paths), by_time);
	return 0;
}

const struct profile_thread *profile_threads(const struct profile *profile, size_t *ret_count)
{
	*ret_count = profile->thread_ids.count;
	return profile->threads;
}

const struct profile_path *profile_paths(const struct profile *profile, size_t *ret_count)
{
	*ret_count = profile->path_count;
	return profile->paths;
}

const struct profile_state *profile_states(const struct profile *profile)
{
	return profile->states;
}

const struct stacks *profile_stacks(const struct profile *profile)
{
	return &profile->stacks;
}

const struct wire_profile *profile_quality(const struct profile *profile)
{
	return &profile->quality;
}

/* Ways into the scheduler, which all waits have. */
static bool is_of_scheduler(const struct frame *frame)
{
	static const char *const beginnings[] = {
		"__schedule",  "schedule",	 "preempt_schedule",
		"io_schedule", "__cond_resched", "finish_task_switch",
	};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (!strncmp(frame->function, beginnings[i], strlen(beginnings[i])))
			return true;
	return false;
}

uint32_t profile_own_frame(const struct stacks *stacks, uint32_t id, enum state state)
{
	const struct stack *stack = stacks_stack(stacks, id);
	const struct frame *frame;
	uint32_t own;

	if (!stack)
		return 0;
	own = state == STATE_USER ? stack->frames[0] : stacks_named_function_of(stacks, id);
	frame = stacks_frame(stacks, own);
	/* a thread of the kernel */
	for (uint32_t i = 0; i < stack->count && frame && is_of_scheduler(frame); i++) {
		own = stack->frames[i];
		frame = stacks_frame(stacks, own);
	}
	return own;
}

uint64_t profile_stack_count(const struct profile *profile)
{
	uint64_t count = 0;

	for (size_t i = 0; i < profile->cell_ids.count; i++)
		count += profile->cells[i].count - profile->cells[i].shared;
	return count;
}

double profile_complete_share(const struct profile *profile)
{
	const struct wire_profile *quality = &profile->quality;
	uint64_t taken =
		quality->stacks_complete + quality->stacks_truncated + quality->stacks_failed;

	return taken ? (double)quality->stacks_complete / (double)taken : 0;
}
