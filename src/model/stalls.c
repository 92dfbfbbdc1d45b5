// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/stalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/identities.h"
#include "base/text.h"
#include "model/process_cpu.h"
#include "model/session_info.h"
#include "model/stall_parts.h"
#include "model/stall_samples.h"

/* Threads of the blocking pool are among them, of which a busy program has ever new ones. */
#define WORKERS_MAX 4096

/* Of a window; one more is kept, so that there is always a whole window. */
#define SLICES 20

/* A part of the window, or all the time. */
struct slice {
	struct hotspots hotspots;
	struct stall_counts counts;
};

struct worker_slice {
	uint64_t spans, stalls, longest_ns;
	uint64_t states_ns[STATES];
};

struct stalls {
	const struct stack_marks *marks;
	struct stacks stacks;
	struct stall_samples samples;
	uint64_t slice_ns; /* 0: one slice for all the time */
	size_t slice_count;
	uint64_t slice_number; /* of the present one: its place is this modulo slice_count */
	struct slice slices[SLICES + 1];
	struct stall_counts all;
	struct hotspots merged;
	struct identities worker_keys;
	bool *ended;			    /* likewise */
	struct wire_worker *lasts;	    /* by number in worker_keys */
	struct worker_slice *worker_slices; /* slice_count for each */
	size_t last_room, ended_room, worker_slice_room;
	size_t next_ended;	      /* where the next one that has ended is looked for */
	size_t without_place;	      /* workers of this interval */
	struct stall_worker *workers; /* as reported */
	size_t worker_room;
	struct tasks tasks;
	struct process_cpu cpu;
	struct wire_runtime runtime;
	struct session_info session;
	struct wire_stall stall; /* the last one */
};

struct stalls *stalls_new(uint64_t window_ns, const struct stack_marks *marks)
{
	struct stalls *stalls = calloc(1, sizeof(*stalls));

	if (!stalls)
		return NULL;
	stalls->marks = marks;
	stalls->slice_ns = (window_ns + SLICES - 1) / SLICES;
	stalls->slice_count = window_ns ? SLICES + 1 : 1;
	stalls->tasks.slice_count = stalls->slice_count;
	return stalls;
}

void stalls_free(struct stalls *stalls)
{
	if (!stalls)
		return;
	session_release(&stalls->session);
	stacks_release(&stalls->stacks);
	stall_samples_release(&stalls->samples);
	for (size_t i = 0; i < stalls->slice_count; i++)
		hotspots_release(&stalls->slices[i].hotspots);
	hotspots_release(&stalls->merged);
	identities_release(&stalls->worker_keys);
	tasks_release(&stalls->tasks);
	process_cpu_release(&stalls->cpu);
	free(stalls->lasts);
	free(stalls->ended);
	free(stalls->worker_slices);
	free(stalls->workers);
	free(stalls);
}

/* What was in the place of the slice is too old now. */
static void begin_slice(struct stalls *stalls, uint64_t number)
{
	size_t place = (size_t)(number % stalls->slice_count);

	hotspots_clear(&stalls->slices[place].hotspots);
	stalls->slices[place].counts = (struct stall_counts){0};
	tasks_begin_slice(&stalls->tasks, place);
	for (size_t i = 0; i < stalls->worker_keys.count; i++)
		stalls->worker_slices[i * stalls->slice_count + place] = (struct worker_slice){0};
}

/* The place of the slice for what is at `time_ns`; what comes late goes to the present one. */
static size_t slice_at(struct stalls *stalls, uint64_t time_ns)
{
	uint64_t number = stalls->slice_ns ? time_ns / stalls->slice_ns : 0;

	if (number > stalls->slice_number + stalls->slice_count)
		stalls->slice_number = number - stalls->slice_count;
	while (stalls->slice_number < number)
		begin_slice(stalls, ++stalls->slice_number);
	return (size_t)(stalls->slice_number % stalls->slice_count);
}

bool stalls_measures(const struct stalls *stalls, __u8 wire_state)
{
	return session_measures(&stalls->session, wire_state);
}

