// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as one page for a browser, which loads nothing: src/view/page/profile.html with the
 * profile as JSON in its middle. Layout and drawing are some lines of its own script: D3 would be
 * twenty times as much in each file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/json.h"
#include "base/text.h"
#include "view/page.h"
#include "view/profile_export.h"

#define TEXT(text) text,
static const char *const parts[] = {
#include "profile_page.inc"
};
#undef TEXT

/* Numbers of frames in the page, from 1; 0: not in it. */
struct page {
	const struct profile_result *result;
	struct json *json;
	uint32_t *numbers; /* by id of the frame */
	uint32_t count;
};

static void write_head(struct page *page)
{
	const struct profile_result *result = page->result;
	const struct wire_profile *quality = profile_quality(result->profile);
	uint64_t stacks = profile_stack_count(result->profile);
	const struct profile_thread *only =
		profile_only_process(result->threads, result->thread_count);
	size_t threads = profile_thread_count(result->profile);
	char title[160], facts[320], length[16];

	duration_format(length, sizeof(length), result->duration_ns);
	if (only)
		snprintf(title, sizeof(title), "%s %u: where %s went", only->process, only->pid,
			 length);
	else
		snprintf(title, sizeof(title), "%.60s: where %s went", result->session->wire.host,
			 length);
	snprintf(facts, sizeof(facts),
		 "%zu thread%s, %llu stack%s, %.1f %% complete, %llu lost; %.60s, Linux %.60s",
		 threads, text_plural(threads), (unsigned long long)stacks, text_plural(stacks),
		 100 * profile_complete_share(result->profile), (unsigned long long)quality->lost,
		 result->session->wire.host, result->session->wire.kernel);
	json_add_string(page->json, "title", title);
	json_add_string(page->json, "facts", facts);
}

static void write_states(struct page *page)
{
	const struct profile_state *states = profile_states(page->result->profile);

	json_array_begin(page->json, "states");
	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];

		if (!(page->result->states & 1U << state) || !states[state].total_ns)
			continue;
		json_object_begin(page->json, NULL);
		json_add_string(page->json, "name", state_info[state].key);
		json_add_u64(page->json, "ns", states[state].total_ns);
		json_add_u64(page->json, "sampled", states[state].sampled_ns);
		json_object_end(page->json);
	}
	json_array_end(page->json);
}

static void write_threads(struct page *page)
{
	json_array_begin(page->json, "threads");
	for (size_t i = 0; i < page->result->thread_count; i++) {
		const struct profile_thread *thread = &page->result->threads[i];
		char name[PROFILE_THREAD_BYTES];
		uint64_t ns = 0;

		profile_thread_name(thread, name);
		for (int state = 0; state < STATES; state++)
			if (page->result->states & 1U << state)
				ns += thread->states_ns[state];
		json_object_begin(page->json, NULL);
		json_add_string(page->json, "name", name);
		json_add_u64(page->json, "threads", thread->threads);
		json_add_u64(page->json, "ns", ns);
		json_object_end(page->json);
	}
	json_array_end(page->json);
}

/* The name of a frame as an item of the list; "" where it is none. */
static void write_frame(struct page *page, const struct frame *frame)
{
	json_object_begin(page->json, NULL);
	json_add_string(page->json, "name", frame->function);
	json_add_string(page->json, "file", frame->file);
	json_add_u64(page->json, "line", frame->line);
	json_add_string(page->json, "module", frame->module);
	json_add_bool(page->json, "kernel", frame->kind == WIRE_FRAME_KERNEL);
	json_add_bool(page->json, "inlined", frame->inlined);
	json_object_end(page->json);
}

static const struct frame no_stack = {.function = "(no stack)", .file = "", .module = ""};

