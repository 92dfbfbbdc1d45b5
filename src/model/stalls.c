// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/stalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/identities.h"

/* Sampled stacks that are told apart in one span, and workers in one at the same time. */
#define SAMPLES_MAX  64
#define SAMPLERS_MAX 256
#define HOTSPOTS_MAX 4096
#define WORKERS_MAX  4096

const struct stall_cause_info stall_cause_info[STALL_CAUSES_COUNT] = {
#define X(name, key, help) [CAUSE_##name] = {key, help},
	STALL_CAUSES(X)
#undef X
};

/* Samples of the span a worker is in. */
struct sampler {
	uint32_t tid;
	uint64_t span_ns;
	unsigned int count;
	struct sampled {
		uint32_t stack;
		uint64_t weight_ns;
	} items[SAMPLES_MAX];
};

struct stalls {
	struct frame *frames; /* by id - 1 */
	size_t frame_count, frame_room;
	struct stack *stacks; /* by id - 1 */
	size_t stack_count, stack_room;
	struct sampler *samplers;
	size_t sampler_count, sampler_room;
	struct identities hotspot_keys; /* (cause and in_place, hash of the function's name) */
	struct hotspot *hotspots;
	size_t hotspot_room;
	struct hotspot *sorted;
	size_t sorted_room;
	struct stall_worker *workers; /* by tid */
	size_t worker_count, worker_room;
	struct wire_runtime runtime;
	struct wire_stall stall; /* the last one */
	struct stall_counts counts;
};

struct stalls *stalls_new(void)
{
	return calloc(1, sizeof(struct stalls));
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	/* the three strings of a frame are one allocation */
	for (size_t i = 0; i < stalls->frame_count; i++)
		free((char *)stalls->frames[i].function);
	for (size_t i = 0; i < stalls->stack_count; i++)
		free((uint32_t *)stalls->stacks[i].frames);
	free(stalls->frames);
	free(stalls->stacks);
	free(stalls->samplers);
	identities_release(&stalls->hotspot_keys);
	free(stalls->hotspots);
	free(stalls->sorted);
	free(stalls->workers);
	free(stalls);
}

const struct frame *stalls_frame(const struct stalls *stalls, uint32_t id)
{
	return id && id <= stalls->frame_count && stalls->frames[id - 1].function
		       ? &stalls->frames[id - 1]
		       : NULL;
}

const struct stack *stalls_stack(const struct stalls *stalls, uint32_t id)
{
	return id && id <= stalls->stack_count && stalls->stacks[id - 1].count
		       ? &stalls->stacks[id - 1]
		       : NULL;
}

/*
 * Numbers are given in order; a recording with damage leaves some out. A far one would ask for much
 * memory.
 */
#define ID_MAX	   (1U << 22)
#define ID_GAP_MAX (1U << 16)

static bool is_next_id(uint32_t id, size_t count)
{
	return id && id <= ID_MAX && id <= count + ID_GAP_MAX;
}

static int add_frame(struct stalls *stalls, const struct wire_frame *record)
{
	size_t bytes = (size_t)record->function_bytes + record->file_bytes + record->module_bytes;
	struct frame *frame;
	char *text;

	if (!is_next_id(record->id, stalls->frame_count) || record->kind >= WIRE_FRAME_KINDS_COUNT)
		return -EBADMSG;
	if (array_reserve(&stalls->frames, &stalls->frame_room, record->id, sizeof(*frame)) < 0)
		return -ENOMEM;
	while (stalls->frame_count < record->id)
		stalls->frames[stalls->frame_count++] = (struct frame){0};
	text = malloc(bytes);
	if (!text)
		return -ENOMEM;
	memcpy(text, record->text, bytes);
	frame = &stalls->frames[record->id - 1];
	free((char *)frame->function);
	*frame = (struct frame){
		.function = text,
		.file = text + record->function_bytes,
		.module = text + record->function_bytes + record->file_bytes,
		.line = record->line,
		.kind = (enum wire_frame_kind)record->kind,
		.inlined = record->flags & WIRE_FRAME_INLINED,
		.named = record->flags & WIRE_FRAME_NAMED,
	};
	return 0;
}