const char *stalls_cgroup(const struct stalls *stalls, uint64_t id)
{
	return session_cgroup(&stalls->session, id);
}

const struct frame *stalls_frame(const struct stalls *stalls, uint32_t id)
{
	return stacks_frame(&stalls->stacks, id);
}

const struct stack *stalls_stack(const struct stalls *stalls, uint32_t id)
{
	return stacks_stack(&stalls->stacks, id);
}

bool stalls_lack_names(const struct stalls *stalls, uint32_t id)
{
	return stacks_lacks_names(&stalls->stacks, id);
}

static uint64_t key_of(const struct stalls *stalls, uint32_t id)
{
	const struct frame *frame = stalls_frame(stalls, id);

	const char *name = frame ? frame->function : "";

	/* their addresses say nothing */
	if (frame && frame_is_made_at_run_time(frame))
		return 1;
	/* V8 marks with what it has compiled a function: JS:~f, JS:^f, JS:*f */
	if (!strncmp(name, "JS:", 3))
		name += 3 + strspn(name + 3, "~^+*");
	return text_hash(name);
}

static void add_counts(struct stall_counts *sum, const struct stall_counts *part)
{
	sum->measured_ns += part->measured_ns;
	if (part->end_ns > sum->end_ns)
		sum->end_ns = part->end_ns;
	sum->machine_stolen_ns += part->machine_stolen_ns;
	sum->machine_busy_ns += part->machine_busy_ns;
	sum->stalls += part->stalls;
	sum->total_ns += part->total_ns;
	if (part->max_ns > sum->max_ns)
		sum->max_ns = part->max_ns;
	if (part->max_blamed_ns > sum->max_blamed_ns)
		sum->max_blamed_ns = part->max_blamed_ns;
	sum->blamed_ns += part->blamed_ns;
	sum->in_place += part->in_place;
	sum->machine += part->machine;
	sum->unexplained += part->unexplained;
	sum->pool_stalls += part->pool_stalls;
	sum->hotspots_lost += part->hotspots_lost;
	if (part->workers_lost > sum->workers_lost)
		sum->workers_lost = part->workers_lost;
}

static void count(struct stalls *stalls, uint64_t time_ns, const struct stall_counts *counts)
{
	add_counts(&stalls->all, counts);
	add_counts(&stalls->slices[slice_at(stalls, time_ns)].counts, counts);
}

static struct stall_counts counts_of(const struct stall *stall)
{
	struct stall_counts counts = {
		.stalls = 1, .total_ns = stall->own_ns, .max_ns = stall->own_ns};
	bool in_place = false;

	for (size_t i = 0; i < stall->part_count; i++) {
		const struct stall_part *part = &stall->parts[i];

		if (part->in_place)
			in_place = true;
		else if (!stall_cause_is_machine(part->cause))
			counts.blamed_ns += part->ns;
	}
	counts.max_blamed_ns = counts.blamed_ns;
	counts.unexplained =
		!stall->parts[0].stack && !stall_cause_is_machine(stall->parts[0].cause);
	if (!counts.blamed_ns)
		*(in_place ? &counts.in_place : &counts.machine) = 1;
	return counts;
}

static int count_part(struct stalls *stalls, const struct wire_stall *record,
		      const struct stall_part *part, uint64_t *ret_lost)
{
	const struct frame *function = stalls_frame(stalls, part->function);
	struct hotspot hotspot = {
		.cause = part->cause,
		.in_place = part->in_place,
		.function = part->function,
		.type = record->type,
		.stack = part->stack,
		.count = 1,
		.total_ns = part->ns,
		.max_ns = part->ns,
		.site = part->site,
		.waker = part->waker,
		.waker_function = part->waker_function,
		.culprit = part->culprit,
		.limit = part->limit,
		.workers = {{record->tid, 1, part->ns}},
	};
	struct hotspots *hotspots =
		&stalls->slices[slice_at(stalls, record->header.time_ns)].hotspots;
	uint64_t lost = hotspots->lost;
	int result;

	hotspot.buckets[hotspot_bucket(part->ns)] = 1;
	hotspot.keys[HOTSPOTS_BY_FUNCTION] = key_of(stalls, part->function);
	hotspot.keys[HOTSPOTS_BY_TASK] = key_of(stalls, record->type);
	hotspot.keys[HOTSPOTS_BY_FILE] = text_hash(!function	     ? ""
						   : *function->file ? function->file
								     : function->module);
	result = hotspots_add(hotspots, &hotspot);
	*ret_lost += hotspots->lost - lost;
	return result;
}

