// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/code_shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int code_shares_feed(struct code_shares *code, const struct wire_header *record)
{
	const struct wire_spent *spent = (const struct wire_spent *)record;
	int result;

	if (!code->profile)
		code->profile = profile_new();
	if (!code->profile)
		return -ENOMEM;
	result = profile_feed(code->profile, record);
	if (result < 0)
		return result;
	if (record->kind == WIRE_RESTART)
		code->count = 0;
	if (record->kind != WIRE_SPENT)
		return 0;
	if (array_reserve(&code->spent, &code->room, code->count + 1, sizeof(*spent)) < 0)
		return -ENOMEM;
	code->spent[code->count] = *spent;
	code->spent[code->count++].stack = profile_stack_of(code->profile, spent);
	return 0;
}

void code_shares_release(struct code_shares *code)
{
	profile_free(code->profile);
	identities_release(&code->cell_ids);
	free(code->cells);
	free(code->spent);
	*code = (struct code_shares){0};
}

struct adding {
	struct code_shares *code;
	struct shares *shares;
	const struct interval *interval;
	struct identities threads; /* of the interval's rows */
	/*
	 * By thread, its row: the last one of two, where exec in a thread that is not the leader
	 * ended the leader and took over its identity.
	 */
	const struct row **rows;
	uint32_t *samples; /* by thread and whether in the kernel */
};

/* The number of the name of the function that a time is named by, as shares_function(). */
static size_t function_of(struct shares *shares, const struct profile *profile, uint32_t stack,
			  enum state state)
{
	const struct stacks *stacks = profile_stacks(profile);
	const struct frame *frame = stacks_frame(stacks, profile_own_frame(stacks, stack, state));
	/* clones come and go from one build to the next */
	cleanup_free char *name =
		frame ? strndup(frame->function, function_name_length(frame->function)) : NULL;

	if (frame && !name)
		return INTERNED_NONE;
	return shares_function(shares, name ? name : "");
}

static int add(const struct adding *adding, const struct row *row, const struct wire_spent *spent,
	       enum state state, double ns)
{
	struct code_shares *code = adding->code;
	size_t function = function_of(adding->shares, code->profile, spent->stack, state);
	size_t key = shares_code_key(adding->shares, row->process, state, function);
	size_t thread = profile_find_thread(code->profile, row->tid, row->start_ns);
	size_t known = code->cell_ids.count, index;

	if (key == INTERNED_NONE)
		return -ENOMEM;
	if (key == INTERNED_FULL || thread == IDENTITY_NONE)
		return 0;
	index = identities_add(&code->cell_ids, (uint32_t)thread, key);
	if (index == IDENTITY_NONE ||
	    array_reserve(&code->cells, &code->cell_room, index + 1, sizeof(*code->cells)) < 0)
		return -ENOMEM;
	if (index == known)
		code->cells[index] = (struct series){0};
	/* where the interval has nothing of it, the profile may */
	series_add_back(&code->cells[index], &adding->shares->batches,
			ns < 1 ? 1 : (uint64_t)(ns + 0.5));
	return 0;
}

static int add_spent(const struct adding *adding, const struct wire_spent *spent, size_t index)
{
	const struct row *row = adding->rows[index];
	double inverse = (double)spent->inverse / WIRE_SPENT_CERTAIN;
	uint64_t waited_ns = spent->ready_ns - spent->left_ns;
	uint64_t ready_ns = spent->header.time_ns - spent->ready_ns;
	int result = 0;

	if (spent->site.state == WIRE_ON_CPU) {
		enum state state = spent_state_on_cpu(spent);

		return add(adding, row, spent, state,
			   (double)row->states_ns[state] /
				   adding->samples[2 * index + (state == STATE_KERNEL)]);
	}
	if (waited_ns)
		result = add(adding, row, spent, state_of_wait(spent->site.state),
			     (double)waited_ns * inverse);
	if (result >= 0 && ready_ns)
		result = add(adding, row, spent, STATE_RUNNABLE, (double)ready_ns * inverse);
	return result;
}

static int prepare(struct adding *adding)
{
	const struct interval *interval = adding->interval;

	adding->samples = calloc(2 * interval->row_count + 2, sizeof(*adding->samples));
	adding->rows = calloc(interval->row_count + 1, sizeof(*adding->rows));
	if (!adding->samples || !adding->rows)
		return -ENOMEM;
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		size_t index = identities_add(&adding->threads, row->tid, row->start_ns);

		if (index == IDENTITY_NONE)
			return -ENOMEM;
		adding->rows[index] = row;
	}
	for (size_t i = 0; i < adding->code->count; i++) {
		const struct wire_spent *spent = &adding->code->spent[i];
		size_t index = identities_find(&adding->threads, spent->tid, spent->start_ns);

		if (index != IDENTITY_NONE && spent->site.state == WIRE_ON_CPU)
			adding->samples[2 * index + (spent_state_on_cpu(spent) == STATE_KERNEL)]++;
	}
	return 0;
}

