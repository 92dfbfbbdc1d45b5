// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/span_stacks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "symbol/unwind.h"

/* Stacks and functions that are told apart; of what is more, the stack is not told. */
#define STACKS_MAX 65536

/* The map of the process is read again for an address it does not have, for 1/20 of the time. */
#define ATTACH_AGAIN_SHARE 20

int span_stacks_init(struct span_stacks *stacks, const struct span_options *options)
{
	int result;

	stacks->options = options;
	stacks->symbolizer = symbolizer_new();
	if (!stacks->symbolizer)
		return -ENOMEM;
	symbolizer_take_symbols(stacks->symbolizer, options->symbols);
	result = symbolizer_attach(stacks->symbolizer, options->pid);
	/* now, not when the first stall comes and others wait to be looked at */
	return result < 0 ? result : symbolizer_preload(stacks->symbolizer);
}

void span_stacks_release(struct span_stacks *stacks)
{
	symbolizer_free(stacks->symbolizer);
	identities_release(&stacks->frames);
	identities_release(&stacks->stacks);
	*stacks = (struct span_stacks){0};
}

static int send_frame(uint32_t id, const struct symbol_frame *frame, uint64_t time_ns,
		      struct record_sink sink)
{
	union {
		struct wire_frame record;
		char room[sizeof(struct wire_frame) + 3 * 4096 + 8];
	} out;
	const char *parts[] = {frame->function, frame->file ? frame->file : "", frame->module};
	__u16 *lengths[] = {&out.record.function_bytes, &out.record.file_bytes,
			    &out.record.module_bytes};
	size_t used = sizeof(out.record);

	out.record = (struct wire_frame){
		.header = {.kind = WIRE_FRAME, .time_ns = time_ns},
		.id = id,
		.line = (__u32)frame->line,
		.kind = (__u8)frame->kind,
		.flags = (__u8)((frame->inlined ? WIRE_FRAME_INLINED : 0) |
				(frame->named ? WIRE_FRAME_NAMED : 0)),
	};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t length = strnlen(parts[i], 4095);

		memcpy(out.room + used, parts[i], length);
		out.room[used + length] = '\0';
		*lengths[i] = (__u16)(length + 1);
		used += length + 1;
	}
	memset(out.room + used, 0, -used % 8);
	out.record.header.size = (__u32)(used + -used % 8);
	return sink_send(sink, &out.record.header);
}

/* The frames of an address, told if they are new. How many ids, or a negative errno. */
static int take_symbol(struct span_stacks *stacks, const struct symbol *symbol, uint64_t time_ns,
		       uint32_t *ids, unsigned int room, struct record_sink sink)
{
	unsigned int count = symbol->count < room ? symbol->count : room;

	for (unsigned int i = 0; i < count; i++) {
		const struct symbol_frame *frame = &symbol->frames[i];
		size_t known = stacks->frames.count;
		size_t index = identities_add(&stacks->frames, 0, (uint64_t)(uintptr_t)frame);

		if (index == IDENTITY_NONE)
			return -ENOMEM;
		ids[i] = (uint32_t)index + 1;
		if (index == known) {
			int result = send_frame(ids[i], frame, time_ns, sink);

			if (result < 0)
				return result;
		}
	}
	return (int)count;
}

/* More than any stack that is shown: inlined frames count too. */
#define FRAMES_MAX 1024

struct frames {
	uint32_t ids[FRAMES_MAX];
	unsigned int count;
};

static int add_symbol(struct span_stacks *stacks, struct frames *frames,
		      const struct symbol *symbol, uint64_t time_ns, struct record_sink sink)
{
	int result = take_symbol(stacks, symbol, time_ns, frames->ids + frames->count,
				 FRAMES_MAX - frames->count, sink);

	if (result > 0)
		frames->count += (unsigned int)result;
	return result;
}

static uint64_t hash(const struct frames *frames)
{
	uint64_t value = 0xcbf29ce484222325ULL; /* FNV-1a, by words */

	for (unsigned int i = 0; i < frames->count; i++)
		value = (value ^ frames->ids[i]) * 0x100000001b3ULL;
	return value;
}

static int send_stack(struct span_stacks *stacks, const struct frames *frames, enum unwind_end end,
		      uint64_t time_ns, uint32_t *ret_id, struct record_sink sink)
{
	union {
		struct wire_stack record;
		char room[sizeof(struct wire_stack) + (FRAMES_MAX + 1) * sizeof(uint32_t)];
	} out;
	size_t known = stacks->stacks.count, index;
	size_t bytes = frames->count * sizeof(frames->ids[0]);
	uint64_t key = hash(frames);

	*ret_id = 0;
	if (known == STACKS_MAX &&
	    identities_find(&stacks->stacks, frames->count, key) == IDENTITY_NONE) {
		stacks->lost++;
		return 0;
	}
	index = identities_add(&stacks->stacks, frames->count, key);
	if (index == IDENTITY_NONE)
		return -ENOMEM;
	*ret_id = (uint32_t)index + 1;
	if (index < known)
		return 0;
	out.record = (struct wire_stack){
		.header = {.size = (__u32)(sizeof(out.record) + (bytes + 7) / 8 * 8),
			   .kind = WIRE_STACK,
			   .time_ns = time_ns},
		.id = *ret_id,
		.count = frames->count,
		.end = end == UNWIND_COMPLETE	 ? WIRE_STACK_COMPLETE
		       : end == UNWIND_TRUNCATED ? WIRE_STACK_TRUNCATED
						 : WIRE_STACK_FAILED,
	};
	memcpy(out.room + sizeof(out.record), frames->ids, bytes);
	memset(out.room + sizeof(out.record) + bytes, 0, -bytes % 8);
	return sink_send(sink, &out.record.header);
}

