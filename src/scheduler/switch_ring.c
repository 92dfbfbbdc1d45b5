// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/switch_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "scheduler/trace_instance.h"

/*
 * A switch is 64 bytes in it, a wakeup 36: 2 MiB are some 25,000 of both. Guests with many CPUs
 * have 64 MiB of memory for each.
 */
#define CPU_KIB_MOST   2048U
#define CPU_KIB_LEAST  128U
#define KIB_OF_ALL     65536U
#define LINE_BYTES     1024
#define SWITCH_MARK    ": sched_switch: "
#define MIGRATION_MARK ": sched_migrate_task: "

struct switch_ring {
	struct trace_instance instance;
};

static const char *const events[] = {"sched_switch", "sched_waking", "sched_wakeup_new",
				     "sched_migrate_task"};

const char *switch_ring_open(struct switch_ring **ret_ring)
{
	struct switch_ring *ring = calloc(1, sizeof(*ring));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned int kib = KIB_OF_ALL / (cpus > 0 ? (unsigned int)cpus : 1);
	const char *why;
	char text[64];

	*ret_ring = NULL;
	if (!ring)
		return "out of memory";
	kib = kib > CPU_KIB_MOST ? CPU_KIB_MOST : kib < CPU_KIB_LEAST ? CPU_KIB_LEAST : kib;
	why = trace_instance_open(&ring->instance, "switches");
	snprintf(text, sizeof(text), "%u", kib);
	if (!why && (!trace_instance_write(&ring->instance, "trace_clock", "mono") ||
		     !trace_instance_write(&ring->instance, "buffer_size_kb", text)))
		why = "the kernel has no room for a ring of events";
	for (size_t i = 0; !why && i < ARRAY_SIZE(events); i++) {
		snprintf(text, sizeof(text), "events/sched/%s/enable", events[i]);
		if (!trace_instance_write(&ring->instance, text, "1"))
			why = "the kernel has no tracepoints of switches and wakeups";
	}
	if (why)
		switch_ring_close(ring);
	else
		*ret_ring = ring;
	return why;
}

void switch_ring_freeze(struct switch_ring *ring)
{
	/* what cannot be stopped is still read: up to the end of the window */
	(void)trace_instance_write(&ring->instance, "tracing_on", "0");
}

void switch_ring_close(struct switch_ring *ring)
{
	if (!ring)
		return;
	trace_instance_close(&ring->instance);
	free(ring);
}

/* Of a CPU: its oldest event, where older ones have been overwritten; else 0. */
static uint64_t cpu_since(FILE *stats)
{
	unsigned long long overrun = 0, seconds = 0;
	unsigned int us = 0;
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), stats)) {
		if (sscanf(line, "overrun: %llu", &overrun) == 1)
			continue;
		if (sscanf(line, "oldest event ts: %llu.%6u", &seconds, &us) == 2)
			break;
	}
	return overrun ? seconds * NS_PER_S + us * NS_PER_US : 0;
}

uint64_t switch_ring_since(const struct switch_ring *ring)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t since_ns = 0;

	for (long i = 0; i < cpus; i++) {
		char path[64];

		snprintf(path, sizeof(path), "per_cpu/cpu%ld/stats", i);
		cleanup_file FILE *stats =
			file_reading(openat(ring->instance.directory, path, O_RDONLY | O_CLOEXEC));
		uint64_t cpu_ns = stats ? cpu_since(stats) : 0;

		since_ns = cpu_ns > since_ns ? cpu_ns : since_ns;
	}
	return since_ns;
}

/* The number behind `key`; false: there is none. */
static bool number_at(const char *text, const char *key, uint32_t *number)
{
	const char *at = strstr(text, key);
	char *end;

	if (!at)
		return false;
	at += strlen(key);
	*number = (uint32_t)strtoul(at, &end, 10);
	return end > at;
}

/* A thread's name, which may have blanks in it, lies between two keys. */
static bool comm_at(const char *text, const char *key, const char *next,
		    char comm[SWITCH_COMM_BYTES])
{
	const char *at = strstr(text, key), *end = at ? strstr(at, next) : NULL;
	size_t length;

	if (!end)
		return false;
	at += strlen(key);
	length = (size_t)(end - at) < SWITCH_COMM_BYTES - 1 ? (size_t)(end - at)
							    : SWITCH_COMM_BYTES - 1;
	memcpy(comm, at, length);
	comm[length] = '\0';
	return true;
}