/* Batches of the shares have been merged: batches_next(). */
static void halve(struct code_shares *code, unsigned int each)
{
	for (; code->each && code->each < each; code->each *= 2)
		for (size_t i = 0; i < code->cell_ids.count; i++)
			series_halve(&code->cells[i]);
	code->each = each;
}

int code_shares_add(struct code_shares *code, struct shares *shares,
		    const struct interval *interval)
{
	struct adding adding = {.code = code, .shares = shares, .interval = interval};
	int result = 0;

	halve(code, shares->batches.each);
	/* without stacks there is none */
	if (code->profile)
		result = profile_add_interval(code->profile, interval);
	if (result >= 0 && code->count)
		result = prepare(&adding);
	for (size_t i = 0; result >= 0 && i < code->count; i++) {
		const struct wire_spent *spent = &code->spent[i];
		size_t index = identities_find(&adding.threads, spent->tid, spent->start_ns);

		if (index != IDENTITY_NONE)
			result = add_spent(&adding, spent, index);
	}
	code->count = 0;
	identities_release(&adding.threads);
	free(adding.rows);
	free(adding.samples);
	return result;
}

/* Time of a row of the profile in a state and function: by that, and by what was taken. */
struct group {
	double profile_ns, taken_ns;
};

struct ending {
	struct code_shares *code;
	struct shares *shares;
	struct identities ids; /* (row of the profile, state << 32 | function) */
	struct group *groups;
	size_t room;
};

static uint64_t id_of(enum state state, size_t function)
{
	return (uint64_t)state << 32 | function;
}

/* The group of a cell; it is made if need be. NULL: no memory. */
static struct group *group_of(struct ending *ending, size_t cell)
{
	const struct identity *of = &ending->code->cell_ids.items[cell];
	const struct share_key *key = share_key_at(ending->shares->keys, of->start_ns);
	enum state state = (enum state)key->state;
	size_t row = profile_row_of(ending->code->profile, of->tid, state);
	size_t known = ending->ids.count;
	size_t index = identities_add(&ending->ids, (uint32_t)row, id_of(state, key->culprit));

	if (index == IDENTITY_NONE ||
	    array_reserve(&ending->groups, &ending->room, index + 1, sizeof(*ending->groups)) < 0)
		return NULL;
	if (index == known)
		ending->groups[index] = (struct group){0};
	return &ending->groups[index];
}

static int add_taken(struct ending *ending)
{
	for (size_t i = 0; i < ending->code->cell_ids.count; i++) {
		struct group *group = group_of(ending, i);

		if (!group)
			return -ENOMEM;
		group->taken_ns += (double)series_total_ns(&ending->code->cells[i]);
	}
	return 0;
}

static int add_profile(struct ending *ending)
{
	struct profile *profile = ending->code->profile;
	const struct profile_path *paths;
	size_t count;

	paths = profile_paths(profile, &count);
	for (size_t i = 0; i < count; i++) {
		size_t function =
			function_of(ending->shares, profile, paths[i].stack, paths[i].state);
		size_t index;

		if (function == INTERNED_NONE)
			return -ENOMEM;
		index = identities_find(&ending->ids, paths[i].thread,
					id_of(paths[i].state, function));
		/* what found no room has none */
		if (index != IDENTITY_NONE)
			ending->groups[index].profile_ns += paths[i].time.ns;
	}
	return 0;
}

int code_shares_end(struct code_shares *code, struct shares *shares)
{
	struct ending ending = {.code = code, .shares = shares};
	int result = code->cell_ids.count ? profile_end(code->profile) : 0;

	if (result >= 0 && code->cell_ids.count)
		result = add_taken(&ending);
	if (result >= 0 && code->cell_ids.count)
		result = add_profile(&ending);
	for (size_t i = 0; result >= 0 && i < code->cell_ids.count; i++) {
		const struct group *group = group_of(&ending, i);
		struct series *series = &code->cells[i];

		if (group->taken_ns > 0)
			series_scale(series, group->profile_ns / group->taken_ns);
		result = shares_add_code(shares, code->cell_ids.items[i].start_ns, series);
	}
	identities_release(&ending.ids);
	free(ending.groups);
	return result;
}
