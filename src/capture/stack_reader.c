// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/stack_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/identities.h"
#include "base/text.h"
#include "capture/frame_record.h"
#include "capture/loop_names.h"
#include "capture/reader_processes.h"
#include "capture/stack_options.h"
#include "symbol/opener.h"
#include "symbol/python.h"
#include "symbol/unwind.h"

struct reader {
	const struct stack_options *options;
	uint64_t generation;
	struct reader_processes processes; /* and what names addresses */
	struct identities frames;	   /* (0, address of the symbol_frame): sent */
};

/* One stack on its way. */
struct reading {
	struct reader *reader;
	struct helper_parts *parts;
	struct stack_answer *answer;
};

/* Where the user has said what is theirs, all else that has a name is not. */
static enum frame_kind kind_of(const struct stack_options *options,
			       const struct symbol_frame *frame)
{
	for (unsigned int i = 0; i < options->own_count; i++)
		if (frame_kind_is_own(options->own[i], frame->function, frame->file, frame->module))
			return FRAME_KIND_USER;
	return options->own_count && frame->named && frame->kind == FRAME_KIND_USER
		       ? FRAME_KIND_DEPENDENCY
		       : frame->kind;
}

static void send_frame(const struct reading *reading, uint32_t id, const struct symbol_frame *frame)
{
	uint8_t part[offsetof(struct stack_part, frame) + FRAME_RECORD_BYTES];
	struct symbol_frame sent = *frame;
	size_t length;

	sent.kind = kind_of(reading->reader->options, frame);
	length = frame_record_write(part + offsetof(struct stack_part, frame), id, &sent);

	memcpy(part, &reading->reader->generation, sizeof(reading->reader->generation));
	helper_part(reading->parts, part, offsetof(struct stack_part, frame) + length);
}

static void add_frame(const struct reading *reading, const struct symbol_frame *frame)
{
	struct identities *frames = &reading->reader->frames;
	struct stack_answer *answer = reading->answer;
	size_t known = frames->count, index;

	if (answer->count == STACK_FRAMES_MAX)
		return;
	index = identities_add(frames, 0, (uint64_t)(uintptr_t)frame);
	if (index == IDENTITY_NONE)
		reader_give_up();
	answer->frames[answer->count++] = (uint32_t)index + 1;
	if (index == known)
		send_frame(reading, (uint32_t)index + 1, frame);
}

static void add_symbol(const struct reading *reading, const struct symbol *symbol)
{
	for (unsigned int i = 0; i < symbol->count; i++)
		add_frame(reading, &symbol->frames[i]);
}

/* Who asks has to know where an interpreter keeps its frames, for the kernel side to read them. */
static void send_layout(const struct reading *reading, struct reader_process *process)
{
	if (!process->python || process->is_layout_sent)
		return;
	process->is_layout_sent = python_layout(process->python, &reading->answer->python);
	process->layout_ns = clock_monotonic_ns();
}

/* *ret_count 0: its map of that time is not known, as when it had ended, so no address says
 * anything. */
static enum unwind_end unwind_raw(struct reader *reader, struct reader_process *process,
				  const struct span_stack *raw, uint64_t addresses[UNWIND_MAX],
				  unsigned int *ret_count, uint64_t *ret_needed)
{
	struct unwind_start start = {
		.address = raw->frame.address,
		.exact = raw->in_user_mode,
		.stack = raw->frame.stack,
		.frame = raw->frame.frame,
		.link = raw->frame.link,
		.memory = raw->user,
		.memory_start = raw->frame.stack - SPAN_RED_ZONE,
		.memory_bytes = raw->user_bytes,
		.returns = raw->returns,
		.return_count = SPAN_RETURNS,
		.frame_pointers = reader->options->unwind == STACK_UNWIND_FRAME_POINTERS,
	};
	enum unwind_end end = UNWIND_FAILED;

	*ret_count = 0;
	*ret_needed = 0;
	if (!process->is_known || !process->has_map)
		return end;
	*ret_count = unwind(reader->processes.symbolizer, &start, addresses, &end, ret_needed);

	/* through code that was not mapped yet, as the trampoline of return probes before the first
	 */
	if (end == UNWIND_UNMAPPED &&
	    reader_process_attach_again(&reader->processes, process, raw->pid, raw->header.time_ns))
		*ret_count =
			unwind(reader->processes.symbolizer, &start, addresses, &end, ret_needed);
	return end;
}