static int add_stack(struct stalls *stalls, const struct wire_stack *record)
{
	struct stack *stack;
	uint32_t *frames;

	if (!is_next_id(record->id, stalls->stack_count))
		return -EBADMSG;
	if (array_reserve(&stalls->stacks, &stalls->stack_room, record->id, sizeof(*stack)) < 0)
		return -ENOMEM;
	while (stalls->stack_count < record->id)
		stalls->stacks[stalls->stack_count++] = (struct stack){0};
	frames = malloc(record->count * sizeof(*frames) + 1);
	if (!frames)
		return -ENOMEM;
	memcpy(frames, record->frames, record->count * sizeof(*frames));
	stack = &stalls->stacks[record->id - 1];
	free((uint32_t *)stack->frames);
	*stack = (struct stack){frames, record->count, (enum wire_stack_end)record->end};
	return 0;
}

static struct sampler *sampler_of(const struct stalls *stalls, uint32_t tid)
{
	for (size_t i = 0; i < stalls->sampler_count; i++)
		if (stalls->samplers[i].tid == tid)
			return &stalls->samplers[i];
	return NULL;
}

static int add_sample(struct stalls *stalls, const struct wire_sample *record)
{
	struct sampler *sampler = sampler_of(stalls, record->tid);
	unsigned int i = 0;

	if (!sampler) {
		if (stalls->sampler_count == SAMPLERS_MAX)
			stalls->sampler_count = 0; /* of threads long gone, most of them */
		if (array_reserve(&stalls->samplers, &stalls->sampler_room,
				  stalls->sampler_count + 1, sizeof(*sampler)) < 0)
			return -ENOMEM;
		sampler = &stalls->samplers[stalls->sampler_count++];
		*sampler = (struct sampler){.tid = record->tid};
	}
	if (sampler->span_ns != record->span_ns) {
		sampler->span_ns = record->span_ns;
		sampler->count = 0;
	}
	while (i < sampler->count && sampler->items[i].stack != record->stack)
		i++;
	if (i == SAMPLES_MAX || !record->stack)
		return 0;
	if (i == sampler->count)
		sampler->items[sampler->count++] = (struct sampled){record->stack, 0};
	sampler->items[i].weight_ns += record->weight_ns;
	return 0;
}

/* The frame a stack is named by: the innermost of the program's own, else of what it was built of.
 */
static uint32_t function_of(const struct stalls *stalls, uint32_t id)
{
	static const enum wire_frame_kind order[] = {WIRE_FRAME_USER, WIRE_FRAME_DEPENDENCY,
						     WIRE_FRAME_RUNTIME, WIRE_FRAME_STANDARD,
						     WIRE_FRAME_SYSTEM};
	const struct stack *stack = stalls_stack(stalls, id);

	for (size_t i = 0; stack && i < ARRAY_SIZE(order); i++) {
		for (uint32_t j = 0; j < stack->count; j++) {
			const struct frame *frame = stalls_frame(stalls, stack->frames[j]);

			if (frame && frame->named && frame->kind == order[i])
				return stack->frames[j];
		}
	}
	return stack ? stack->frames[0] : 0;
}

static bool has_function(const struct stalls *stalls, uint32_t id, const char *part)
{
	const struct stack *stack = stalls_stack(stalls, id);

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stalls_frame(stalls, stack->frames[i]);

		if (frame && strstr(frame->function, part))
			return true;
	}
	return false;
}

/*
 * Whether the task said it would block. Only up to the poll: a worker that another one's
 * block_in_place() has started keeps that on its stack for life.
 */
static bool is_in_place(const struct stalls *stalls, uint32_t id)
{
	const struct stack *stack = stalls_stack(stalls, id);

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stalls_frame(stalls, stack->frames[i]);

		if (!frame)
			continue;
		if (strstr(frame->function, "tokio::runtime::task::"))
			return false;
		if (strstr(frame->function, "block_in_place"))
			return true;
	}
	return false;
}