/* "NAME-TID [CPU] FLAGS SECONDS.MICROSECONDS": the name may look like the rest, so from its end. */
static bool parse_head(struct switch_event *event, const char *line, const char *mark)
{
	const char *at = mark;
	unsigned long long seconds;
	unsigned int us, cpu;

	while (at > line && at[-1] != ' ')
		at--;
	if (sscanf(at, "%llu.%6u", &seconds, &us) != 2)
		return false;
	while (at > line && *at != ']')
		at--;
	while (at > line && *at != '[')
		at--;
	if (sscanf(at, "[%u]", &cpu) != 1)
		return false;
	event->at_ns = seconds * NS_PER_S + us * NS_PER_US;
	event->cpu = cpu;
	return true;
}

static bool parse_switch(struct switch_event *event, const char *text)
{
	const char *state = strstr(text, " prev_state=");

	event->kind = SWITCH_TO;
	event->from_state = '?';
	if (state)
		event->from_state = state[strlen(" prev_state=")];
	return comm_at(text, "prev_comm=", " prev_pid=", event->from_comm) &&
	       comm_at(text, "next_comm=", " next_pid=", event->to_comm) &&
	       number_at(text, " prev_pid=", &event->from) &&
	       number_at(text, " next_pid=", &event->to);
}

static bool parse_thread(struct switch_event *event, const char *text)
{
	return comm_at(text, "comm=", " pid=", event->to_comm) &&
	       number_at(text, " pid=", &event->to);
}

bool switch_event_parse(struct switch_event *event, const char *line)
{
	const char *mark;

	*event = (struct switch_event){.from_state = '\0'};
	mark = strstr(line, SWITCH_MARK);
	if (mark)
		return parse_head(event, line, mark) && parse_switch(event, mark);
	mark = strstr(line, MIGRATION_MARK);
	if (mark) {
		event->kind = SWITCH_MIGRATE;
		return parse_head(event, line, mark) && parse_thread(event, mark) &&
		       number_at(mark, " dest_cpu=", &event->cpu);
	}
	mark = strstr(line, ": sched_wak");
	event->kind = SWITCH_WAKE;
	return mark && parse_head(event, line, mark) && parse_thread(event, mark);
}

/* The last ones are kept: where there are too many, they take the places of the first. */
static int keep(struct switches *switches, const struct switch_event *event)
{
	size_t place = (switches->count + (size_t)switches->lost) % SWITCHES_MAX;

	if (switches->count == SWITCHES_MAX)
		switches->lost++;
	else if (array_reserve(&switches->items, &switches->room, switches->count + 1,
			       sizeof(*switches->items)) < 0)
		return -ENOMEM;
	else
		switches->count++;
	switches->items[place] = *event;
	return 0;
}

/* Brings the first one to the front again. */
static int rotate(struct switches *switches)
{
	size_t first = (size_t)(switches->lost % SWITCHES_MAX);
	struct switch_event *ordered;

	if (!first)
		return 0;
	ordered = reallocarray(NULL, switches->count, sizeof(*ordered));
	if (!ordered)
		return -ENOMEM;
	for (size_t i = 0; i < switches->count; i++)
		ordered[i] = switches->items[(first + i) % switches->count];
	free(switches->items);
	switches->items = ordered;
	switches->room = switches->count;
	return 0;
}

int switch_ring_read(const struct switch_ring *ring, uint64_t from_ns, uint64_t until_ns,
		     struct switches *ret_switches)
{
	cleanup_file FILE *trace =
		file_reading(openat(ring->instance.directory, "trace", O_RDONLY | O_CLOEXEC));
	char line[LINE_BYTES];
	int result = 0;

	*ret_switches = (struct switches){.items = NULL};
	if (!trace)
		return -errno;
	while (result >= 0 && fgets(line, sizeof(line), trace)) {
		struct switch_event event;

		if (switch_event_parse(&event, line) && event.at_ns >= from_ns &&
		    event.at_ns <= until_ns)
			result = keep(ret_switches, &event);
	}
	if (result >= 0)
		result = rotate(ret_switches);
	if (result < 0)
		switches_release(ret_switches);
	return result;
}

void switches_release(struct switches *switches)
{
	free(switches->items);
	*switches = (struct switches){.items = NULL};
}
