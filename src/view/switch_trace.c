// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/switch_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/load_rows.h"
#include "view/trace_events.h"

#define NAME_BYTES 300

/* Tracks lie in "processes" of these numbers, in that order. */
enum { OF_CPUS = 1, OF_WORKERS, OF_OTHERS };

enum activity { UNKNOWN, RUNNING, RUNNABLE, PREEMPTED, UNINTERRUPTIBLE, BLOCKED };

static const char *const activities[] = {
	[UNKNOWN] = NULL, /* a gap, too */
	[RUNNING] = "running",
	[RUNNABLE] = "runnable",
	[PREEMPTED] = "runnable (preempted)",
	[UNINTERRUPTIBLE] = "uninterruptible",
	[BLOCKED] = NULL, /* a gap: it wanted no CPU */
};

struct thread {
	uint32_t tid;
	const char *comm;	       /* the last one; not owned */
	const struct run_group *group; /* NULL: not a worker */
	enum activity activity;
	uint64_t since_ns;
	uint32_t cpu;
};

struct cpu {
	bool known;
	struct thread *thread; /* NULL: idle */
	uint64_t since_ns;
};

struct drawing {
	struct trace_events events;
	const struct switch_trace *trace;
	struct thread *threads; /* by tid */
	size_t thread_count;
	struct cpu *cpus;
	size_t cpu_count;
};

static int by_tid(const void *a, const void *b)
{
	const struct thread *one = a, *other = b;

	return one->tid < other->tid ? -1 : one->tid > other->tid;
}

static struct thread *find(const struct drawing *drawing, uint32_t tid)
{
	const struct thread key = {.tid = tid};

	return tid ? bsearch(&key, drawing->threads, drawing->thread_count, sizeof(key), by_tid)
		   : NULL;
}

static void find_workers(struct drawing *drawing)
{
	const struct run *run = drawing->trace->run;

	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct worker_group *workers = &run->worker_groups[i]->worker_group;

		for (unsigned int k = 0; k < workers->forked; k++) {
			struct thread *thread =
				find(drawing, shared_slot(&workers->shared, k)->tid);

			if (thread)
				thread->group = run->worker_groups[i];
		}
	}
}

/* One of each tid, and as many CPUs as there are. */
static int prepare(struct drawing *drawing)
{
	const struct switches *switches = drawing->trace->switches;
	size_t count = 0, kept = 0;

	drawing->threads = reallocarray(NULL, switches->count * 2 + 1, sizeof(*drawing->threads));
	if (!drawing->threads)
		return -ENOMEM;
	for (size_t i = 0; i < switches->count; i++) {
		const struct switch_event *event = &switches->items[i];

		if (event->from)
			drawing->threads[count++] =
				(struct thread){.tid = event->from, .comm = event->from_comm};
		if (event->to)
			drawing->threads[count++] =
				(struct thread){.tid = event->to, .comm = event->to_comm};
		if (event->cpu >= drawing->cpu_count)
			drawing->cpu_count = event->cpu + 1;
	}
	qsort(drawing->threads, count, sizeof(*drawing->threads), by_tid);
	for (size_t i = 0; i < count; i++)
		if (!kept || drawing->threads[kept - 1].tid != drawing->threads[i].tid)
			drawing->threads[kept++] = drawing->threads[i];
	drawing->thread_count = kept;
	drawing->cpus = calloc(drawing->cpu_count + 1, sizeof(*drawing->cpus));
	if (!drawing->cpus)
		return -ENOMEM;
	find_workers(drawing);
	return 0;
}

static void name_thread(char name[NAME_BYTES], const struct drawing *drawing,
			const struct thread *thread)
{
	char group[256];

	if (!thread->group) {
		snprintf(name, NAME_BYTES, "%s", thread->comm);
		return;
	}
	load_group_name(group, sizeof(group), drawing->trace->run, thread->group);
	snprintf(name, NAME_BYTES, "%s %u", group, thread->tid);
}

/* What began before the run is cut: times are counted from its start. */
static void add_slice(struct drawing *drawing, const char *name, uint32_t process, uint32_t track,
		      uint64_t from_ns, uint64_t until_ns, uint32_t cpu)
{
	uint64_t start_ns = drawing->trace->run->started_ns;
	struct json json = {.out = drawing->events.out};

	from_ns = from_ns > start_ns ? from_ns : start_ns;
	if (until_ns <= from_ns)
		return;
	trace_events_separate(&drawing->events);
	json_object_begin(&json, NULL);
	trace_event_head(&json, name, "X", process, track);
	trace_event_time(&json, "ts", from_ns - start_ns);
	trace_event_time(&json, "dur", until_ns - from_ns);
	if (process != OF_CPUS) {
		json_object_begin(&json, "args");
		json_add_u64(&json, "cpu", cpu);
		json_object_end(&json);
	}
	json_object_end(&json);
}

static void end_activity(struct drawing *drawing, struct thread *thread, uint64_t at_ns)
{
	const char *name = activities[thread->activity];

	if (name)
		add_slice(drawing, name, thread->group ? OF_WORKERS : OF_OTHERS, thread->tid,
			  thread->since_ns, at_ns, thread->cpu);
}

static void set_activity(struct drawing *drawing, struct thread *thread, enum activity activity,
			 uint64_t at_ns, uint32_t cpu)
{
	end_activity(drawing, thread, at_ns);
	thread->activity = activity;
	thread->since_ns = at_ns;
	thread->cpu = cpu;
}

static void end_turn(struct drawing *drawing, uint32_t number, uint64_t at_ns)
{
	const struct cpu *cpu = &drawing->cpus[number];
	char name[NAME_BYTES];

	if (!cpu->thread)
		return;
	name_thread(name, drawing, cpu->thread);
	add_slice(drawing, name, OF_CPUS, number, cpu->since_ns, at_ns, number);
}

