// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/queues.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "queues.skel.h"

#define RECORDS_AT_ONCE 64
#define LINES_MOST	200
#define JIFFIES_LEAST	50 /* between two looks, to know how long one is */

/* All threads that waited at one walk; false: it could not be made. */
struct walk {
	struct queue_record *records;
	size_t count, room;
};

static bool read_walk(const struct scheduler_queues *queues, struct walk *walk)
{
	cleanup_close int fd = bpf_iter_create(bpf_link__fd(queues->bpf->links.on_waiting));
	ssize_t got = 1;

	/* a read ends with a whole record: that is how the kernel hands them out */
	while (fd >= 0 && got > 0) {
		if (array_reserve(&walk->records, &walk->room, walk->count + RECORDS_AT_ONCE,
				  sizeof(*walk->records)) < 0)
			return false;
		got = read(fd, &walk->records[walk->count],
			   RECORDS_AT_ONCE * sizeof(*walk->records));
		if (got < 0 && errno == EAGAIN) {
			got = 1;
			continue;
		}
		if (got > 0)
			walk->count += (size_t)got / sizeof(*walk->records);
	}
	return fd >= 0 && got == 0;
}

void scheduler_queues_open(struct scheduler_queues *queues)
{
	queues->bpf = queues_bpf__open_and_load();
	queues->unknown = NULL;
	if (queues->bpf && queues_bpf__attach(queues->bpf) >= 0)
		return;
	queues->unknown = errno == EPERM ? "dwell may not load BPF programs"
					 : "the kernel refused the program that looks at them";
	scheduler_queues_close(queues);
}

/* Local queues are one for each CPU, under one id. */
static struct scheduler_queue *find(struct scheduler_queues *queues,
				    const struct queue_record *record)
{
	unsigned int cpu = record->queue == QUEUE_LOCAL ? record->cpu : 0;

	for (size_t i = 0; i < queues->count; i++)
		if (queues->items[i].id == record->queue && queues->items[i].cpu == cpu)
			return &queues->items[i];
	if (array_reserve(&queues->items, &queues->room, queues->count + 1,
			  sizeof(*queues->items)) < 0)
		return NULL;
	queues->items[queues->count] = (struct scheduler_queue){.id = record->queue, .cpu = cpu};
	return &queues->items[queues->count++];
}

static void add_depth(struct scheduler_queue *queue)
{
	if (queue->now && array_reserve(&queue->depths, &queue->room, queue->count + 1,
					sizeof(*queue->depths)) >= 0)
		queue->depths[queue->count++] = queue->now;
	queue->now = 0;
}

void scheduler_queues_take(struct scheduler_queues *queues, const struct queue_record *records,
			   size_t count)
{
	if (count && !queues->first_ns) {
		queues->first_ns = records[0].now_ns;
		queues->first_jiffies = records[0].jiffies;
	}
	for (size_t i = 0; i < count; i++) {
		struct scheduler_queue *queue = find(queues, &records[i]);

		if (queue)
			queue->now++;
	}
	queues->looks++;
	for (size_t i = 0; i < queues->count; i++)
		add_depth(&queues->items[i]);
}

void scheduler_queues_look(struct scheduler_queues *queues)
{
	struct walk walk = {.records = NULL};

	if (queues->bpf && read_walk(queues, &walk))
		scheduler_queues_take(queues, walk.records, walk.count);
	free(walk.records);
}

static int by_depth(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Looks at which it was empty come before all others. */
static uint32_t rank(const struct scheduler_queues *queues, const struct scheduler_queue *queue,
		     double share)
{
	uint64_t at = (uint64_t)ceil(share * (double)queues->looks - 1e-6);
	uint64_t empty = queues->looks - queue->count;

	return at > empty ? queue->depths[at - empty - 1] : 0;
}

struct queue_depths scheduler_queue_depths(const struct scheduler_queues *queues,
					   const struct scheduler_queue *queue)
{
	return (struct queue_depths){
		.p50 = rank(queues, queue, .5),
		.p99 = rank(queues, queue, .99),
		.max = queue->count ? queue->depths[queue->count - 1] : 0,
	};
}

void scheduler_queue_name(char *into, size_t room, uint64_t id, unsigned int cpu)
{
	if (id == QUEUE_LOCAL)
		snprintf(into, room, "local of CPU %u", cpu);
	else if (id == QUEUE_GLOBAL)
		snprintf(into, room, "global");
	else if (id == QUEUE_OF_SCHEDULER)
		snprintf(into, room, "the scheduler's own");
	else
		snprintf(into, room, "%s 0x%llx", id & QUEUE_BUILT_IN ? "built-in" : "user",
			 (unsigned long long)(id & ~QUEUE_BUILT_IN));
}

/* "-" before it is known how long a jiffy is. */
static void format_wait(char *into, size_t room, const struct scheduler_queues *queues,
			const struct queue_record *record)
{
	uint64_t jiffies = record->jiffies - queues->first_jiffies;

	snprintf(into, room, "-");
	if (queues->first_ns && jiffies >= JIFFIES_LEAST)
		duration_format(into, room,
				(uint64_t)((double)record->waited *
					   (double)(record->now_ns - queues->first_ns) /
					   (double)jiffies));
}

void scheduler_queues_write(struct output *out, struct scheduler_queues *queues)
{
	struct walk walk = {.records = NULL};
	bool known = queues->bpf && read_walk(queues, &walk);

	if (!known)
		output_format(out, "not known: %s\n",
			      queues->unknown ? queues->unknown : "the walk over threads failed");
	for (size_t i = 0; known && i < walk.count && i < LINES_MOST; i++) {
		const struct queue_record *record = &walk.records[i];
		char name[48], wait[16];

		scheduler_queue_name(name, sizeof(name), record->queue, record->cpu);
		format_wait(wait, sizeof(wait), queues, record);
		output_format(out, "  %s: %.16s[%u] of CPU %u, for %s\n", name, record->comm,
			      record->tid, record->cpu, wait);
	}
	if (known && walk.count > LINES_MOST)
		output_string(out, "  and more\n");
	if (known && !walk.count)
		output_string(out, "  no thread waits in one\n");
	free(walk.records);
}

void scheduler_queues_close(struct scheduler_queues *queues)
{
	queues_bpf__destroy(queues->bpf);
	queues->bpf = NULL;
	for (size_t i = 0; i < queues->count; i++)
		if (queues->items[i].count)
			qsort(queues->items[i].depths, queues->items[i].count,
			      sizeof(*queues->items[i].depths), by_depth);
}

void scheduler_queues_release(struct scheduler_queues *queues)
{
	scheduler_queues_close(queues);
	for (size_t i = 0; i < queues->count; i++)
		free(queues->items[i].depths);
	free(queues->items);
	*queues = (struct scheduler_queues){.bpf = NULL};
}