/* What the tracing itself adds on top of the kernel's stack. */
static bool is_our_own(const struct symbol *symbol)
{
	static const char *const names[] = {"bpf_prog_", "bpf_trace_run", "__bpf_trace_",
					    "__traceiter_", "bpf_overflow_handler"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(symbol->frames[0].function, names[i], strlen(names[i])))
			return true;
	return false;
}

/*
 * BPF programs that were loaded after the kernel's symbols were read have no names: so what has
 * none is left out as well, up to the first that has one. Where the kernel hides all names, all
 * stays.
 */
static void read_kernel(const struct reading *reading, const struct span_stack *raw)
{
	__u32 count =
		raw->kernel_count < SPAN_KERNEL_FRAMES ? raw->kernel_count : SPAN_KERNEL_FRAMES;
	struct symbol symbols[SPAN_KERNEL_FRAMES];
	__u32 first = 0;

	for (__u32 i = 0; i < count; i++)
		if (symbolizer_find_kernel(reading->reader->processes.symbolizer, raw->kernel[i],
					   &symbols[i]) < 0)
			reader_give_up();
	while (first < count && (!symbols[first].frames[0].named || is_our_own(&symbols[first])))
		first++;
	for (__u32 i = first < count ? first : 0; i < count; i++)
		add_symbol(reading, &symbols[i]);
}

/* More frames than these without a code object: this is no interpreter. */
#define PYTHON_WRONG_MAX 3

/* Frames of an interpreter, and how far they have been put among those of the machine. */
struct python_stack {
	const struct python *python;
	const struct symbol_frame *frames[PYTHON_FRAMES]; /* NULL: none, as of a shim */
	enum python_kind kinds[PYTHON_FRAMES];
	size_t count, at; /* count 0: none of them is known */
};

/* Whether the call that evaluates frames ends with this one. */
static bool ends_call(const struct python_stack *stack, size_t at, bool is_open)
{
	return stack->kinds[at] == PYTHON_OUTERMOST || (stack->kinds[at] == PYTHON_SHIM && is_open);
}

/* Calls of the function that evaluates frames. */
static unsigned int count_calls(const struct python_stack *stack)
{
	unsigned int calls = 0;
	bool is_open = false;

	for (size_t i = 0; i < stack->count; i++) {
		calls += ends_call(stack, i, is_open);
		is_open = stack->kinds[i] == PYTHON_INSIDE;
	}
	return calls + is_open;
}

/* Those of one call, or all that are left. */
static void add_python(const struct reading *reading, struct python_stack *stack, bool all)
{
	bool is_open = false, is_end = false;

	while (stack->at < stack->count && !is_end) {
		if (stack->frames[stack->at])
			add_frame(reading, stack->frames[stack->at]);
		is_end = !all && ends_call(stack, stack->at, is_open);
		is_open |= stack->kinds[stack->at] == PYTHON_INSIDE;
		stack->at++;
	}
}

static bool evaluates(const struct symbol *symbol)
{
	return python_evaluates(symbol->frames[symbol->count - 1].function);
}

/*
 * In place of the interpreter's own functions those of its program: of each call that evaluates
 * frames, the frames of that call. Where those do not match, all together.
 */
static void add_mixed(const struct reading *reading, const struct symbol *symbols,
		      unsigned int count, struct python_stack *stack)
{
	const char *module = python_module(stack->python);
	unsigned int calls = 0;
	bool matches;

	for (unsigned int i = 0; i < count; i++)
		calls += evaluates(&symbols[i]);
	matches = calls == count_calls(stack);
	for (unsigned int i = 0; i < count; i++) {
		if (strcmp(symbols[i].frames[0].module, module) != 0)
			add_symbol(reading, &symbols[i]);
		else if (evaluates(&symbols[i]) || !matches)
			add_python(reading, stack, !matches);
	}
	add_python(reading, stack, true);
}

/* How long after the layout was sent the kernel side has it, at the latest. */
#define LAYOUT_TAKEN_NS NS_PER_S

/*
 * The kernel side could not read its frames, as it had no layout: they are still what they were
 * while the wait that the thread has begun goes on. A program may begin with a long one.
 */
static bool is_before_layout(const struct reader_process *process,
			     const struct stack_question *question)
{
	const struct span_stack *raw = &question->stack;

	return question->head.kind == STACK_COPIED && raw->of == SPAN_STACK_AWAY &&
	       question->head.switches && !raw->python_count &&
	       raw->header.time_ns < process->layout_ns + LAYOUT_TAKEN_NS;
}

/* Of the thread, as the kernel side has read them, or as they are while it sleeps. False: it did
 * not any more. */