/* Reads the map of the process again; after it has ended, what it had mapped is kept. */
static bool attach_again(struct span_stacks *stacks)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (stacks->ended ||
	    now_ns - stacks->attached_ns < ATTACH_AGAIN_SHARE * stacks->attaching_ns)
		return false;
	stacks->ended = kill((pid_t)stacks->options->pid, 0) < 0 && errno == ESRCH;
	if (stacks->ended || symbolizer_attach(stacks->symbolizer, stacks->options->pid) < 0)
		return false;
	stacks->attached_ns = clock_monotonic_ns();
	stacks->attaching_ns = stacks->attached_ns - now_ns;
	return true;
}

static enum unwind_end unwind_raw(struct span_stacks *stacks, const struct span_stack *raw,
				  uint64_t addresses[UNWIND_MAX], unsigned int *ret_count)
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
		.frame_pointers = stacks->options->unwind == SPAN_UNWIND_FRAME_POINTERS,
	};
	enum unwind_end end;

	*ret_count = unwind(stacks->symbolizer, &start, addresses, &end);

	/* through code that was not mapped yet, as the trampoline of return probes before the first
	 */
	if (end != UNWIND_COMPLETE && attach_again(stacks))
		*ret_count = unwind(stacks->symbolizer, &start, addresses, &end);
	return end;
}

static void count_end(struct span_stacks *stacks, enum unwind_end end)
{
	if (end == UNWIND_COMPLETE)
		stacks->complete++;
	else if (end == UNWIND_TRUNCATED)
		stacks->truncated++;
	else
		stacks->failed++;
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

/* An instance may begin with the `<` of its type. */
static bool begins(const char *function, const char *beginning)
{
	function += *function == '<';
	return beginning && !strncmp(function, beginning, strlen(beginning));
}

static bool ends_in_poll(const char *function)
{
	static const char end[] = "::poll";
	size_t length = strlen(function);

	return length >= strlen(end) && !strcmp(function + length - strlen(end), end);
}

/* What the functions at an address tell of the thread. */
static void read_signs(const struct span_marks *marks, const struct symbol *symbol,
		       struct span_signs *signs)
{
	for (unsigned int i = 0; i < symbol->count; i++) {
		const struct symbol_frame *frame = &symbol->frames[i];

		signs->polls += !frame->inlined && begins(frame->function, marks->poll);
		signs->harnesses += !frame->inlined && begins(frame->function, marks->harness) &&
				    ends_in_poll(frame->function);
		signs->worker |= marks->worker && strstr(frame->function, marks->worker);
		signs->single |= marks->single && strstr(frame->function, marks->single);
		signs->pool |= marks->pool && strstr(frame->function, marks->pool);
		signs->root |= marks->root && strstr(frame->function, marks->root);
	}
}

int span_stacks_take(struct span_stacks *stacks, const struct span_stack *raw, uint32_t *ret_id,
		     struct span_signs *signs, struct record_sink sink)
{
	uint64_t addresses[UNWIND_MAX];
	struct frames frames = {.count = 0};
	struct symbol symbol;
	enum unwind_end end;
	unsigned int count;
	int result = 0;

	for (__u32 i = 0; result >= 0 && i < raw->kernel_count && i < SPAN_KERNEL_FRAMES; i++) {
		result = symbolizer_find_kernel(stacks->symbolizer, raw->kernel[i], &symbol);
		if (result >= 0 && (frames.count || !is_our_own(&symbol)))
			result = add_symbol(stacks, &frames, &symbol, raw->header.time_ns, sink);
	}
	end = unwind_raw(stacks, raw, addresses, &count);
	/* those of threads that may be no workers say nothing of the quality */
	if (raw->of != SPAN_STACK_SEED)
		count_end(stacks, end);
	if (signs)
		signs->complete = end == UNWIND_COMPLETE;
	for (unsigned int i = 0; result >= 0 && i < count; i++) {
		result = symbolizer_find(stacks->symbolizer, addresses[i],
					 i > 0 || !raw->in_user_mode, &symbol);
		if (result >= 0)
			result = add_symbol(stacks, &frames, &symbol, raw->header.time_ns, sink);
		if (result >= 0 && signs)
			read_signs(&stacks->options->marks, &symbol, signs);
	}
	if (result < 0)
		return result;
	return send_stack(stacks, &frames, end, raw->header.time_ns, ret_id, sink);
}

int span_stacks_name(struct span_stacks *stacks, const char *name, uint64_t time_ns,
		     uint32_t *ret_id, struct record_sink sink)
{
	struct symbol_frame frame = {
		.function = name, .module = "", .named = true, .kind = FRAME_KIND_USER};
	size_t known = stacks->frames.count;
	size_t index = identities_add(&stacks->frames, 0, (uint64_t)(uintptr_t)name);

	if (index == IDENTITY_NONE)
		return -ENOMEM;
	*ret_id = (uint32_t)index + 1;
	return index < known ? 0 : send_frame(*ret_id, &frame, time_ns, sink);
}
