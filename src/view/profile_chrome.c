// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as trace events: a flame graph, with a complete event (X) for each call and a track for
 * each state or thread. How wide an event is says how much time was spent, where it lies does not
 * say when.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/flames.h"
#include "view/profile_export.h"
#include "view/trace_events.h"

struct span {
	uint64_t start_ns, end_ns;
};

struct chrome {
	struct trace_events events;
	const struct profile_result *result;
	const struct flames *flames;
	struct span *spans; /* by flame */
};

static uint64_t rounded(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

/* What is called lies within its caller, the largest first. */
static void place_children(struct chrome *chrome, size_t index)
{
	const struct flame *items = chrome->flames->items;
	const struct span *all = &chrome->spans[index];
	double sum_ns = 0;

	for (size_t child = items[index].child; child != FLAME_NONE; child = items[child].sibling) {
		struct span *span = &chrome->spans[child];

		span->start_ns = all->start_ns + rounded(sum_ns);
		sum_ns += items[child].ns;
		span->end_ns = all->start_ns + rounded(sum_ns);
		if (span->end_ns > all->end_ns)
			span->end_ns = all->end_ns;
		if (span->start_ns > span->end_ns)
			span->start_ns = span->end_ns;
	}
}

/* Numbers of tracks above those of threads. */
#define TRACK_POOLED (1U << 30)

static uint32_t track_of_thread(const struct chrome *chrome, uint32_t index)
{
	const struct profile_thread *thread = &chrome->result->threads[index];

	return thread->pooled ? TRACK_POOLED + index : thread->tid;
}

/* What it lies on: the thread's or the state's number, else 1. */
static uint32_t track_of(const struct chrome *chrome, size_t index)
{
	const struct flame *items = chrome->flames->items;

	while (items[index].depth > 1)
		index = items[index].parent;
	return items[index].kind == FLAME_THREAD  ? track_of_thread(chrome, items[index].thread)
	       : items[index].kind == FLAME_STATE ? (uint32_t)items[index].state + 1
						  : 1;
}

static void name_track(struct chrome *chrome, const struct flame *flame, uint32_t track)
{
	const struct profile_thread *thread = &chrome->result->threads[flame->thread];
	char name[PROFILE_THREAD_BYTES];

	profile_thread_name(thread, name);
	trace_events_name(&chrome->events, "thread_name", 1, track,
			  flame->kind != FLAME_THREAD ? state_info[flame->state].key
			  : thread->pooled	      ? name
						      : thread->comm);
}

/* Without arguments: to speedscope, functions whose calls differ in those are several functions. */
static void add_event(struct chrome *chrome, size_t index, const char *name)
{
	const struct flame *flame = &chrome->flames->items[index];
	const struct span *span = &chrome->spans[index];
	struct json json = {.out = chrome->events.out};

	trace_events_separate(&chrome->events);
	json_object_begin(&json, NULL);
	trace_event_head(&json, name, "X", 1, track_of(chrome, index));
	json_add_string(&json, "cat", state_info[flame->state].key);
	trace_event_time(&json, "ts", span->start_ns);
	trace_event_time(&json, "dur", span->end_ns - span->start_ns);
	json_object_end(&json);
}

int profile_write_chrome(struct output *out, const struct profile_result *result,
			 enum profile_root root)
{
	const struct flame_choice choice = {.time.states = result->states, .root = root};
	const struct stacks *stacks = profile_stacks(result->profile);
	struct flames flames = {0};
	struct chrome chrome = {.events.out = out, .result = result, .flames = &flames};
	int made = flames_make(&flames, result, &choice);

	chrome.spans = made < 0 ? NULL : calloc(flames.count + 1, sizeof(*chrome.spans));
	if (!chrome.spans) {
		flames_release(&flames);
		return -ENOMEM;
	}
	trace_events_begin(&chrome.events);
	if (flames.count)
		chrome.spans[0].end_ns = rounded(flames.items[0].ns);
	/* callers come before what they call */
	for (size_t i = 0; i < flames.count; i++) {
		const struct flame *flame = &flames.items[i];

		place_children(&chrome, i);
		if (flame->kind == FLAME_STATE || flame->kind == FLAME_THREAD)
			name_track(&chrome, flame, track_of(&chrome, i));
		else if (flame->kind == FLAME_FUNCTION)
			add_event(&chrome, i,
				  profile_frame_name(stacks_frame(stacks, flame->frame)));
		else if (flame->kind == FLAME_NO_STACK)
			add_event(&chrome, i, "(no stack)");
	}
	trace_events_end(&chrome.events);
	free(chrome.spans);
	flames_release(&flames);
	return 0;
}