static bool find_python(const struct reader_process *process, const struct stack_question *question,
			struct python_stack *ret_stack)
{
	const struct span_stack *raw = &question->stack;
	struct python_place asleep[PYTHON_FRAMES];
	const struct python_place *places = raw->python;
	size_t count = raw->python_count, known = 0, wrong = 0;

	ret_stack->python = process->python;
	ret_stack->count = ret_stack->at = 0;
	if (!process->python || !process->is_layout_sent)
		return true;
	if (question->head.kind == STACK_ASLEEP || is_before_layout(process, question)) {
		places = asleep;
		count = python_read(process->python, raw->tid, raw->thread_pointer,
				    question->head.switches, asleep);
		if (count == PYTHON_MOVED) {
			if (question->head.kind == STACK_ASLEEP)
				return false;
			count = 0;
		}
	}
	for (size_t i = 0; i < count && i < PYTHON_FRAMES && wrong <= PYTHON_WRONG_MAX; i++) {
		ret_stack->kinds[i] = python_kind(process->python, &places[i]);
		ret_stack->frames[i] =
			ret_stack->kinds[i] == PYTHON_SHIM
				? NULL
				: python_frame(process->python, raw->tid, &places[i]);
		known += ret_stack->frames[i] != NULL;
		wrong += !ret_stack->frames[i] && ret_stack->kinds[i] != PYTHON_SHIM;
	}
	if (known && count <= PYTHON_FRAMES && wrong <= PYTHON_WRONG_MAX)
		ret_stack->count = count;
	return true;
}

/* For the next copy of the thread's stack: how much of it there has to be. */
static void learn_end(const struct stack_question *question, enum unwind_end end, uint64_t needed,
		      struct stack_answer *answer)
{
	const struct span_stack *raw = &question->stack;

	if (question->head.kind != STACK_COPIED)
		return;
	/* where it was known, that may have been why there was no more */
	answer->user_end = end == UNWIND_COMPLETE ? needed : 0;
	answer->is_end_new = answer->user_end != raw->user_end;
}

static bool is_of_library(const struct stack_options *options, const struct symbol *symbol)
{
	for (unsigned int i = 0; i < options->library_count; i++)
		if (!strcmp(symbol->frames[0].module, options->libraries[i]))
			return true;
	return false;
}

/* Whatever it calls to do so, it is a loop's own wait. */
static bool waits_for_epoll(const struct span_stack *raw)
{
	return (raw->of == SPAN_STACK_POLL || raw->of == SPAN_STACK_INNER) && raw->span_ns;
}

/* False: the thread has run meanwhile, so that nothing is known. */
static bool read_user(const struct reading *reading, const struct stack_question *question)
{
	const struct span_stack *raw = &question->stack;
	struct reader *reader = reading->reader;
	struct reader_process *process = reader_process_select(&reader->processes, raw);
	struct stack_answer *answer = reading->answer;
	struct symbol symbols[UNWIND_MAX];
	uint64_t addresses[UNWIND_MAX];
	struct python_stack python;
	bool is_noted = true;
	unsigned int count;
	uint64_t needed;
	bool is_wrapper = true; /* all up to here are of what waits */
	bool is_call = true;	/* and of the C library */
	enum unwind_end end = unwind_raw(reader, process, raw, addresses, &count, &needed);

	answer->signs.complete = end == UNWIND_COMPLETE;
	answer->end = end == UNWIND_COMPLETE ? WIRE_STACK_COMPLETE
		      : count > 1	     ? WIRE_STACK_TRUNCATED
					     : WIRE_STACK_FAILED;
	for (unsigned int i = 0; i < count; i++) {
		if (symbolizer_find(reader->processes.symbolizer, addresses[i],
				    i > 0 || !raw->in_user_mode, &symbols[i]) < 0)
			reader_give_up();
		signs_read(&reader->options->marks, &symbols[i], &answer->signs);
		answer->signs.library |= is_of_library(reader->options, &symbols[i]);
		is_noted = is_noted && signs_note_function(&symbols[i], &answer->signs);
		is_wrapper = is_wrapper && signs_read_futex(&symbols[i], &answer->signs);
		is_call = is_call && signs_read_call(&symbols[i], &answer->signs);
	}
	answer->signs.asks |=
		count > 1 && !waits_for_epoll(raw) && signs_read_wait(&symbols[0], &symbols[1]);
	learn_end(question, end, needed, answer);
	send_layout(reading, process);
	if (!find_python(process, question, &python))
		return false;
	for (size_t i = 0; i < python.count; i++)
		answer->signs.loop |= python.frames[i] && loop_is_in(python.frames[i]);
	answer->signs.loop &= !answer->signs.jobs;
	if (python.count)
		add_mixed(reading, symbols, count, &python);
	for (unsigned int i = 0; i < count && !python.count; i++)
		add_symbol(reading, &symbols[i]);
	return true;
}