static int count_stall(struct stalls *stalls, const struct stall *stall)
{
	struct stall_counts counts = counts_of(stall);
	int result = 0;

	for (size_t i = 0; result >= 0 && i < stall->part_count; i++)
		result = count_part(stalls, stall->record, &stall->parts[i], &counts.hotspots_lost);
	count(stalls, stall->record->header.time_ns, &counts);
	return result;
}

/*
 * A program without debug information does not name the types of tasks. A worker thread of a
 * multi-threaded scheduler lives in a poll itself, so its tasks have two polls on the stack. One
 * poll alone is that life; or, below no scheduler, a closure on the blocking pool; or, on a thread
 * that waits for events, a task of a scheduler without threads of its own.
 */
static bool is_no_task(const struct stalls *stalls, const struct wire_stall *record, uint32_t stack)
{
	const struct stack_marks *marks = stalls->marks;
	unsigned int raw = stacks_count_function(&stalls->stacks, stack, marks->poll);
	unsigned int harness = stacks_count_function(&stalls->stacks, stack, marks->harness);
	unsigned int polls = raw > harness ? raw : harness;

	if (record->kind != WIRE_SPAN_POLL || record->type ||
	    record->flags & (WIRE_STALL_SEEDED | WIRE_STALL_TASK))
		return false;
	/* tasks do not poll tasks, or hardly ever */
	if (!stalls_stack(stalls, stack))
		return record->inner_ns;
	if (polls > 1)
		return polls == 2 && record->inner_ns;
	if (stacks_has_function(&stalls->stacks, stack, marks->worker) ||
	    stacks_has_function(&stalls->stacks, stack, marks->pool))
		return true;
	return !(record->flags & WIRE_STALL_OF_LOOP) &&
	       !stacks_has_function(&stalls->stacks, stack, marks->single);
}

static int take_stall(struct stalls *stalls, const struct wire_stall *record,
		      struct stall *ret_stall)
{
	struct stall stall = {.record = &stalls->stall};
	uint32_t sampled;
	int result;

	if (record->inner_ns > record->duration_ns)
		return -EBADMSG;
	stalls->stall = *record;
	stall.own_ns = record->duration_ns - record->inner_ns;
	sampled = stall_samples_stack(&stalls->samples, &stalls->stacks, record->tid,
				      record->start_ns);
	stall_divide(&stall, &stalls->stacks, stalls->runtime.threshold_ns, sampled);
	if (is_no_task(stalls, record, stall.parts[0].stack)) {
		count(stalls, record->header.time_ns, &(struct stall_counts){.pool_stalls = 1});
		return 0;
	}
	stall_name_parts(&stall, &stalls->stacks, stalls->marks);
	result = count_stall(stalls, &stall);
	*ret_stall = stall;
	return result < 0 ? result : 1;
}

static int reserve_workers(struct stalls *stalls, size_t count)
{
	size_t slices = count * stalls->slice_count;

	if (array_reserve(&stalls->lasts, &stalls->last_room, count, sizeof(*stalls->lasts)) < 0 ||
	    array_reserve(&stalls->workers, &stalls->worker_room, count, sizeof(*stalls->workers)) <
		    0 ||
	    array_reserve(&stalls->ended, &stalls->ended_room, count, sizeof(*stalls->ended)) < 0 ||
	    array_reserve(&stalls->worker_slices, &stalls->worker_slice_room, slices,
			  sizeof(*stalls->worker_slices)) < 0)
		return -ENOMEM;
	return 0;
}

