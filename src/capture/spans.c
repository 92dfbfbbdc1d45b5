// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/spans.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/identities.h"
#include "capture/span_probes.h"
#include "dwell.skel.h"
#include "symbol/unwind.h"

/* Stacks and functions that are told apart; of what is more, the stack is not told. */
#define STACKS_MAX 65536

/* The map of the process is read again for an address it does not have, at most so often. */
#define ATTACH_AGAIN_NS NS_PER_S

_Static_assert((int)SPAN_POLL == (int)WIRE_SPAN_POLL && (int)SPAN_POOL == (int)WIRE_SPAN_POOL &&
		       (int)SPAN_TURN == (int)WIRE_SPAN_TURN,
	       "the one is told as the other");

struct spans {
	const struct span_options *options;
	struct dwell_bpf *bpf;
	struct span_probes probes;
	struct symbolizer *symbolizer;
	uint64_t attached_ns;
	bool ended;		  /* the process */
	struct identities frames; /* (0, address of the symbol_frame) */
	struct identities stacks; /* (count, hash of the frames' ids) */
	uint32_t *types;	  /* frame ids, by number in the cookie - 1; 0 = not told yet */
	size_t type_count;
	uint64_t complete, truncated, failed, lost;
	/* stacks that have come before the end they belong to; workers' records interleave */
	struct pending {
		uint32_t tid; /* 0: free */
		uint32_t block, waker;
	} pending[MAX_WORKERS];
	/* the wait that was looked at last, by the worker's slot */
	struct present {
		uint64_t block_ns;
		uint32_t tid, stack;
	} present[MAX_WORKERS];
};

int spans_attach(struct spans **ret_spans, struct dwell_bpf *bpf,
		 const struct span_options *options, struct record_sink sink, struct error *error)
{
	struct spans *spans = calloc(1, sizeof(*spans));
	int result = 0;

	if (!spans)
		return error_set(error, ENOMEM, "out of memory");
	spans->options = options;
	spans->bpf = bpf;
	spans->type_count = options->probe_count;
	spans->types = calloc(spans->type_count ? spans->type_count : 1, sizeof(*spans->types));
	spans->symbolizer = symbolizer_new();
	if (!spans->symbolizer || !spans->types)
		result = -ENOMEM;
	if (result >= 0)
		result = symbolizer_attach(spans->symbolizer, options->pid);
	/* now, not when the first stall comes and others wait to be looked at */
	if (result >= 0)
		result = symbolizer_preload(spans->symbolizer);
	if (result >= 0)
		result = span_probes_attach(&spans->probes, bpf, options, sink);
	if (result < 0) {
		spans_free(spans);
		return error_set(error, -result, "cannot look into process %u: %s", options->pid,
				 strerror(-result));
	}
	*ret_spans = spans;
	return 0;
}

void spans_free(struct spans *spans)
{
	if (!spans)
		return;
	span_probes_detach(&spans->probes);
	symbolizer_free(spans->symbolizer);
	identities_release(&spans->frames);
	identities_release(&spans->stacks);
	free(spans->types);
	free(spans);
}

