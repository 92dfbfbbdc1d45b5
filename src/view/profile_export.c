// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/profile_export.h"

#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/text.h"

const char *const profile_root_keys[PROFILE_ROOTS_COUNT] = {
#define X(name, key) [PROFILE_ROOT_##name] = key,
	PROFILE_ROOTS(X)
#undef X
};

/* A frame of a folded stack: its parts are separated by semicolons, its number by a space. */
static void write_folded(struct output *out, const char *name)
{
	char text[4096]; /* whole: instances of a template differ at their ends */

	text_printable(text, sizeof(text), name, sizeof(text));
	for (char *at = text; *at; at++)
		if (*at == ';' || *at == '\n')
			*at = ':';
	output_string(out, text);
}

static void write_root(struct output *out, const struct profile_result *result,
		       const struct profile_path *path, enum profile_root root)
{
	const struct profile_thread *thread = &result->threads[path->thread];
	char name[PROFILE_THREAD_BYTES];

	switch (root) {
	case PROFILE_ROOT_THREAD:
		profile_thread_name(thread, name);
		write_folded(out, thread->pooled ? name : *thread->comm ? thread->comm : "?");
		if (!thread->pooled)
			output_format(out, "-%u", thread->tid);
		output_char(out, ';');
		break;
	case PROFILE_ROOT_STATE:
		output_format(out, "%s;", state_info[path->state].key);
		break;
	default:
		break;
	}
}

/* As flamegraph.pl and speedscope read them: `state;frame;...;leaf N`, N in microseconds. */
static int folded(struct output *out, const struct profile_result *result, enum profile_root root)
{
	const struct stacks *stacks = profile_stacks(result->profile);

	for (size_t i = 0; i < result->path_count; i++) {
		const struct profile_path *path = &result->paths[i];
		uint32_t ids[PROFILE_FRAMES_MAX];
		size_t count = profile_frames(result, path, ids);
		uint64_t us = (uint64_t)(path->time.ns / (double)NS_PER_US + 0.5);

		if (!(result->states & 1U << path->state) || !us)
			continue;
		write_root(out, result, path, root);
		for (size_t j = count; j > 0; j--) {
			const struct frame *frame = stacks_frame(stacks, ids[j - 1]);

			write_folded(out, frame->function);
			/* as perf's scripts mark it */
			output_string(out, frame->kind == WIRE_FRAME_KERNEL ? "_[k]" : "");
			output_string(out, j > 1 ? ";" : "");
		}
		output_format(out, "%s %llu\n", count ? "" : "(no stack)", (unsigned long long)us);
	}
	return 0;
}

const struct profile_export_ops profile_exports[] = {
	{.name = "chrome",
	 .help = "trace events for Perfetto and speedscope",
	 .write = profile_write_chrome},
	{.name = "folded", .help = "a stack a line, for flame graphs", .write = folded},
	{.name = "html",
	 .help = "a page for a browser, which loads nothing",
	 .write = profile_write_html},
	{.name = "pprof",
	 .help = "for go tool pprof, speedscope and servers of profiles",
	 .is_binary = true,
	 .write = profile_write_pprof},
};

const size_t profile_export_count = ARRAY_SIZE(profile_exports);

const struct profile_export_ops *profile_export_find(const char *name)
{
	for (size_t i = 0; i < profile_export_count; i++)
		if (!strcmp(profile_exports[i].name, name))
			return &profile_exports[i];
	return NULL;
}