/* The next in turn that has ended; IDENTITY_NONE: there is none. */
static size_t find_ended(struct stalls *stalls)
{
	size_t count = stalls->worker_keys.count;

	for (size_t i = 0; i < count; i++) {
		size_t index = (stalls->next_ended + i) % count;

		if (!stalls->ended[index])
			continue;
		stalls->next_ended = index + 1;
		return index;
	}
	return IDENTITY_NONE;
}

/* For a worker that has no place. 1; 0: there is none; -ENOMEM. */
static int make_place(struct stalls *stalls, const struct wire_worker *record, size_t *ret_index)
{
	struct identities *keys = &stalls->worker_keys;
	size_t index, slices = stalls->slice_count;

	if (keys->count < WORKERS_MAX) {
		if (reserve_workers(stalls, keys->count + 1) < 0)
			return -ENOMEM;
		index = identities_add(keys, record->tid, record->start_ns);
		if (index == IDENTITY_NONE)
			return -ENOMEM;
	} else {
		index = find_ended(stalls);
		if (index == IDENTITY_NONE) {
			stalls->without_place++;
			return 0;
		}
		if (identities_replace(keys, index, record->tid, record->start_ns) < 0)
			return -ENOMEM;
	}
	stalls->lasts[index] = (struct wire_worker){0};
	stalls->ended[index] = false;
	memset(stalls->worker_slices + index * slices, 0, slices * sizeof(*stalls->worker_slices));
	*ret_index = index;
	return 1;
}

static int add_worker(struct stalls *stalls, const struct wire_worker *record)
{
	size_t place = slice_at(stalls, record->header.time_ns);
	size_t index = identities_find(&stalls->worker_keys, record->tid, record->start_ns);
	int result = index == IDENTITY_NONE ? make_place(stalls, record, &index) : 1;
	struct worker_slice *slice;
	struct wire_worker *last;

	if (result <= 0)
		return result;
	last = &stalls->lasts[index];
	slice = &stalls->worker_slices[index * stalls->slice_count + place];
	/* they only grow; if not, the record is damaged, or of another session */
	if (record->spans > last->spans)
		slice->spans += record->spans - last->spans;
	if (record->stalls > last->stalls)
		slice->stalls += record->stalls - last->stalls;
	if (record->longest_ns > slice->longest_ns)
		slice->longest_ns = record->longest_ns;
	*last = *record;
	return 0;
}

void stalls_add_interval(struct stalls *stalls, const struct interval *interval)
{
	size_t place = slice_at(stalls, interval->end_ns);

	count(stalls, interval->end_ns,
	      &(struct stall_counts){.measured_ns = interval->end_ns - interval->start_ns,
				     .end_ns = interval->end_ns,
				     .machine_stolen_ns = interval->machine_stolen_ns,
				     .machine_busy_ns = interval->machine_busy_ns,
				     .workers_lost = stalls->without_place});
	stalls->without_place = 0;
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		size_t index = identities_find(&stalls->worker_keys, row->tid, row->start_ns);

		if (row->pid == stalls->runtime.pid)
			process_cpu_add(&stalls->cpu, row);
		if (index == IDENTITY_NONE)
			continue;
		stalls->ended[index] = row->exited;
		for (int j = 0; j < STATES; j++)
			stalls->worker_slices[index * stalls->slice_count + place].states_ns[j] +=
				row->states_ns[j];
	}
}

/* A type whose name has been lost is passed over: its sum comes again. */
static int add_polls(struct stalls *stalls, const struct wire_polls *record)
{
	size_t place = slice_at(stalls, record->header.time_ns);

	if (record->type && !stalls_frame(stalls, record->type))
		return 0;
	return tasks_add(&stalls->tasks, place, record,
			 record->type ? key_of(stalls, record->type) : 0);
}