/* An idle thread waits for work; one that works waits for somebody. */
static enum stall_cause cause_of_state(__u8 state, struct wire_where where)
{
	switch (state) {
	case WIRE_ON_CPU:
		return CAUSE_CPU;
	case WIRE_RUNNABLE:
		return CAUSE_RUNNABLE;
	case WIRE_DISK:
		return CAUSE_DISK;
	case WIRE_NET:
		return CAUSE_NET;
	case WIRE_LOCK:
		return CAUSE_LOCK;
	case WIRE_SWAP:
		return CAUSE_SWAP;
	case WIRE_SLEEP:
		return CAUSE_SLEEP;
	case WIRE_STOPPED:
		return CAUSE_STOPPED;
	case WIRE_IDLE:
		return where.state == WIRE_IDLE && where.detail == WIRE_DETAIL_NONE ? CAUSE_NET
										    : CAUSE_IPC;
	}
	return CAUSE_IPC;
}

static __u8 main_state(const struct wire_stall *record)
{
	__u8 most = 0;

	for (__u8 i = 1; i < WIRE_STATES; i++)
		if (record->states_ns[i] > record->states_ns[most])
			most = i;
	return most;
}

/* The stack that was sampled for the longest time, with all others in the same function. */
static uint32_t sampled_stack(const struct stalls *stalls, const struct wire_stall *record)
{
	const struct sampler *sampler = sampler_of(stalls, record->tid);
	uint64_t most = 0;
	uint32_t best = 0;

	if (!sampler || sampler->span_ns != record->start_ns)
		return 0;
	for (unsigned int i = 0; i < sampler->count; i++) {
		uint32_t function = function_of(stalls, sampler->items[i].stack);
		uint64_t weight_ns = 0, largest = 0;
		uint32_t stack = 0;

		for (unsigned int j = 0; j < sampler->count; j++) {
			if (function_of(stalls, sampler->items[j].stack) != function)
				continue;
			weight_ns += sampler->items[j].weight_ns;
			if (!stack || sampler->items[j].weight_ns > largest) {
				largest = sampler->items[j].weight_ns;
				stack = sampler->items[j].stack;
			}
		}
		if (!best || weight_ns > most) {
			most = weight_ns;
			best = stack;
		}
	}
	return best;
}

static uint64_t hash(const char *text)
{
	uint64_t value = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (; *text; text++)
		value = (value ^ (unsigned char)*text) * 0x100000001b3ULL;
	return value;
}

/* Of one function, and one cause. 0 or -ENOMEM; NULL without room. */
static int hotspot_of(struct stalls *stalls, const struct stall *stall,
		      struct hotspot **ret_hotspot)
{
	const struct frame *function = stalls_frame(stalls, stall->function);
	size_t known = stalls->hotspot_keys.count, index;
	uint32_t kind = (uint32_t)stall->cause << 1 | stall->in_place;
	uint64_t key = hash(function ? function->function : "");

	*ret_hotspot = NULL;
	if (known == HOTSPOTS_MAX &&
	    identities_find(&stalls->hotspot_keys, kind, key) == IDENTITY_NONE)
		return 0;
	if (array_reserve(&stalls->hotspots, &stalls->hotspot_room, known + 1,
			  sizeof(*stalls->hotspots)) < 0)
		return -ENOMEM;
	index = identities_add(&stalls->hotspot_keys, kind, key);
	if (index == IDENTITY_NONE)
		return -ENOMEM;
	if (index == known)
		stalls->hotspots[index] = (struct hotspot){.cause = stall->cause,
							   .function = stall->function,
							   .in_place = stall->in_place};
	*ret_hotspot = &stalls->hotspots[index];
	return 0;
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int bucket = 0;

	while (bucket + 1 < STALL_BUCKETS && ns >> (bucket + 1))
		bucket++;
	return bucket;
}

