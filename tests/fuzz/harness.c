// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memfd_create */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "capture/recording.h"
#include "runtime/runtime.h"
#include "model/group.h"
#include "model/summary.h"
#include "tui/blocked_screen.h"
#include "tui/top_screen.h"
#include "view/blocked_export.h"
#include "view/fields.h"
#include "view/report.h"
#include "view/view.h"

struct show {
	struct intervals *intervals;
	struct summary summary;
	struct blocked_screen *blocked;
	struct top_screen *screen;
	struct canvas canvas;
	struct output output;
	struct stalls *stalls;
	struct blocked_export exports[3];
};

static void show_views(struct show *show, const struct interval *interval)
{
	/* the last is the page of text */
	for (size_t i = 0; i <= format_count; i++) {
		for (int by = 0; by < GROUPINGS_COUNT; by++) {
			struct interval copy = *interval;
			struct view view = {.format = i < format_count ? formats[i] : NULL,
					    .out = &show->output,
					    .by = (enum grouping)by,
					    .sort = field_find("p99")};
			struct error error;

			copy.rows = malloc(copy.row_count * sizeof(*copy.rows) + 1);
			for (size_t j = 0; j < copy.row_count; j++)
				copy.rows[j] = interval->rows[j];
			interval_group(&copy, (enum grouping)by);
			if (view_begin(&view, &error) == 0 && view_interval(&view, &copy) < 0)
				abort();
			view_end(&view);
			free(copy.rows);
			show->output.used = 0;
		}
	}
}

static void show_stall(struct show *show, const struct stall *stall)
{
	for (size_t i = 0; i < blocked_export_count; i++)
		if (show->exports[i].ops->stall(&show->exports[i], stall) < 0)
			abort();
	show->output.used = 0;
}

/* All that is printed at the end. */
static void show_blocked(struct show *show)
{
	struct blocked_summary summary = {.stalls = show->stalls,
					  .session = intervals_session(show->intervals)};

	for (size_t i = 0; i < blocked_export_count; i++) {
		show->exports[i].ops->end(&show->exports[i], &summary);
		blocked_export_release(&show->exports[i]);
		show->output.used = 0;
	}
	blocked_table(&show->output, &summary);
	show->output.used = 0;
	for (size_t i = 0; i < format_count; i++) {
		static const struct order order = {.field = "cause", .top = 2};
		struct error error;
		struct emit emit;

		if (emit_begin(&emit, formats[i], &blocked_schema, ~0U, NULL, i % 2 ? &order : NULL,
			       &show->output, &error) < 0 ||
		    blocked_emit(&emit, &summary) < 0)
			abort();
		emit_end(&emit);
		show->output.used = 0;
	}
}

/* The lists, and all about a hotspot and a worker. */
static void draw_blocked(struct show *show)
{
	static const struct key keys[] = {
		{.kind = KEY_KIND_ENTER}, {.kind = KEY_KIND_CHARACTER, .character = '\t'},
		{.kind = KEY_KIND_ENTER}, {.kind = KEY_KIND_CHARACTER, .character = 'g'},
		{.kind = KEY_KIND_LEFT},
	};

	if (blocked_screen_update(show->blocked) < 0 || canvas_reset(&show->canvas, 40, 130) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		blocked_screen_draw(show->blocked, &show->canvas);
		blocked_screen_key(show->blocked, keys[i]);
	}
	blocked_screen_yank(show->blocked, &show->output);
	show->output.used = 0;
}

static int take(void *data, const struct wire_header *record)
{
	struct show *show = data;
	struct interval *interval;
	struct stall stall;
	int result = stalls_feed(show->stalls, record, &stall);

	if (result < 0)
		return result;
	if (result > 0) {
		show_stall(show, &stall);
		blocked_screen_stall(show->blocked, &stall);
	}
	result = intervals_feed(show->intervals, record, &interval);

	if (result <= 0)
		return result;
	show_views(show, interval);
	if (top_screen_update(show->screen, show->intervals, interval) == 0 &&
	    canvas_reset(&show->canvas, 40, 120) == 0) {
		top_screen_draw(show->screen, &show->canvas);
		top_screen_key(show->screen, (struct key){.kind = KEY_KIND_ENTER});
		top_screen_draw(show->screen, &show->canvas);
	}
	stalls_add_interval(show->stalls, interval);
	if (blocked_screen_interval(show->blocked, interval) == 0)
		draw_blocked(show);
	return summary_add(&show->summary, interval);
}

/* The page of `dwell report`, and what it has besides in JSON. */
static void show_report(struct show *show)
{
	struct summary *summary = &show->summary;
	struct findings findings;
	struct view view = {.format = &format_json, .out = &show->output, .by = BY_THREAD};
	struct error error;

	if (!summary->intervals || summary_end(summary) < 0 ||
	    findings_find(&findings, &summary->whole) < 0)
		return;
	report_machine(&show->output, summary, 0);
	report_findings(&show->output, &findings, summary->whole.session);
	report_states(&show->output, summary);
	report_course(&show->output, summary);
	if (report_blame(&show->output, summary, 10) < 0)
		abort();
	show->output.used = 0;
	summary->whole.summary = summary;
	view.sort = field_find("active");
	if (view_begin(&view, &error) < 0 || view_interval(&view, &summary->whole) < 0)
		abort();
	view_end(&view);
	show->output.used = 0;
}

void harness_show(const void *bytes, size_t size)
{
	struct top_screen_options options = {.sort = field_find("active"), .replay = true};
	struct show show = {.intervals = intervals_new(),
			    .screen = top_screen_new(&options),
			    .stalls = stalls_new(NS_PER_S, runtime_stack_marks())};
	struct blocked_screen_options blocked = {.stalls = show.stalls, .window_ns = NS_PER_S};
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct recording *recording;
	struct error error;
	char path[64];

	show.blocked = blocked_screen_new(&blocked);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (output_init(&show.output, -1) == 0 && write(fd, bytes, size) == (ssize_t)size &&
	    recording_open_path(&recording, path, &error) == 0) {
		struct record_sink sink = {take, &show};

		for (size_t i = 0; i < blocked_export_count; i++) {
			show.exports[i] = (struct blocked_export){.ops = blocked_exports[i],
								  .out = &show.output,
								  .stalls = show.stalls};
			show.exports[i].ops->begin(&show.exports[i]);
		}

		while (recording_next(recording, sink, &error) > 0)
			;
		recording_seek(recording, recording_facts(recording)->last_ns);
		while (recording_next(recording, sink, &error) > 0)
			;
		recording_close(recording);
		show_blocked(&show);
		show_report(&show);
	}
	close(fd);
	output_release(&show.output);
	summary_release(&show.summary);
	blocked_screen_free(show.blocked);
	stalls_free(show.stalls);
	top_screen_free(show.screen);
	canvas_release(&show.canvas);
	intervals_free(show.intervals);
}