/* A function by name alone: the type of a task. */
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
static int take_symbol(struct spans *spans, const struct symbol *symbol, uint64_t time_ns,
		       uint32_t *ids, unsigned int room, struct record_sink sink)
{
	unsigned int count = symbol->count < room ? symbol->count : room;

	for (unsigned int i = 0; i < count; i++) {
		const struct symbol_frame *frame = &symbol->frames[i];
		size_t known = spans->frames.count;
		size_t index = identities_add(&spans->frames, 0, (uint64_t)(uintptr_t)frame);

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

static int add_symbol(struct spans *spans, struct frames *frames, const struct symbol *symbol,
		      uint64_t time_ns, struct record_sink sink)
{
	int result = take_symbol(spans, symbol, time_ns, frames->ids + frames->count,
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

static int send_stack(struct spans *spans, const struct frames *frames, enum unwind_end end,
		      uint64_t time_ns, uint32_t *ret_id, struct record_sink sink)
{
	union {
		struct wire_stack record;
		char room[sizeof(struct wire_stack) + (FRAMES_MAX + 1) * sizeof(uint32_t)];
	} out;
	size_t known = spans->stacks.count, index;
	size_t bytes = frames->count * sizeof(frames->ids[0]);
	uint64_t key = hash(frames);

	*ret_id = 0;
	if (known == STACKS_MAX &&
	    identities_find(&spans->stacks, frames->count, key) == IDENTITY_NONE) {
		spans->lost++;
		return 0;
	}
	index = identities_add(&spans->stacks, frames->count, key);
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
static bool attach_again(struct spans *spans)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (spans->ended || now_ns - spans->attached_ns < ATTACH_AGAIN_NS)
		return false;
	spans->attached_ns = now_ns;
	spans->ended = kill((pid_t)spans->options->pid, 0) < 0;
	return !spans->ended && symbolizer_attach(spans->symbolizer, spans->options->pid) >= 0;
}

static enum unwind_end unwind_raw(struct spans *spans, const struct span_stack *raw,
				  uint64_t addresses[UNWIND_MAX], unsigned int *ret_count)
{
	struct unwind_start start = {
		.address = raw->frame.address,
		.exact = raw->in_user_mode,
		.stack = raw->frame.stack,
		.frame = raw->frame.frame,
		.link = raw->frame.link,
		.memory = raw->user,
		.memory_bytes = raw->user_bytes,
		.returns = raw->returns,
		.return_count = SPAN_RETURNS,
		.frame_pointers = spans->options->unwind == SPAN_UNWIND_FRAME_POINTERS,
	};
	enum unwind_end end;

	*ret_count = unwind(spans->symbolizer, &start, addresses, &end);

	/* through code that was not mapped yet, as the trampoline of return probes before the first
	 */
	if (end != UNWIND_COMPLETE && attach_again(spans))
		*ret_count = unwind(spans->symbolizer, &start, addresses, &end);
	if (end == UNWIND_COMPLETE)
		spans->complete++;
	else if (end == UNWIND_TRUNCATED)
		spans->truncated++;
	else
		spans->failed++;
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

/* A raw stack as a record; *ret_id 0 if there is no room for another. */
static int take_stack(struct spans *spans, const struct span_stack *raw, uint32_t *ret_id,
		      struct record_sink sink)
{
	uint64_t addresses[UNWIND_MAX];
	struct frames frames = {.count = 0};
	struct symbol symbol;
	enum unwind_end end;
	unsigned int count;
	int result = 0;

	for (__u32 i = 0; result >= 0 && i < raw->kernel_count && i < SPAN_KERNEL_FRAMES; i++) {
		result = symbolizer_find_kernel(spans->symbolizer, raw->kernel[i], &symbol);
		if (result >= 0 && (frames.count || !is_our_own(&symbol)))
			result = add_symbol(spans, &frames, &symbol, raw->header.time_ns, sink);
	}
	end = unwind_raw(spans, raw, addresses, &count);
	for (unsigned int i = 0; result >= 0 && i < count; i++) {
		result = symbolizer_find(spans->symbolizer, addresses[i],
					 i > 0 || !raw->in_user_mode, &symbol);
		if (result >= 0)
			result = add_symbol(spans, &frames, &symbol, raw->header.time_ns, sink);
	}
	if (result < 0)
		return result;
	return send_stack(spans, &frames, end, raw->header.time_ns, ret_id, sink);
}

/* NULL: nothing has come, or there is no room to keep it. */
static struct pending *pending_of(struct spans *spans, uint32_t tid, bool make)
{
	struct pending *unused = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(spans->pending); i++) {
		if (spans->pending[i].tid == tid)
			return &spans->pending[i];
		if (!spans->pending[i].tid && !unused)
			unused = &spans->pending[i];
	}
	if (!make || !unused)
		return NULL;
	*unused = (struct pending){.tid = tid};
	return unused;
}

/* Stacks of a span's block and of its waker come before its end. */
static int on_stack(struct spans *spans, const struct span_stack *raw, struct record_sink sink)
{
	struct wire_sample sample = {
		.header = {.size = sizeof(sample),
			   .kind = WIRE_SAMPLE,
			   .time_ns = raw->header.time_ns},
		.span_ns = raw->span_ns,
		.weight_ns = raw->weight_ns,
		.tid = raw->worker_tid,
		.pid = spans->options->pid,
	};
	struct pending *pending;
	uint32_t id;
	int result = take_stack(spans, raw, &id, sink);

	if (result < 0)
		return result;
	if (raw->of == SPAN_STACK_SAMPLE) {
		sample.stack = id;
		return sink_send(sink, &sample.header);
	}
	pending = pending_of(spans, raw->worker_tid, true);
	if (!pending)
		return 0;
	if (raw->of == SPAN_STACK_BLOCK)
		pending->block = id;
	else
		pending->waker = id;
	return 0;
}

/* The type of tasks that a probe's function polls, as a frame: it has a name like one. */
static int tell_type(struct spans *spans, uint64_t cookie, uint64_t time_ns, uint32_t *ret_id,
		     struct record_sink sink)
{
	size_t number = cookie >> 8;
	struct symbol_frame frame = {.module = "", .named = true, .kind = FRAME_KIND_USER};
	size_t index;

	*ret_id = 0;
	if (!number || number > spans->type_count || !spans->options->probes[number - 1].type)
		return 0;
	*ret_id = spans->types[number - 1];
	if (*ret_id)
		return 0;
	frame.function = spans->options->probes[number - 1].type;
	index = identities_add(&spans->frames, 0, (uint64_t)(uintptr_t)frame.function);
	if (index == IDENTITY_NONE)
		return -ENOMEM;
	*ret_id = spans->types[number - 1] = (uint32_t)index + 1;
	return send_frame(*ret_id, &frame, time_ns, sink);
}

static struct wire_party party(const struct span_thread *thread)
{
	struct wire_party party = {.tid = thread->tid, .pid = thread->pid};

	memcpy(party.comm, thread->comm, sizeof(party.comm));
	return party;
}

static int on_end(struct spans *spans, const struct span_end *end, struct record_sink sink)
{
	struct wire_stall stall = {
		.header = {.size = sizeof(stall),
			   .kind = WIRE_STALL,
			   .time_ns = end->header.time_ns},
		.start_ns = end->start_ns,
		.duration_ns = end->header.time_ns - end->start_ns,
		.inner_ns = end->inner_ns,
		.task = end->task,
		.longest_ns = end->longest_ns,
		.culprit_ns = end->culprit_ns,
		.tid = end->tid,
		.pid = end->pid,
		.longest = end->longest,
		.kind = (__u32)SPAN_COOKIE_KIND(end->cookie),
		.flags = end->wait ? WIRE_STALL_OF_LOOP : 0,
		.waker = party(&end->waker),
		.culprit = party(&end->culprit),
	};
	struct pending *pending = pending_of(spans, end->tid, false);
	int result;

	memcpy(stall.states_ns, end->states_ns, sizeof(stall.states_ns));
	if (pending) {
		stall.stack = pending->block;
		stall.waker_stack = pending->waker;
		pending->tid = 0;
	}
	result = tell_type(spans, end->cookie, end->header.time_ns, &stall.type, sink);
	return result < 0 ? result : sink_send(sink, &stall.header);
}

/*
 * The stack of a wait that goes on, from where it is kept until it is known whether the span is
 * worth telling. The worker may come back and take another while we read. The time is written
 * first: if a second look finds the same one, the first copy is whole.
 */
static int read_present(struct spans *spans, const struct span_worker *raw,
			struct span_stack copies[2])
{
	int fd = bpf_map__fd(spans->bpf->maps.span_stacks);
	__u32 index = raw->stack - 1;

	for (int i = 0; i < 2; i++)
		if (bpf_map_lookup_elem(fd, &index, &copies[i]) < 0 ||
		    copies[i].header.time_ns != raw->block_ns)
			return -EAGAIN;
	return 0;
}

/* Where a worker waits that has been in a span for too long; *ret_id 0: not known. */
static int take_present(struct spans *spans, const struct span_worker *raw, uint32_t *ret_id,
			struct record_sink sink)
{
	uint64_t elapsed_ns = raw->header.time_ns - raw->open_ns;
	struct present *present;
	struct span_stack *stack;
	int result = 0;

	*ret_id = 0;
	if (!raw->stack || (raw->stack - 1) / SPAN_STACKS >= MAX_WORKERS || !raw->open_ns ||
	    raw->open_ns > raw->header.time_ns || elapsed_ns < spans->options->threshold_ns)
		return 0;
	present = &spans->present[(raw->stack - 1) / SPAN_STACKS];
	if (present->tid != raw->tid || present->block_ns != raw->block_ns) {
		*present = (struct present){.tid = raw->tid, .block_ns = raw->block_ns};
		stack = malloc(2 * sizeof(*stack));
		if (!stack)
			return -ENOMEM;
		if (read_present(spans, raw, stack) >= 0)
			result = take_stack(spans, stack, &present->stack, sink);
		free(stack);
	}
	*ret_id = present->stack;
	return result;
}

static int on_worker(struct spans *spans, const struct span_worker *raw, struct record_sink sink)
{
	struct wire_worker worker = {
		.header = {.size = sizeof(worker),
			   .kind = WIRE_WORKER,
			   .time_ns = raw->header.time_ns},
		.start_ns = raw->start_ns,
		.spans = raw->spans,
		.stalls = raw->stalls,
		.longest_ns = raw->longest_ns,
		.open_ns = raw->open_ns,
		.since_ns = raw->since_ns,
		.tid = raw->tid,
		.pid = raw->pid,
		.where = raw->where,
		.kind = (__u8)raw->kind,
		.found_by = WIRE_FOUND_BY_TYPE,
	};
	int result = tell_type(spans, raw->open_ns ? raw->open_cookie : 0, raw->header.time_ns,
			       &worker.open_type, sink);

	memcpy(worker.comm, raw->comm, sizeof(worker.comm));
	if (result >= 0)
		result = take_present(spans, raw, &worker.stack, sink);
	return result < 0 ? result : sink_send(sink, &worker.header);
}

int spans_take(struct spans *spans, const struct wire_header *record, struct record_sink sink)
{
	switch (record->kind) {
	case SPAN_STACK:
		return on_stack(spans, (const struct span_stack *)record, sink);
	case SPAN_END:
		return on_end(spans, (const struct span_end *)record, sink);
	case SPAN_WORKER:
		return on_worker(spans, (const struct span_worker *)record, sink);
	}
	return 0;
}

int spans_tell(struct spans *spans, uint64_t instant_ns, struct record_sink sink)
{
	struct symbolizer_counts counts = symbolizer_counts(spans->symbolizer);
	struct wire_runtime record = {
		.header = {.size = sizeof(record), .kind = WIRE_RUNTIME, .time_ns = instant_ns},
		.threshold_ns = spans->options->threshold_ns,
		.stacks_complete = spans->complete,
		.stacks_truncated = spans->truncated,
		.stacks_failed = spans->failed,
		.frames = counts.addresses,
		.frames_named = counts.named,
		.lost = spans->lost + spans->bpf->bss->spans_lost +
			spans->bpf->bss->span_slots_lacking,
		.pid = spans->options->pid,
		.probes = (__u32)spans->probes.attached,
	};

	snprintf(record.name, sizeof(record.name), "%s", spans->options->runtime);
	snprintf(record.process, sizeof(record.process), "%.15s", spans->options->process);
	return sink_send(sink, &record.header);
}