static int count_stall(struct stalls *stalls, const struct stall *stall)
{
	struct hotspot *hotspot;
	int result = hotspot_of(stalls, stall, &hotspot);

	if (result < 0)
		return result;
	stalls->counts.stalls++;
	stalls->counts.in_place += stall->in_place;
	stalls->counts.total_ns += stall->own_ns;
	if (stall->own_ns > stalls->counts.max_ns)
		stalls->counts.max_ns = stall->own_ns;
	if (!stall->in_place && stall->own_ns > stalls->counts.max_blamed_ns)
		stalls->counts.max_blamed_ns = stall->own_ns;
	if (!hotspot) {
		stalls->counts.hotspots_lost++;
		return 0;
	}
	if (stall->own_ns >= hotspot->max_ns) {
		hotspot->max_ns = stall->own_ns;
		hotspot->stack = stall->stack;
		hotspot->type = stall->record->type;
		hotspot->where = stall->where;
	}
	hotspot->count++;
	hotspot->total_ns += stall->own_ns;
	hotspot->buckets[bucket_of(stall->own_ns)]++;
	if (stall->record->waker.tid) {
		hotspot->waker = stall->record->waker;
		hotspot->waker_function = stall->waker_function;
	}
	if (stall->record->culprit.tid)
		hotspot->culprit = stall->record->culprit;
	return 0;
}

static unsigned int count_function(const struct stalls *stalls, uint32_t id, const char *name)
{
	const struct stack *stack = stalls_stack(stalls, id);
	unsigned int count = 0;

	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stalls_frame(stalls, stack->frames[i]);

		count += frame && !frame->inlined && !strncmp(frame->function, name, strlen(name));
	}
	return count;
}

/*
 * A Tokio program without debug information does not tell the types of tasks. A worker thread of
 * the multi-threaded scheduler lives in a poll itself, so its tasks have two polls on the stack.
 * One poll alone is that life; or, below no scheduler, a closure on the blocking pool; or, on a
 * thread that waits for events, a task of the current_thread scheduler.
 */
static bool is_no_task(const struct stalls *stalls, const struct wire_stall *record, uint32_t stack)
{
	unsigned int raw = count_function(stalls, stack, "tokio::runtime::task::raw::poll");
	/* to which the former often only jumps */
	unsigned int harness =
		count_function(stalls, stack, "tokio::runtime::task::harness::Harness<T,S>::poll");
	unsigned int polls = raw > harness ? raw : harness;

	if (record->kind != WIRE_SPAN_POLL || record->type || !stalls_stack(stalls, stack))
		return false;
	if (polls > 1)
		return polls == 2 && record->inner_ns;
	if (has_function(stalls, stack, "multi_thread::worker") ||
	    has_function(stalls, stack, "blocking::pool"))
		return true;
	return !(record->flags & WIRE_STALL_OF_LOOP) &&
	       !has_function(stalls, stack, "current_thread");
}

static int take_stall(struct stalls *stalls, const struct wire_stall *record,
		      struct stall *ret_stall)
{
	uint32_t sampled;
	struct stall stall = {.record = &stalls->stall};
	__u8 state = main_state(record);
	int result;

	if (record->inner_ns > record->duration_ns)
		return -EBADMSG;
	stalls->stall = *record;
	sampled = sampled_stack(stalls, record);
	stall.own_ns = record->duration_ns - record->inner_ns;
	stall.cause = cause_of_state(state, record->longest);
	/* what it ran says nothing about a wait, nor a wait about what it ran */
	stall.stack = state == WIRE_ON_CPU ? sampled : record->stack;
	if (!stall.stack)
		stall.stack = state == WIRE_ON_CPU ? record->stack : sampled;
	/* damage may have taken it */
	if (!stalls_stack(stalls, stall.stack))
		stall.stack = 0;
	if (is_no_task(stalls, record, stall.stack)) {
		stalls->counts.pool_stalls++;
		return 0;
	}
	stall.function = function_of(stalls, stall.stack);
	if (!stall.function)
		stall.function = record->type;
	/* a short wait beside it explains nothing */
	if (record->longest.state == state)
		stall.where = record->longest;
	else if (state == WIRE_LOCK && record->longest.detail == WIRE_DETAIL_FUTEX_COND)
		/* found to be a lock only after it had begun */
		stall.where = (struct wire_where){WIRE_LOCK, WIRE_DETAIL_FUTEX_LOCK,
						  record->longest.syscall};
	stall.waker_function = function_of(stalls, record->waker_stack);
	stall.in_place = is_in_place(stalls, stall.stack);
	result = count_stall(stalls, &stall);
	*ret_stall = stall;
	return result < 0 ? result : 1;
}

