// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/kernel_text.h"

static void read_word(const char *directory, const char *name, char *into, size_t room)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	kernel_line(path, into, room);
}

static struct counter read_counter(const char *directory, const char *name)
{
	struct counter counter = {.known = false};
	char word[32], *end;

	read_word(directory, name, word, sizeof(word));
	counter.value = strtoull(word, &end, 10);
	counter.known = *word && !*end;
	return counter;
}

void scheduler_counters_read(struct scheduler_counters *counters, const char *directory)
{
	read_word(directory, "state", counters->state, sizeof(counters->state));
	read_word(directory, "root/ops", counters->ops, sizeof(counters->ops));
	counters->switch_all = read_counter(directory, "switch_all");
	counters->enabled = read_counter(directory, "enable_seq");
	counters->rejected = read_counter(directory, "nr_rejected");
}

/* NULL: out of memory. */
static struct scheduler_event *event_of(struct scheduler_events *events, const char *name)
{
	for (size_t i = 0; i < events->count; i++)
		if (!strcmp(events->items[i].name, name))
			return &events->items[i];
	if (array_reserve(&events->items, &events->room, events->count + 1,
			  sizeof(*events->items)) < 0)
		return NULL;
	events->items[events->count] = (struct scheduler_event){.last = 0};
	snprintf(events->items[events->count].name, EVENT_NAME_BYTES, "%s", name);
	return &events->items[events->count++];
}

static void take(struct scheduler_events *events, const char *text, bool first)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char name[EVENT_NAME_BYTES];
		unsigned long long value;
		struct scheduler_event *event;

		if (sscanf(line, "%63[^ \n] %llu", name, &value) != 2)
			continue;
		event = event_of(events, name);
		if (!event)
			continue;
		/* one that goes back is another scheduler's: it came and we did not see it */
		if (value < event->last) {
			event->earlier += event->last - event->before;
			event->before = 0;
		}
		event->last = value;
		if (first)
			event->before = value;
	}
}

void scheduler_events_begin(struct scheduler_events *events, const char *text)
{
	take(events, text, true);
}

void scheduler_events_take(struct scheduler_events *events, const char *text, bool another)
{
	for (size_t i = 0; another && i < events->count; i++) {
		struct scheduler_event *event = &events->items[i];

		event->earlier += event->last - event->before;
		event->before = event->last = 0;
	}
	take(events, text, false);
}

void scheduler_events_release(struct scheduler_events *events)
{
	free(events->items);
	*events = (struct scheduler_events){.count = 0};
}