static void write_frames(struct page *page)
{
	const struct stacks *stacks = profile_stacks(page->result->profile);

	json_array_begin(page->json, "frames");
	write_frame(page, &no_stack); /* is 0 */
	for (size_t i = 0; i < page->result->path_count; i++) {
		uint32_t ids[PROFILE_FRAMES_MAX];
		size_t count = profile_frames(page->result, &page->result->paths[i], ids);

		for (size_t j = 0; j < count; j++) {
			if (page->numbers[ids[j]])
				continue;
			page->numbers[ids[j]] = ++page->count;
			write_frame(page, stacks_frame(stacks, ids[j]));
		}
	}
	json_array_end(page->json);
}

/* With their errors, which no sum of paths has: what one path has too much, another has too little.
 */
static void write_functions(struct page *page)
{
	json_array_begin(page->json, "functions");
	for (size_t i = 0; i < page->result->spot_count; i++) {
		const struct profile_spot *spot = &page->result->spots[i];

		if (spot->frame && !page->numbers[spot->frame])
			continue;
		json_object_begin(page->json, NULL);
		json_add_string(page->json, "state", state_info[spot->state].key);
		json_add_u64(page->json, "frame", page->numbers[spot->frame]);
		json_add_u64(page->json, "error", (uint64_t)(estimate_error(&spot->self) + 0.5));
		json_object_end(page->json);
	}
	json_array_end(page->json);
}

static void write_paths(struct page *page)
{
	const struct stacks *stacks = profile_stacks(page->result->profile);

	json_array_begin(page->json, "paths");
	for (size_t i = 0; i < page->result->path_count; i++) {
		const struct profile_path *path = &page->result->paths[i];
		uint32_t ids[PROFILE_FRAMES_MAX];
		size_t count = profile_frames(page->result, path, ids), own = 0;
		uint32_t named = profile_own_frame(stacks, path->stack, path->state);

		if (!(page->result->states & 1U << path->state))
			continue;
		while (own + 1 < count && ids[own] != named)
			own++;
		json_object_begin(page->json, NULL);
		json_add_u64(page->json, "thread", path->thread);
		json_add_string(page->json, "state", state_info[path->state].key);
		json_add_u64(page->json, "ns", (uint64_t)(path->time.ns + 0.5));
		json_add_u64(page->json, "error", (uint64_t)(estimate_error(&path->time) + 0.5));
		json_add_u64(page->json, "stacks", path->count);
		json_add_u64(page->json, "own", own);
		json_array_begin(page->json, "frames");
		for (size_t j = 0; j < count; j++)
			json_add_u64(page->json, NULL, page->numbers[ids[j]]);
		if (!count)
			json_add_u64(page->json, NULL, 0);
		json_array_end(page->json);
		json_object_end(page->json);
	}
	json_array_end(page->json);
}

/* Frames and paths, numbered of their own. */
static int write_code(struct page *page, bool with_functions)
{
	size_t frames = profile_stacks(page->result->profile)->frame_count;
	cleanup_free uint32_t *numbers = calloc(frames + 1, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	page->numbers = numbers;
	page->count = 0;
	write_frames(page);
	if (with_functions)
		write_functions(page);
	write_paths(page);
	page->numbers = NULL;
	return 0;
}

/* What it is compared with: where its time went, not whose it was. */
static int write_before(struct json *json, const struct profile_result *before)
{
	struct page page = {.result = before, .json = json};
	int result;

	json_object_begin(json, "before");
	result = write_code(&page, false);
	json_object_end(json);
	return result;
}

int profile_write_html(struct output *out, const struct profile_result *result,
		       enum profile_root root)
{
	cleanup(output_release) struct output data = {.fd = -1};
	struct json json = {.out = &data};
	struct page page = {.result = result, .json = &json};
	int written;

	(void)root;
	if (output_init(&data, -1) < 0)
		return -ENOMEM;
	json_object_begin(&json, NULL);
	write_head(&page);
	write_states(&page);
	write_threads(&page);
	written = write_code(&page, true);
	if (written >= 0 && result->before)
		written = write_before(&json, result->before);
	json_object_end(&json);
	if (written < 0 || data.error)
		return -ENOMEM;
	output_string(out, parts[0]);
	page_write_data(out, &data);
	output_string(out, parts[1]);
	return 0;
}