/*
 * The switch from the CPU's thread was lost, as where a hypervisor keeps a thread from tracing: how
 * long it ran is not known, and neither is who ran next.
 */
static void forget_turn(struct drawing *drawing, uint32_t number, uint64_t at_ns)
{
	struct cpu *cpu = &drawing->cpus[number];

	if (cpu->thread)
		cpu->thread->activity = UNKNOWN;
	add_slice(drawing, "not known", OF_CPUS, number, cpu->since_ns, at_ns, number);
	*cpu = (struct cpu){.known = true, .since_ns = at_ns};
}

/* `from` ran there, or the switch to it was lost. */
static void take_from(struct drawing *drawing, uint32_t number, struct thread *from, uint64_t at_ns)
{
	struct cpu *cpu = &drawing->cpus[number];
	uint64_t since_ns = cpu->since_ns;

	/* who is put down first ran since before the window */
	if (!cpu->known) {
		bool ran = from && from->activity == UNKNOWN;

		*cpu = (struct cpu){true, ran ? from : NULL, drawing->trace->from_ns};
		if (ran)
			set_activity(drawing, from, RUNNING, cpu->since_ns, number);
	}
	if (cpu->thread == from) {
		end_turn(drawing, number, at_ns);
		return;
	}
	/* an idle CPU takes who is woken */
	if (!cpu->thread && from && from->activity == RUNNABLE && from->since_ns > since_ns)
		cpu->since_ns = from->since_ns;
	forget_turn(drawing, number, at_ns);
	if (from)
		set_activity(drawing, from, UNKNOWN,
			     since_ns > from->since_ns ? since_ns : from->since_ns, number);
}

static void take_switch(struct drawing *drawing, const struct switch_event *event)
{
	struct thread *from = find(drawing, event->from), *to = find(drawing, event->to);
	enum activity activity = event->from_state == 'R'   ? PREEMPTED
				 : event->from_state == 'D' ? UNINTERRUPTIBLE
							    : BLOCKED;

	take_from(drawing, event->cpu, from, event->at_ns);
	if (from)
		set_activity(drawing, from, activity, event->at_ns, event->cpu);
	if (to && to->activity == RUNNING)
		forget_turn(drawing, to->cpu, event->at_ns);
	drawing->cpus[event->cpu] = (struct cpu){true, to, event->at_ns};
	if (to)
		set_activity(drawing, to, RUNNING, event->at_ns, event->cpu);
}

static void take_event(struct drawing *drawing, const struct switch_event *event)
{
	struct thread *thread = find(drawing, event->to);

	if (event->kind == SWITCH_TO) {
		take_switch(drawing, event);
		return;
	}
	if (!thread)
		return;
	/* one that is about to sleep, and is woken before it does, goes on running */
	if (event->kind == SWITCH_WAKE && thread->activity != RUNNING)
		set_activity(drawing, thread, RUNNABLE, event->at_ns, event->cpu);
	else if (event->kind == SWITCH_MIGRATE && thread->activity != UNKNOWN)
		set_activity(drawing, thread, thread->activity, event->at_ns, event->cpu);
}

/* All that goes on at the end of the window. */
static void end_all(struct drawing *drawing)
{
	uint64_t until_ns = drawing->trace->until_ns;

	for (size_t i = 0; i < drawing->cpu_count; i++)
		end_turn(drawing, (uint32_t)i, until_ns);
	for (size_t i = 0; i < drawing->thread_count; i++)
		end_activity(drawing, &drawing->threads[i], until_ns);
}

static void name_tracks(struct drawing *drawing)
{
	char name[NAME_BYTES];

	trace_events_name(&drawing->events, "process_name", OF_CPUS, 0, "CPUs");
	trace_events_name(&drawing->events, "process_name", OF_WORKERS, 0, "workers");
	trace_events_name(&drawing->events, "process_name", OF_OTHERS, 0, "other threads");
	for (size_t i = 0; i < drawing->cpu_count; i++) {
		snprintf(name, sizeof(name), "CPU %zu", i);
		trace_events_name(&drawing->events, "thread_name", OF_CPUS, (uint32_t)i, name);
	}
	for (size_t i = 0; i < drawing->thread_count; i++) {
		const struct thread *thread = &drawing->threads[i];

		name_thread(name, drawing, thread);
		trace_events_name(&drawing->events, "thread_name",
				  thread->group ? OF_WORKERS : OF_OTHERS, thread->tid, name);
	}
}

static void mark_end(struct drawing *drawing)
{
	const struct switch_trace *trace = drawing->trace;
	struct json json = {.out = drawing->events.out};

	trace_events_separate(&drawing->events);
	json_object_begin(&json, NULL);
	trace_event_head(&json, trace->what, "i", OF_CPUS, 0);
	json_add_string(&json, "s", "g");
	trace_event_time(&json, "ts", trace->until_ns - trace->run->started_ns);
	json_object_end(&json);
}

int switch_trace_write(struct output *out, const struct switch_trace *trace)
{
	struct drawing drawing = {.events.out = out, .trace = trace};
	int result = prepare(&drawing);

	if (result >= 0) {
		trace_events_begin(&drawing.events);
		name_tracks(&drawing);
		for (size_t i = 0; i < trace->switches->count; i++)
			take_event(&drawing, &trace->switches->items[i]);
		end_all(&drawing);
		mark_end(&drawing);
		trace_events_end(&drawing.events);
	}
	free(drawing.threads);
	free(drawing.cpus);
	return result;
}