int stalls_feed(struct stalls *stalls, const struct wire_header *record, struct stall *ret_stall)
{
	switch (record->kind) {
	case WIRE_FRAME:
		return stacks_add_frame(&stalls->stacks, ((const struct wire_frame *)record)->id,
					(const struct wire_frame *)record);
	case WIRE_STACK:
		return stacks_add_stack(&stalls->stacks, ((const struct wire_stack *)record)->id,
					(const struct wire_stack *)record,
					((const struct wire_stack *)record)->frames);
	case WIRE_SAMPLE:
		return stall_samples_add(&stalls->samples, (const struct wire_sample *)record);
	case WIRE_STALL:
		return take_stall(stalls, (const struct wire_stall *)record, ret_stall);
	case WIRE_WORKER:
		return add_worker(stalls, (const struct wire_worker *)record);
	case WIRE_SESSION:
	case WIRE_CGROUP:
		return session_feed(&stalls->session, record) < 0 ? -ENOMEM : 0;
	case WIRE_RUNTIME:
		stalls->runtime = *(const struct wire_runtime *)record;
		return tasks_add_runtime(&stalls->tasks, slice_at(stalls, record->time_ns),
					 &stalls->runtime);
	case WIRE_POLLS:
		return add_polls(stalls, (const struct wire_polls *)record);
	}
	return 0;
}

int stalls_hotspots(struct stalls *stalls, enum hotspot_grouping by,
		    const struct hotspot **ret_hotspots, size_t *ret_count)
{
	int result = 0;

	*ret_hotspots = NULL;
	*ret_count = 0;
	hotspots_clear(&stalls->merged);
	for (size_t i = 0; result >= 0 && i < stalls->slice_count; i++)
		result = hotspots_merge(&stalls->merged, by, &stalls->slices[i].hotspots);
	if (result < 0)
		return result;
	hotspots_sort(&stalls->merged);
	*ret_hotspots = stalls->merged.items;
	*ret_count = stalls->merged.keys.count;
	return 0;
}

static int by_tid(const void *left, const void *right)
{
	const struct stall_worker *a = left, *b = right;

	return (a->last.tid > b->last.tid) - (a->last.tid < b->last.tid);
}

static void sum_worker(const struct stalls *stalls, size_t index, struct stall_worker *worker)
{
	*worker =
		(struct stall_worker){.last = stalls->lasts[index], .ended = stalls->ended[index]};
	for (size_t i = 0; i < stalls->slice_count; i++) {
		const struct worker_slice *slice =
			&stalls->worker_slices[index * stalls->slice_count + i];

		worker->spans += slice->spans;
		worker->stalls += slice->stalls;
		if (slice->longest_ns > worker->longest_ns)
			worker->longest_ns = slice->longest_ns;
		for (int j = 0; j < STATES; j++)
			worker->states_ns[j] += slice->states_ns[j];
	}
}

const struct stall_worker *stalls_workers(struct stalls *stalls, size_t *ret_count)
{
	size_t number = stalls->worker_keys.count;

	*ret_count = number;
	for (size_t i = 0; i < number; i++)
		sum_worker(stalls, i, &stalls->workers[i]);
	if (number)
		qsort(stalls->workers, number, sizeof(*stalls->workers), by_tid);
	return stalls->workers;
}

