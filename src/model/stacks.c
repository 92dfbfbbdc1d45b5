// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const struct frame *stacks_frame(const struct stacks *stacks, uint32_t id)
{
	return id && id <= stacks->frame_count && stacks->frames[id - 1].function
		       ? &stacks->frames[id - 1]
		       : NULL;
}

const struct stack *stacks_stack(const struct stacks *stacks, uint32_t id)
{
	return id && id <= stacks->stack_count && stacks->stacks[id - 1].count
		       ? &stacks->stacks[id - 1]
		       : NULL;
}

/*
 * Numbers are given in order; a recording with damage leaves some out, and a rotated one begins
 * with those of days. A far one would ask for much memory.
 */
#define ID_MAX	   (1U << 22)
#define ID_GAP_MAX (1U << 20)

bool stacks_is_next_id(uint32_t id, size_t count)
{
	return id && id <= ID_MAX && id <= count + ID_GAP_MAX;
}

int stacks_add_frame(struct stacks *stacks, uint32_t id, const struct wire_frame *record)
{
	size_t names = (size_t)record->function_bytes + record->file_bytes + record->module_bytes;
	const char *build_id = record->flags & WIRE_FRAME_BUILD_ID ? record->text + names : "";
	size_t bytes = names + strlen(build_id) + 1;
	struct frame *frame;
	char *text;

	if (!stacks_is_next_id(id, stacks->frame_count) || record->kind >= WIRE_FRAME_KINDS_COUNT)
		return -EBADMSG;
	if (array_reserve(&stacks->frames, &stacks->frame_room, id, sizeof(*frame)) < 0)
		return -ENOMEM;
	while (stacks->frame_count < id)
		stacks->frames[stacks->frame_count++] = (struct frame){0};
	text = malloc(bytes);
	if (!text)
		return -ENOMEM;
	memcpy(text, record->text, names);
	memcpy(text + names, build_id, bytes - names);
	frame = &stacks->frames[id - 1];
	free((char *)frame->function);
	*frame = (struct frame){
		.function = text,
		.file = text + record->function_bytes,
		.module = text + record->function_bytes + record->file_bytes,
		.build_id = text + names,
		.line = record->line,
		.kind = (enum wire_frame_kind)record->kind,
		.inlined = record->flags & WIRE_FRAME_INLINED,
		.named = record->flags & WIRE_FRAME_NAMED,
	};
	return 0;
}

int stacks_add_stack(struct stacks *stacks, uint32_t id, const struct wire_stack *record,
		     const uint32_t *frames)
{
	struct stack *stack;
	uint32_t *kept;

	if (!stacks_is_next_id(id, stacks->stack_count))
		return -EBADMSG;
	if (array_reserve(&stacks->stacks, &stacks->stack_room, id, sizeof(*stack)) < 0)
		return -ENOMEM;
	while (stacks->stack_count < id)
		stacks->stacks[stacks->stack_count++] = (struct stack){0};
	kept = malloc(record->count * sizeof(*kept) + 1);
	if (!kept)
		return -ENOMEM;
	memcpy(kept, frames, record->count * sizeof(*kept));
	stack = &stacks->stacks[id - 1];
	free((uint32_t *)stack->frames);
	*stack = (struct stack){kept, record->count, (enum wire_stack_end)record->end};
	return 0;
}

size_t function_name_length(const char *function)
{
	/* GCC's, of both compilers, Clang's with ThinLTO */
	static const char *const suffixes[] = {".constprop.", ".isra.",	    ".part.",
					       ".cold",	      ".lto_priv.", ".llvm."};
	size_t length = strlen(function);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *found = strstr(function, suffixes[i]);

		if (found && found > function && (size_t)(found - function) < length)
			length = (size_t)(found - function);
	}
	return length;
}

/* With which the C library begins threads and programs: all stacks have one of them. */
static bool is_beginning(const struct frame *frame)
{
	static const char *const names[] = {"start_thread", "clone", "thread_start",
					    "__libc_start_main", "__libc_start_call_main"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(frame->function, names[i], strlen(names[i])))
			return frame->kind == WIRE_FRAME_SYSTEM;
	return false;
}

/* Made at run time, of the program's own source: JavaScript, Java. */
static bool is_script(const struct frame *frame)
{
	return frame && frame->named && frame->kind == WIRE_FRAME_USER && !*frame->module;
}

/* A shared library, or an addon of Node.js. */
static bool is_loaded(const struct frame *frame)
{
	return strstr(frame->module, ".so") || strstr(frame->module, ".node");
}

/* The innermost function of a script from the frame at `at` on; 0: there is none. */
static uint32_t script_of(const struct stacks *stacks, const struct stack *stack, uint32_t at)
{
	for (; at < stack->count; at++)
		if (is_script(stacks_frame(stacks, stack->frames[at])))
			return stack->frames[at];
	return 0;
}

/* In which all programs wait, or which calls them: glibc's and musl's, and the compiler's. */
static bool is_of_c_library(const struct frame *frame)
{
	static const char *const names[] = {"libc.",	 "libc-",  "ld-",    "libpthread",
					    "libm.",	 "libdl.", "librt.", "libstdc++.",
					    "libgcc_s.", "[",	   "libc++."};
	const char *slash = strrchr(frame->module, '/');
	const char *name = slash ? slash + 1 : frame->module;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return !*name;
}

