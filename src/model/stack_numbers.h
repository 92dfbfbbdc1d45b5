/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames and stacks of several sessions together. Each session numbers its own from one on, so what
 * is read as one (files of a rotation, across a restart of the recorder) has two of a number: here
 * each has a number of its own, and what is the same has the same.
 */
#ifndef DWELL_MODEL_STACK_NUMBERS_H
#define DWELL_MODEL_STACK_NUMBERS_H

#include "base/identities.h"
#include "model/stacks.h"

/* All zeros is empty. */
struct stack_numbers {
	/* ids in `stacks`, by the session's id - 1; 0: not known in this session yet */
	struct session_numbers {
		uint32_t *items;
		size_t count, room;
	} frames, stacks;
	/* what they are: (hash, of equal ones which), and the id in `stacks` of each */
	struct known_stacks {
		struct identities hashes;
		uint32_t *ids;
		size_t room;
	} known_frames, known_stacks;
	uint64_t secret; /* of the hashes; 0: none yet */
};

/* Adds what a record has to `stacks`. 0, -ENOMEM, or -EBADMSG for a record that cannot be. */
int stack_numbers_frame(struct stack_numbers *numbers, struct stacks *stacks,
			const struct wire_frame *record) must_check;
int stack_numbers_stack(struct stack_numbers *numbers, struct stacks *stacks,
			const struct wire_stack *record) must_check;

/* The id in `stacks` of a stack of the present session; 0: there is none. */
uint32_t stack_numbers_of(const struct stack_numbers *numbers, uint32_t id);

/* WIRE_RESTART: what follows may be of another session, and names all that it refers to again. */
void stack_numbers_restart(struct stack_numbers *numbers);

void stack_numbers_release(struct stack_numbers *numbers);

#endif