/* Threads that work for the runtime itself: of Java and .NET. */
static bool is_helper(const char *comm)
{
	static const char *const names[] = {"C1 Comp",	 "C2 Comp",	"GC Thread",	 "G1 ",
					    "VM Thread", ".NET Tiered", ".NET Server GC"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(comm, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Below these it is how programs work: they have threads that compute. */
#define UNJUDGED_OF_PROCESS 2	/* a part in, of the process's CPU time */
#define UNJUDGED_TO_WORKERS 2	/* times as much as all workers */
#define UNJUDGED_OF_TIME    100 /* a part in */

bool stalls_unjudged(const struct stalls *stalls, struct stalls_unjudged *ret_unjudged)
{
	const struct process_cpu *cpu = &stalls->cpu;
	uint64_t judged_ns = 0;
	bool any = false;

	*ret_unjudged = (struct stalls_unjudged){.process_ns = cpu->all_ns};
	for (size_t i = 0; i < cpu->keys.count; i++) {
		const struct identity *key = &cpu->keys.items[i];
		size_t index = identities_find(&stalls->worker_keys, key->tid, key->start_ns);
		const struct wire_worker *worker =
			index != IDENTITY_NONE ? &stalls->lasts[index] : NULL;

		if (worker && worker->kind == WIRE_SPAN_POOL)
			continue;
		if (worker && (worker->spans || worker->open_ns)) {
			judged_ns += cpu->items[i].ns;
			any = true;
		} else if (cpu->items[i].ns > ret_unjudged->cpu_ns &&
			   !is_helper(cpu->items[i].comm)) {
			ret_unjudged->cpu_ns = cpu->items[i].ns;
			ret_unjudged->tid = key->tid;
			memcpy(ret_unjudged->comm, cpu->items[i].comm, sizeof(cpu->items[i].comm));
		}
	}
	/* where no worker is known, one may hang in a turn that began before we came */
	return (any || !stalls->worker_keys.count) &&
	       ret_unjudged->cpu_ns > cpu->all_ns / UNJUDGED_OF_PROCESS &&
	       ret_unjudged->cpu_ns >= judged_ns * UNJUDGED_TO_WORKERS &&
	       ret_unjudged->cpu_ns >= stalls->all.measured_ns / UNJUDGED_OF_TIME;
}

const struct task *stalls_tasks(struct stalls *stalls, size_t *ret_count)
{
	return tasks_sorted(&stalls->tasks, ret_count);
}

bool stalls_has_tasks(const struct stalls *stalls)
{
	return stalls->tasks.is_recorded;
}

bool stalls_tasks_are_sampled(const struct stalls *stalls)
{
	return tasks_are_sampled(&stalls->tasks);
}

bool stalls_seen(struct stalls *stalls)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	for (size_t i = 0; i < count; i++)
		if (workers[i].last.spans || workers[i].last.open_ns)
			return true;
	return stalls_counts_of_all(stalls).stalls;
}

bool stalls_open(const struct stalls *stalls, const struct stall_worker *worker,
		 struct stall_open *ret_open)
{
	const struct wire_worker *last = &worker->last;
	struct wire_stall so_far = {
		.start_ns = last->open_ns,
		.tid = last->tid,
		.type = last->open_type,
		.kind = last->open_kind,
		.flags = last->open_flags,
	};
	struct stall_open open = {
		.duration_ns = last->header.time_ns - last->open_ns,
		.site = last->site,
		.type = last->open_type,
		.stack = last->stack,
	};

	if (worker->ended || !last->open_ns || last->open_ns > last->header.time_ns ||
	    last->kind == WIRE_SPAN_POOL || open.duration_ns < stalls->runtime.threshold_ns)
		return false;
	open.cause = stall_cause_of(last->site.state, last->site);
	/* of a wait a sample does not show where that is */
	if (last->site.state == WIRE_ON_CPU ||
	    (last->site.state == WIRE_RUNNABLE && !stalls_stack(stalls, open.stack)))
		open.stack = stall_samples_stack(&stalls->samples, &stalls->stacks, so_far.tid,
						 so_far.start_ns);
	/* where it has just lost its CPU, that is not what it does most of the time */
	if (open.cause == CAUSE_RUNNABLE &&
	    stall_samples_ns(&stalls->samples, so_far.tid, so_far.start_ns) >= open.duration_ns / 2)
		open.cause = CAUSE_CPU;
	/* the poll a worker lives in goes on for ever, and without a stack it cannot be recognized
	 */
	if (last->open_kind == WIRE_SPAN_POLL && !last->open_type && !open.stack)
		return false;
	if (is_no_task(stalls, &so_far, open.stack))
		return false;
	open.function = stacks_function_of(&stalls->stacks, open.stack);
	if (!open.function)
		open.function = open.type;
	open.in_place = stacks_is_in_place(&stalls->stacks, open.stack, stalls->marks);
	*ret_open = open;
	return true;
}

const struct wire_runtime *stalls_runtime(const struct stalls *stalls)
{
	return &stalls->runtime;
}

struct stall_counts stalls_counts(const struct stalls *stalls)
{
	struct stall_counts sum = {0};

	for (size_t i = 0; i < stalls->slice_count; i++)
		add_counts(&sum, &stalls->slices[i].counts);
	return sum;
}

struct stall_counts stalls_counts_of_all(const struct stalls *stalls)
{
	return stalls->all;
}