/* As much of the stack as there is. False: it may have run meanwhile; what was read is of two
 * times.
 */
static bool copy_stack(struct stack_question *question)
{
	struct span_stack *stack = &question->stack;
	uint64_t switches = 0;

	stack->user_bytes = (__u32)opener_stack(stack->tid, stack->frame.stack - SPAN_RED_ZONE,
						stack->user, SPAN_USER_BYTES, &switches);
	return stack->user_bytes && switches == question->head.switches;
}

_Static_assert(SPAN_USER_BYTES <= OPENER_MEMORY_BYTES, "it is read at once");

static void *begin(const void *context)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->options = context;
	reader->generation = clock_monotonic_ns();
	reader->processes.symbolizer = symbolizer_new(reader->options->packages);
	if (!reader->processes.symbolizer)
		return NULL;
	symbolizer_take_symbols(reader->processes.symbolizer, reader->options->symbols);
	return reader;
}

static void write_name(char name[STACK_FILE_BYTES], const char *path)
{
	size_t length = path ? strlen(path) : 0, room = STACK_FILE_BYTES - 1;

	if (path)
		snprintf(name, STACK_FILE_BYTES, "%s", path + (length > room ? length - room : 0));
}

static void write_names(const struct reader_processes *processes, struct stack_answer *answer)
{
	const struct symbolizer *symbolizer = processes->symbolizer;
	const char *const paths[STACK_FILES] = {
		[STACK_FILE_32_BIT] = symbolizer_32_bit(symbolizer),
		[STACK_FILE_PYTHON] = processes->unread_python,
		[STACK_FILE_UNFOLLOWED] =
			processes->is_unfollowed ? symbolizer_program(symbolizer) : NULL,
		[STACK_FILE_OTHER_BUILD] = symbolizer_other_build(symbolizer),
		[STACK_FILE_UNSYMBOLED] = symbolizer_unsymboled(symbolizer),
		[STACK_FILE_UNANSWERED] = symbolizer_unanswered(symbolizer),
	};

	for (size_t i = 0; i < STACK_FILES; i++)
		write_name(answer->files[i], paths[i]);
}

static size_t answer(void *data, const void *bytes, size_t length, void *into,
		     struct helper_parts *parts)
{
	static struct stack_question question;
	struct reader *reader = data;
	struct stack_answer *answer = into;
	const struct reading reading = {reader, parts, answer};

	memset(answer, 0, offsetof(struct stack_answer, frames));
	answer->generation = reader->generation;
	if (length <= sizeof(question))
		memcpy(&question, bytes, length);
	switch (length <= sizeof(question) ? question.head.kind : 0) {
	case STACK_PRELOAD:
	case STACK_LOOK:
		/* before all is read, what is mapped may be another file */
		question.stack.header.time_ns = clock_monotonic_ns();
		if (question.stack.pid)
			send_layout(&reading,
				    reader_process_select(&reader->processes, &question.stack));
		if (question.head.kind == STACK_PRELOAD &&
		    symbolizer_preload(reader->processes.symbolizer) < 0)
			reader_give_up();
		break;
	case STACK_ASLEEP:
		if (!copy_stack(&question))
			break;
		/* fallthrough */
	case STACK_COPIED:
		answer->is_read = true;
		read_kernel(&reading, &question.stack);
		/* threads of the kernel have no more */
		if (!question.stack.frame.address)
			answer->end = WIRE_STACK_COMPLETE;
		else if (!read_user(&reading, &question))
			answer->is_read = answer->count = 0;
		break;
	}
	answer->counts = symbolizer_counts(reader->processes.symbolizer);
	write_names(&reader->processes, answer);
	return offsetof(struct stack_answer, frames) + answer->count * sizeof(answer->frames[0]);
}

_Static_assert(sizeof(struct stack_question) + 16 <= HELPER_MESSAGE_BYTES &&
		       sizeof(struct stack_answer) <= HELPER_MESSAGE_BYTES,
	       "they fit into a message");

const struct helper_work stack_reader_work = {
	.begin = begin,
	.answer = answer,
	.serve = opener_serve,
	.watch = opener_watch,
	.tend = opener_tend,
	.memory_bytes = 192 << 20,
	/* of debug information, libdw makes less than it takes in the file */
	.memory_max_bytes = 2ULL << 30,
	.patience_ns = 10 * NS_PER_S,
};
