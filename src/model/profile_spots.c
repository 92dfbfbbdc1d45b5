// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile summed up: by function, file, line, thread or state. */
#define _GNU_SOURCE /* qsort_r */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "model/hotspots.h"
#include "model/profile_parts.h"

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

/* Groups of frames, and what of a row and state falls to each. */
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
	uint64_t file = text_hash(*frame->file ? frame->file : frame->module);

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
	return text_hash(frame->function) * 31 + text_hash(frame->module);
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
	weight_add(&part->weight, &cell->weight);
	part->count += cell->count;
	part->threads += part->last != cell->thread + 1;
	part->last = cell->thread + 1;
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
	uint32_t frame = profile_own_frame(stacks, cell->stack, cell->state);
	/* a recording may have lost the frame */
	size_t own = frame <= stacks->frame_count ? grouping->groups[frame] : 0;

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

/* The cells of a row and state have been added. */
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
		spot->threads += grouping->total[group].threads;
		spot->count += grouping->total[group].count;
		estimate_add(&spot->self, profile_estimate(sum, &grouping->self[group]));
		estimate_add(&spot->total, profile_estimate(sum, &grouping->total[group]));
		grouping->self[group] = grouping->total[group] = (struct part){0};
	}
	grouping->touched_count = 0;
	return 0;
}

/* Of a row and state, thread by thread. */
static int by_row_and_state(const void *left, const void *right, void *data)
{
	const struct profile *profile = data;
	const struct cell *a = &profile->cells[*(const size_t *)left];
	const struct cell *b = &profile->cells[*(const size_t *)right];
	size_t row_a = profile_row_of(profile, a->thread, a->state);
	size_t row_b = profile_row_of(profile, b->thread, b->state);

	if (row_a != row_b)
		return row_a < row_b ? -1 : 1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static int by_self(const void *left, const void *right)
{
	const struct profile_spot *a = left, *b = right;

	if (a->self.ns != b->self.ns)
		return a->self.ns < b->self.ns ? 1 : -1;
	return a->total.ns < b->total.ns ? 1 : a->total.ns > b->total.ns ? -1 : 0;
}

static bool is_chosen(const struct profile_choice *choice, enum state state, size_t row)
{
	return choice->states & 1U << state && (!choice->thread || row + 1 == choice->thread);
}

static int add_cells(struct grouping *grouping, const size_t *order,
		     const struct profile_choice *choice)
{
	const struct profile *profile = grouping->profile;
	size_t count = profile->cell_ids.count;

	for (size_t i = 0; i < count; i++) {
		const struct cell *cell = &profile->cells[order[i]], *next;
		size_t row = profile_row_of(profile, cell->thread, cell->state);
		int result;

		if (!is_chosen(choice, cell->state, row))
			continue;
		add_cell(grouping, order[i]);
		next = i + 1 < count ? &profile->cells[order[i + 1]] : NULL;
		if (next && next->state == cell->state &&
		    profile_row_of(profile, next->thread, next->state) == row)
			continue;
		result = close_cells(grouping, profile_sum(profile, row, cell->state), cell->state);
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
		const struct profile_thread *row = &profile->rows[i];

		if (!is_chosen(choice, state, i))
			continue;
		ns += row->states_ns[state];
		stacks += row->sampled[state];
		threads += profile->accounts[i].thread.states_ns[state] > 0;
		if (by_thread)
			result = add_account(profile, (uint32_t)i + 1, state, row->states_ns[state],
					     row->sampled[state], row->threads);
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
		qsort_r(order, count, sizeof(*order), by_row_and_state, profile);
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
