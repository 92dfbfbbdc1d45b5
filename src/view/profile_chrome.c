// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as trace events ("Trace Event Format"), as Perfetto, speedscope and chrome://tracing
 * read them: a flame graph, with a complete event (X) for each call and a track for each state or
 * thread. How wide an event is says how much time was spent, where it lies does not say when.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/json.h"
#include "view/flames.h"
#include "view/profile_export.h"

struct span {
	uint64_t start_ns, end_ns;
};

struct chrome {
	struct output *out;
	const struct profile_result *result;
	const struct flames *flames;
	struct span *spans; /* by flame */
	bool some;
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

/* What it lies on: the thread's or the state's number, else 1. */
static uint32_t track_of(const struct chrome *chrome, size_t index)
{
	const struct flame *items = chrome->flames->items;

	while (items[index].depth > 1)
		index = items[index].parent;
	return items[index].kind == FLAME_THREAD  ? chrome->result->threads[items[index].thread].tid
	       : items[index].kind == FLAME_STATE ? (uint32_t)items[index].state + 1
						  : 1;
}

static void separate(struct chrome *chrome)
{
	output_string(chrome->out, chrome->some ? ",\n" : "\n");
	chrome->some = true;
}

static void name_track(struct chrome *chrome, const struct flame *flame, uint32_t track)
{
	const struct profile_thread *thread = &chrome->result->threads[flame->thread];
	struct json json = {.out = chrome->out};

	separate(chrome);
	json_object_begin(&json, NULL);
	json_add_string(&json, "name", "thread_name");
	json_add_string(&json, "ph", "M");
	json_add_u64(&json, "pid", 1);
	json_add_u64(&json, "tid", track);
	json_object_begin(&json, "args");
	json_add_string(&json, "name",
			flame->kind == FLAME_THREAD ? thread->comm : state_info[flame->state].key);
	json_object_end(&json);
	json_object_end(&json);
}

static void microseconds(struct json *json, const char *key, uint64_t ns)
{
	json_add_fixed(json, key, ns / NS_PER_US, (unsigned int)(ns % NS_PER_US));
}

/* Without arguments: to speedscope, functions whose calls differ in those are several functions. */
static void add_event(struct chrome *chrome, size_t index, const char *name)
{
	const struct flame *flame = &chrome->flames->items[index];
	const struct span *span = &chrome->spans[index];
	struct json json = {.out = chrome->out};

	separate(chrome);
	json_object_begin(&json, NULL);
	json_add_string(&json, "name", name);
	json_add_string(&json, "cat", state_info[flame->state].key);
	json_add_string(&json, "ph", "X");
	microseconds(&json, "ts", span->start_ns);
	microseconds(&json, "dur", span->end_ns - span->start_ns);
	json_add_u64(&json, "pid", 1);
	json_add_u64(&json, "tid", track_of(chrome, index));
	json_object_end(&json);
}

int profile_write_chrome(struct output *out, const struct profile_result *result,
			 enum profile_root root)
{
	const struct flame_choice choice = {.time.states = result->states, .root = root};
	const struct stacks *stacks = profile_stacks(result->profile);
	struct flames flames = {0};
	struct chrome chrome = {.out = out, .result = result, .flames = &flames};
	int made = flames_make(&flames, result, &choice);

	chrome.spans = made < 0 ? NULL : calloc(flames.count + 1, sizeof(*chrome.spans));
	if (!chrome.spans) {
		flames_release(&flames);
		return -ENOMEM;
	}
	output_string(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
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
	output_string(out, "\n]}\n");
	free(chrome.spans);
	flames_release(&flames);
	return 0;
}
