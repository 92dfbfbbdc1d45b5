/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames and stacks as records have them, by number; and what a stack says of who is to blame. */
#ifndef DWELL_MODEL_STACKS_H
#define DWELL_MODEL_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/wire.h"

struct frame {
	const char *function, *file, *module; /* file, module: "" = none */
	const char *build_id;		      /* of the module, in hex; "" = none */
	uint32_t line;			      /* 0: not known */
	enum wire_frame_kind kind;
	bool inlined, named;
};

/* Code that is in no file, and that no list names: of a JIT compiler. A bare address. */
static inline bool frame_is_made_at_run_time(const struct frame *frame)
{
	return !frame->named && !*frame->module && frame->kind != WIRE_FRAME_KERNEL &&
	       !strncmp(frame->function, "0x", 2);
}

struct stack {
	const uint32_t *frames; /* ids, innermost first */
	uint32_t count;
	enum wire_stack_end end;
};

/* All zeros is empty. */
struct stacks {
	struct frame *frames; /* by id - 1 */
	size_t frame_count, frame_room;
	struct stack *stacks; /* by id - 1 */
	size_t stack_count, stack_room;
};

/* Whether one may have this id that comes after so many: else it is no record's. */
bool stacks_is_next_id(uint32_t id, size_t count);

/*
 * What a record has, by that id; `frames`: the ids of the stack's, as many as the record has. 0,
 * -ENOMEM, or -EBADMSG for a record that cannot be.
 */
int stacks_add_frame(struct stacks *stacks, uint32_t id,
		     const struct wire_frame *record) must_check;
int stacks_add_stack(struct stacks *stacks, uint32_t id, const struct wire_stack *record,
		     const uint32_t *frames) must_check;

/* NULL: no such frame or stack. */
const struct frame *stacks_frame(const struct stacks *stacks, uint32_t id);
const struct stack *stacks_stack(const struct stacks *stacks, uint32_t id);

/* How much of a function's name is without what compilers add to clones of it, bytes. */
size_t function_name_length(const char *function);

/*
 * The frame a stack is named by: the innermost of the program's own, by name or (stripped) by
 * address, else of what it was built of.
 * What a function that was made at run time calls in the program itself is the interpreter's; where
 * such code has no names, it is what that has called of a library, as Java's JVM_Sleep.
 * 0: no such stack.
 */
uint32_t stacks_function_of(const struct stacks *stacks, uint32_t id);

/*
 * The same, but the innermost function of another library than C's that has a name rather than an
 * address of a stripped program.
 */
uint32_t stacks_named_function_of(const struct stacks *stacks, uint32_t id);

/*
 * Whether that could be another with the names of functions that were made at run time: some have
 * none, and it is not one that calls those.
 */
bool stacks_lacks_names(const struct stacks *stacks, uint32_t id);

/*
 * How functions of a runtime with tasks are called, on recorded stacks. Each is the beginning
 * (`poll`, `harness`) or a part of a name.
 */
struct stack_marks {
	const char *poll, *harness; /* poll a task; one often only jumps to the other */
	const char *tasks;	    /* all that runs tasks */
	const char *in_place;	    /* the task says that it will block */
	const char *worker, *single, *pool;
};

/* Whether the task said it would block. */
bool stacks_is_in_place(const struct stacks *stacks, uint32_t id, const struct stack_marks *marks);

/* Whether a function has `part` in its name; how many, not inlined, have names that begin so. */
bool stacks_has_function(const struct stacks *stacks, uint32_t id, const char *part);
unsigned int stacks_count_function(const struct stacks *stacks, uint32_t id, const char *name);

void stacks_release(struct stacks *stacks);

#endif