static int by_tid(const void *left, const void *right)
{
	const struct stall_worker *a = left, *b = right;

	return (a->last.tid > b->last.tid) - (a->last.tid < b->last.tid);
}

static struct stall_worker *worker_of(struct stalls *stalls, uint32_t tid, uint64_t start_ns)
{
	for (size_t i = 0; i < stalls->worker_count; i++)
		if (stalls->workers[i].last.tid == tid &&
		    (!start_ns || stalls->workers[i].last.start_ns == start_ns))
			return &stalls->workers[i];
	return NULL;
}

static int add_worker(struct stalls *stalls, const struct wire_worker *record)
{
	struct stall_worker *worker = worker_of(stalls, record->tid, record->start_ns);

	if (!worker) {
		if (stalls->worker_count == WORKERS_MAX)
			return 0;
		if (array_reserve(&stalls->workers, &stalls->worker_room, stalls->worker_count + 1,
				  sizeof(*worker)) < 0)
			return -ENOMEM;
		worker = &stalls->workers[stalls->worker_count++];
		*worker = (struct stall_worker){.last = *record};
	}
	worker->spans = record->spans;
	worker->stalls = record->stalls;
	if (record->longest_ns > worker->longest_ns)
		worker->longest_ns = record->longest_ns;
	worker->last = *record;
	return 0;
}

int stalls_feed(struct stalls *stalls, const struct wire_header *record, struct stall *ret_stall)
{
	switch (record->kind) {
	case WIRE_FRAME:
		return add_frame(stalls, (const struct wire_frame *)record);
	case WIRE_STACK:
		return add_stack(stalls, (const struct wire_stack *)record);
	case WIRE_SAMPLE:
		return add_sample(stalls, (const struct wire_sample *)record);
	case WIRE_STALL:
		return take_stall(stalls, (const struct wire_stall *)record, ret_stall);
	case WIRE_WORKER:
		return add_worker(stalls, (const struct wire_worker *)record);
	case WIRE_RUNTIME:
		stalls->runtime = *(const struct wire_runtime *)record;
		return 0;
	}
	return 0;
}

static int by_total(const void *left, const void *right)
{
	const struct hotspot *a = left, *b = right;

	/* what the runtime was told of is nobody's fault */
	if (a->in_place != b->in_place)
		return a->in_place - b->in_place;
	return (a->total_ns < b->total_ns) - (a->total_ns > b->total_ns);
}

const struct hotspot *stalls_hotspots(struct stalls *stalls, size_t *ret_count)
{
	size_t count = stalls->hotspot_keys.count;

	*ret_count = 0;
	if (!count ||
	    array_reserve(&stalls->sorted, &stalls->sorted_room, count, sizeof(*stalls->sorted)))
		return NULL;
	memcpy(stalls->sorted, stalls->hotspots, count * sizeof(*stalls->sorted));
	qsort(stalls->sorted, count, sizeof(*stalls->sorted), by_total);
	*ret_count = count;
	return stalls->sorted;
}

const struct stall_worker *stalls_workers(struct stalls *stalls, size_t *ret_count)
{
	if (stalls->worker_count)
		qsort(stalls->workers, stalls->worker_count, sizeof(*stalls->workers), by_tid);
	*ret_count = stalls->worker_count;
	return stalls->workers;
}

const struct wire_runtime *stalls_runtime(const struct stalls *stalls)
{
	return &stalls->runtime;
}

const struct stall_counts *stalls_counts(const struct stalls *stalls)
{
	return &stalls->counts;
}