/*
 * Of a machine whose code has no names: which of its library's functions that code has called. The
 * innermost one is that in which all of its threads wait. 0: there is no such code.
 */
static uint32_t entry_of(const struct stacks *stacks, const struct stack *stack)
{
	uint32_t entry = 0;

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		if (frame && frame_is_made_at_run_time(frame))
			return entry;
		if (frame && frame->named && frame->kind == WIRE_FRAME_SYSTEM &&
		    !is_of_c_library(frame))
			entry = stack->frames[i];
	}
	return 0;
}

/* What says more than `frame`, at that place; 0: nothing. */
static uint32_t instead_of(const struct stacks *stacks, const struct stack *stack, uint32_t at,
			   const struct frame *frame)
{
	if (frame->kind == WIRE_FRAME_SYSTEM)
		return entry_of(stacks, stack);
	return is_loaded(frame) ? 0 : script_of(stacks, stack, at);
}

/* All waits are in the same functions of the kernel. The innermost frame, where all are its own. */
static uint32_t innermost_outside_kernel(const struct stacks *stacks, const struct stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		if (frame && frame->kind != WIRE_FRAME_KERNEL)
			return stack->frames[i];
	}
	return stack->frames[0];
}

uint32_t stacks_function_of(const struct stacks *stacks, uint32_t id)
{
	/* the last again: first without the C library */
	static const enum wire_frame_kind order[] = {WIRE_FRAME_USER,	 WIRE_FRAME_DEPENDENCY,
						     WIRE_FRAME_RUNTIME, WIRE_FRAME_STANDARD,
						     WIRE_FRAME_SYSTEM,	 WIRE_FRAME_SYSTEM};
	const struct stack *stack = stacks_stack(stacks, id);
	uint32_t unnamed = 0, unnamed_of_system = 0;

	for (size_t i = 0; stack && !unnamed && i < ARRAY_SIZE(order); i++) {
		for (uint32_t j = 0; j < stack->count; j++) {
			const struct frame *frame = stacks_frame(stacks, stack->frames[j]);

			if (!frame || frame->kind != order[i])
				continue;
			if (frame->named && !is_beginning(frame) &&
			    (i + 1 == ARRAY_SIZE(order) || frame->kind != WIRE_FRAME_SYSTEM ||
			     !is_of_c_library(frame))) {
				uint32_t other = instead_of(stacks, stack, j, frame);

				return other ? other : stack->frames[j];
			}
			if (!unnamed && frame->kind == WIRE_FRAME_USER)
				unnamed = stack->frames[j];
			if (!unnamed_of_system && frame->kind == WIRE_FRAME_SYSTEM)
				unnamed_of_system = stack->frames[j];
		}
	}
	if (unnamed || unnamed_of_system)
		return unnamed ? unnamed : unnamed_of_system;
	return stack ? innermost_outside_kernel(stacks, stack) : 0;
}

uint32_t stacks_named_function_of(const struct stacks *stacks, uint32_t id)
{
	const struct stack *stack = stacks_stack(stacks, id);
	uint32_t own = stacks_function_of(stacks, id);
	const struct frame *frame = stacks_frame(stacks, own);

	if (!frame || frame->named || frame->kind != WIRE_FRAME_USER)
		return own;
	for (uint32_t i = 0; i < stack->count && stack->frames[i] != own; i++) {
		frame = stacks_frame(stacks, stack->frames[i]);
		if (frame && frame->named && frame->kind == WIRE_FRAME_SYSTEM &&
		    !is_of_c_library(frame))
			return stack->frames[i];
	}
	return own;
}

bool stacks_lacks_names(const struct stacks *stacks, uint32_t id)
{
	const struct stack *stack = stacks_stack(stacks, id);
	uint32_t function = stacks_function_of(stacks, id);

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		if (frame && frame_is_made_at_run_time(frame))
			return true;
		if (stack->frames[i] == function && is_script(frame))
			return false;
	}
	return false;
}

bool stacks_has_function(const struct stacks *stacks, uint32_t id, const char *part)
{
	const struct stack *stack = stacks_stack(stacks, id);

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		if (frame && strstr(frame->function, part))
			return true;
	}
	return false;
}

/* Only up to the poll: a worker that another one's saying so has started keeps that for life. */
bool stacks_is_in_place(const struct stacks *stacks, uint32_t id, const struct stack_marks *marks)
{
	const struct stack *stack = stacks_stack(stacks, id);

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		if (!frame)
			continue;
		if (strstr(frame->function, marks->tasks))
			return false;
		if (strstr(frame->function, marks->in_place))
			return true;
	}
	return false;
}

unsigned int stacks_count_function(const struct stacks *stacks, uint32_t id, const char *name)
{
	const struct stack *stack = stacks_stack(stacks, id);
	unsigned int count = 0;

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stacks_frame(stacks, stack->frames[i]);

		count += frame && !frame->inlined && !strncmp(frame->function, name, strlen(name));
	}
	return count;
}

void stacks_release(struct stacks *stacks)
{
	/* the three strings of a frame are one allocation */
	for (size_t i = 0; i < stacks->frame_count; i++)
		free((char *)stacks->frames[i].function);
	for (size_t i = 0; i < stacks->stack_count; i++)
		free((uint32_t *)stacks->stacks[i].frames);
	free(stacks->frames);
	free(stacks->stacks);
	*stacks = (struct stacks){0};
}
