// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* qsort_r */
#include "model/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/identities.h"
#include "model/hotspots.h"

const char *const profile_grouping_keys[PROFILE_GROUPINGS_COUNT] = {
#define X(name, key, heading) [PROFILE_BY_##name] = key,
	PROFILE_GROUPINGS(X)
#undef X
};

const char *const profile_grouping_headings[PROFILE_GROUPINGS_COUNT] = {
#define X(name, key, heading) [PROFILE_BY_##name] = heading,
	PROFILE_GROUPINGS(X)
#undef X
};

/* Stacks of one thread, state and place, before the account's total is known. */
struct cell {
	uint32_t thread, stack;
	enum state state;
	uint64_t count;
	double weight;	  /* Σ length / probability, ns; of samples on a CPU how many */
	double spread;	  /* Σ (1 - probability) (length / probability)² */
	double uncertain; /* Σ length / probability, of those that were not certain */
	uint64_t uncertain_count;
};

/* The cells of one thread and state. */
struct cells_sum {
	double weight, spread, uncertain;
	uint64_t count, uncertain_count;
	double factor; /* ns of the account for one of weight */
	double unseen; /* variance for what was not taken at all, by chance */
};

/* A sum over some cells of one thread and state, on its way. */
struct part {
	double weight, spread;
	uint64_t count;
	bool is_touched;
};

struct profile {
	struct stacks stacks;
	struct wire_profile quality;
	uint64_t begin_ns; /* CLOCK_MONOTONIC; 0: no interval has begun */
	struct identities thread_ids;
	struct profile_thread *threads;
	size_t thread_room;
	struct identities cell_ids; /* (thread, state << 32 | stack) */
	struct cell *cells;
	size_t cell_room;
	struct cells_sum *sums; /* by thread * STATES + state */
	size_t sum_room;
	struct profile_path *paths;
	size_t path_count, path_room;
	struct profile_state states[STATES];
	struct profile_spot *spots;
	size_t spot_count, spot_room;
};

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

/* Of that weight, taken with the probability 1 / `inverse`. */
static int add(struct profile *profile, const struct wire_spent *spent, enum state state,
	       double length, double inverse)
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
	cell->count++;
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
			   1e6);
	left_ns = left_ns < begin_ns ? begin_ns : left_ns;
	ready_ns = ready_ns < begin_ns ? begin_ns : ready_ns;
	if (ready_ns > left_ns)
		result = add(profile, spent, state_of_wait(spent->site.state),
			     (double)(ready_ns - left_ns), inverse);
	if (result >= 0 && spent->header.time_ns > ready_ns)
		result = add(profile, spent, STATE_RUNNABLE,
			     (double)(spent->header.time_ns - ready_ns), inverse);
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

static struct cells_sum *sum_of(const struct profile *profile, size_t thread, enum state state)
{
	return &profile->sums[thread * STATES + state];
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

/*
 * Of a part of the cells of a thread and state. With the share s of the weight, the variance of s
 * times a total that is known is the factor² times Σ (1 - p) (w (1 - s))² over the part and
 * Σ (1 - p) (w s)² over the rest.
 */
static struct estimate estimate_of(const struct cells_sum *sum, const struct part *part)
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
		struct cells_sum *sum = sum_of(profile, cell->thread, cell->state);

		sum->weight += cell->weight;
		sum->spread += cell->spread;
		sum->uncertain += cell->uncertain;
		sum->uncertain_count += cell->uncertain_count;
		sum->count += cell->count;
	}
	for (size_t i = 0; i < count; i++)
		for (int state = 0; state < STATES; state++) {
			struct cells_sum *sum = sum_of(profile, i, (enum state)state);
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
			.time = estimate_of(sum_of(profile, cell->thread, cell->state), &part),
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
	own = state == STATE_USER ? stack->frames[0] : stacks_function_of(stacks, id);
	frame = stacks_frame(stacks, own);
	/* a thread of the kernel */
	for (uint32_t i = 0; i < stack->count && frame && is_of_scheduler(frame); i++) {
		own = stack->frames[i];
		frame = stacks_frame(stacks, own);
	}
	return own;
}

/* Groups of frames, and what of a thread and state falls to each. */
struct grouping {
	struct profile *profile;
	struct identities names; /* (0, hash of what frames have in common) */
	uint32_t *groups;	 /* by frame: number of its group */
	uint32_t *frames;	 /* by group: one of its frames; group 0: none is known */
	struct part *self, *total;
	size_t *touched; /* groups */
	size_t touched_count;
	size_t *on_stack; /* by group: the path it was counted for last, + 1 */
	size_t *spots;	  /* by group * STATES + state: its spot + 1 */
};

