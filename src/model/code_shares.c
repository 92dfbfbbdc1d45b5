// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/code_shares.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/identities.h"
#include "model/profile.h"

int code_shares_feed(struct code_shares *code, const struct wire_header *record)
{
	const struct wire_spent *spent = (const struct wire_spent *)record;

	switch (record->kind) {
	case WIRE_FRAME:
		return stacks_add_frame(&code->stacks, (const struct wire_frame *)record);
	case WIRE_STACK:
		return stacks_add_stack(&code->stacks, (const struct wire_stack *)record);
	case WIRE_RESTART:
		code->count = 0;
		return 0;
	case WIRE_SPENT:
		break;
	default:
		return 0;
	}
	if (!spent_is_possible(spent))
		return -EBADMSG;
	if (array_reserve(&code->spent, &code->room, code->count + 1, sizeof(*spent)) < 0)
		return -ENOMEM;
	code->spent[code->count++] = *spent;
	return 0;
}

void code_shares_release(struct code_shares *code)
{
	stacks_release(&code->stacks);
	free(code->spent);
	*code = (struct code_shares){0};
}

/* Of a sample on a CPU. */
static enum state state_on_cpu(const struct wire_spent *spent)
{
	return spent->flags & WIRE_SPENT_IN_USER_MODE ? STATE_USER : STATE_KERNEL;
}

struct adding {
	const struct code_shares *code;
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

static int add(const struct adding *adding, const struct row *row, const struct wire_spent *spent,
	       enum state state, double ns)
{
	const struct stacks *stacks = &adding->code->stacks;
	const struct frame *frame =
		stacks_frame(stacks, profile_own_frame(stacks, spent->stack, state));
	cleanup_free char *name = NULL;

	if (ns < 1)
		return 0;
	/* clones come and go from one build to the next */
	name = frame ? strndup(frame->function, function_name_length(frame->function)) : strdup("");
	return name ? shares_add_code(adding->shares, row->process, state, name,
				      (uint64_t)(ns + 0.5))
		    : -ENOMEM;
}

static int add_spent(const struct adding *adding, const struct wire_spent *spent, size_t index)
{
	const struct row *row = adding->rows[index];
	double inverse = (double)spent->inverse / WIRE_SPENT_CERTAIN;
	enum state state;
	int result;

	if (spent->site.state == WIRE_ON_CPU) {
		state = state_on_cpu(spent);
		return add(adding, row, spent, state,
			   (double)row->states_ns[state] /
				   adding->samples[2 * index + (state == STATE_KERNEL)]);
	}
	result = add(adding, row, spent, state_of_wait(spent->site.state),
		     (double)(spent->ready_ns - spent->left_ns) * inverse);
	return result < 0 ? result
			  : add(adding, row, spent, STATE_RUNNABLE,
				(double)(spent->header.time_ns - spent->ready_ns) * inverse);
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
			adding->samples[2 * index + (state_on_cpu(spent) == STATE_KERNEL)]++;
	}
	return 0;
}

int code_shares_add(struct code_shares *code, struct shares *shares,
		    const struct interval *interval)
{
	struct adding adding = {.code = code, .shares = shares, .interval = interval};
	int result = code->count ? prepare(&adding) : 0;

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