uint64_t profile_name_key(const struct frame *frame, enum profile_grouping by)
{
	uint64_t file = hotspot_key(*frame->file ? frame->file : frame->module);

	if (frame_is_made_at_run_time(frame))
		return 0;
	switch (by) {
	case PROFILE_BY_FILE:
		return file;
	case PROFILE_BY_LINE:
		if (frame->line)
			return file * 31 + frame->line;
		break; /* what has no lines */
	default:
		break;
	}
	return hotspot_key(frame->function) * 31 + hotspot_key(frame->module);
}

static void grouping_release(struct grouping *grouping)
{
	identities_release(&grouping->names);
	free(grouping->groups);
	free(grouping->frames);
	free(grouping->self);
	free(grouping->total);
	free(grouping->touched);
	free(grouping->on_stack);
	free(grouping->spots);
}

static int grouping_begin(struct grouping *grouping, enum profile_grouping by)
{
	const struct stacks *stacks = &grouping->profile->stacks;
	size_t frames = stacks->frame_count, groups;

	grouping->groups = calloc(frames + 1, sizeof(*grouping->groups));
	grouping->frames = calloc(frames + 1, sizeof(*grouping->frames));
	if (!grouping->groups || !grouping->frames)
		return -ENOMEM;
	for (uint32_t id = 1; id <= frames; id++) {
		const struct frame *frame = stacks_frame(stacks, id);
		size_t known = grouping->names.count, index;

		if (!frame)
			continue;
		index = identities_add(&grouping->names, 0, profile_name_key(frame, by));
		if (index == IDENTITY_NONE)
			return -ENOMEM;
		grouping->groups[id] = (uint32_t)index + 1;
		if (index == known)
			grouping->frames[index + 1] = id;
	}
	groups = grouping->names.count + 1;
	grouping->self = calloc(groups, sizeof(*grouping->self));
	grouping->total = calloc(groups, sizeof(*grouping->total));
	grouping->touched = calloc(groups, sizeof(*grouping->touched));
	grouping->on_stack = calloc(groups, sizeof(*grouping->on_stack));
	grouping->spots = calloc(groups * STATES, sizeof(*grouping->spots));
	return grouping->self && grouping->total && grouping->touched && grouping->on_stack &&
			       grouping->spots
		       ? 0
		       : -ENOMEM;
}

static void part_add(struct part *part, const struct cell *cell)
{
	part->weight += cell->weight;
	part->spread += cell->spread;
	part->count += cell->count;
	part->is_touched = true;
}

static void touch(struct grouping *grouping, size_t group)
{
	if (!grouping->self[group].is_touched && !grouping->total[group].is_touched)
		grouping->touched[grouping->touched_count++] = group;
}

static void add_cell(struct grouping *grouping, size_t index)
{
	const struct cell *cell = &grouping->profile->cells[index];
	const struct stacks *stacks = &grouping->profile->stacks;
	const struct stack *stack = stacks_stack(stacks, cell->stack);
	size_t own = grouping->groups[profile_own_frame(stacks, cell->stack, cell->state)];

	touch(grouping, own);
	part_add(&grouping->self[own], cell);
	if (!own)
		part_add(&grouping->total[0], cell);
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		size_t group = stack->frames[i] <= stacks->frame_count
				       ? grouping->groups[stack->frames[i]]
				       : 0;

		/* once, however often it calls itself */
		if (!group || grouping->on_stack[group] == index + 1)
			continue;
		grouping->on_stack[group] = index + 1;
		touch(grouping, group);
		part_add(&grouping->total[group], cell);
	}
}

static void estimate_add(struct estimate *sum, struct estimate more)
{
	sum->ns += more.ns;
	sum->variance += more.variance;
}

/* The cells of a thread and state have been added. */
static int close_cells(struct grouping *grouping, const struct cells_sum *sum, enum state state)
{
	struct profile *profile = grouping->profile;

	for (size_t i = 0; i < grouping->touched_count; i++) {
		size_t group = grouping->touched[i];
		size_t *place = &grouping->spots[group * STATES + state];
		struct profile_spot *spot;

		if (!*place) {
			if (array_reserve(&profile->spots, &profile->spot_room,
					  profile->spot_count + 1, sizeof(*profile->spots)) < 0)
				return -ENOMEM;
			*place = ++profile->spot_count;
			profile->spots[*place - 1] = (struct profile_spot){
				.frame = grouping->frames[group], .state = state};
		}
		spot = &profile->spots[*place - 1];
		spot->threads++;
		spot->count += grouping->total[group].count;
		estimate_add(&spot->self, estimate_of(sum, &grouping->self[group]));
		estimate_add(&spot->total, estimate_of(sum, &grouping->total[group]));
		grouping->self[group] = grouping->total[group] = (struct part){0};
	}
	grouping->touched_count = 0;
	return 0;
}

static int by_thread_and_state(const void *left, const void *right, void *data)
{
	const struct cell *cells = data;
	const struct cell *a = &cells[*(const size_t *)left], *b = &cells[*(const size_t *)right];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->state > b->state) - (a->state < b->state);
}

static int by_self(const void *left, const void *right)
{
	const struct profile_spot *a = left, *b = right;

	if (a->self.ns != b->self.ns)
		return a->self.ns < b->self.ns ? 1 : -1;
	return a->total.ns < b->total.ns ? 1 : a->total.ns > b->total.ns ? -1 : 0;
}

static bool is_chosen(const struct profile_choice *choice, enum state state, size_t thread)
{
	return choice->states & 1U << state && (!choice->thread || thread + 1 == choice->thread);
}

static int add_cells(struct grouping *grouping, const size_t *order,
		     const struct profile_choice *choice)
{
	const struct profile *profile = grouping->profile;
	size_t count = profile->cell_ids.count;

	for (size_t i = 0; i < count; i++) {
		const struct cell *cell = &profile->cells[order[i]], *next;
		int result;

		if (!is_chosen(choice, cell->state, cell->thread))
			continue;
		add_cell(grouping, order[i]);
		next = i + 1 < count ? &profile->cells[order[i + 1]] : NULL;
		if (next && next->thread == cell->thread && next->state == cell->state)
			continue;
		result = close_cells(grouping, sum_of(profile, cell->thread, cell->state),
				     cell->state);
		if (result < 0)
			return result;
	}
	return 0;
}

/* What needs no stacks: the accounts, exactly. */
static int add_account(struct profile *profile, uint32_t thread, enum state state, uint64_t ns,
		       uint64_t stacks, uint32_t threads)
{
	const struct estimate exact = {.ns = (double)ns};

	if (!ns)
		return 0;
	if (array_reserve(&profile->spots, &profile->spot_room, profile->spot_count + 1,
			  sizeof(*profile->spots)) < 0)
		return -ENOMEM;
	profile->spots[profile->spot_count++] = (struct profile_spot){.thread = thread,
								      .state = state,
								      .threads = threads,
								      .count = stacks,
								      .self = exact,
								      .total = exact};
	return 0;
}

/* By thread, or all of them together. */
static int add_state(struct profile *profile, const struct profile_choice *choice, enum state state,
		     bool by_thread)
{
	uint64_t ns = 0, stacks = 0;
	uint32_t threads = 0;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < profile->thread_ids.count; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		if (!is_chosen(choice, state, i))
			continue;
		ns += thread->states_ns[state];
		stacks += thread->sampled[state];
		threads += thread->states_ns[state] > 0;
		if (by_thread)
			result = add_account(profile, (uint32_t)i + 1, state,
					     thread->states_ns[state], thread->sampled[state], 1);
	}
	return by_thread ? result : add_account(profile, 0, state, ns, stacks, threads);
}

static int add_code(struct profile *profile, enum profile_grouping by,
		    const struct profile_choice *choice)
{
	struct grouping grouping = {.profile = profile};
	size_t count = profile->cell_ids.count;
	size_t *order = calloc(count + 1, sizeof(*order));
	int result = order ? grouping_begin(&grouping, by) : -ENOMEM;

	for (size_t i = 0; order && i < count; i++)
		order[i] = i;
	if (result >= 0) {
		qsort_r(order, count, sizeof(*order), by_thread_and_state, profile->cells);
		result = add_cells(&grouping, order, choice);
	}
	grouping_release(&grouping);
	free(order);
	return result;
}

int profile_spots(struct profile *profile, enum profile_grouping by, struct profile_choice choice,
		  const struct profile_spot **ret_spots, size_t *ret_count)
{
	bool is_code = by != PROFILE_BY_THREAD && by != PROFILE_BY_STATE;
	int result = 0;

	profile->spot_count = 0;
	if (is_code)
		result = add_code(profile, by, &choice);
	for (int state = 0; !is_code && result >= 0 && state < STATES; state++)
		result = add_state(profile, &choice, (enum state)state, by == PROFILE_BY_THREAD);
	if (result < 0)
		return result;
	if (profile->spot_count)
		qsort(profile->spots, profile->spot_count, sizeof(*profile->spots), by_self);
	*ret_spots = profile->spots;
	*ret_count = profile->spot_count;
	return 0;
}
