// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/top_screen.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "tui/top_state.h"

#define INSPECTOR_LINES 6
/* Below this the table needs every line. */
#define INSPECTOR_FROM 18

struct top_screen *top_screen_new(const struct top_screen_options *options)
{
	struct top_screen *screen = calloc(1, sizeof(*screen));

	if (!screen)
		return NULL;
	screen->options = *options;
	screen->by = options->by;
	screen->sort = options->sort;
	screen->interval_ns = options->interval_ns;
	return screen;
}

void top_screen_free(struct top_screen *screen)
{
	if (!screen)
		return;
	history_release(&screen->history);
	free(screen->threads);
	free(screen->rows);
	free(screen->order);
	free(screen->reasons);
	free(screen);
}

const struct row *top_selected(const struct top_screen *screen)
{
	return screen->has_selection && screen->index < screen->order_count
		       ? screen->order[screen->index].row
		       : NULL;
}

static bool contains(const char *text, const char *part)
{
	size_t length = strlen(part);

	for (; *text; text++)
		if (!strncasecmp(text, part, length))
			return true;
	return false;
}

static bool passes(const struct top_screen *screen, const struct row *row)
{
	const char *path = session_cgroup(screen->interval.session, row->cgroup_id);
	char number[16];

	if (screen->hide_idle && !row->exited && !row_active_ns(row))
		return false;
	if (!*screen->filter)
		return true;
	snprintf(number, sizeof(number), "%u", row->tid ? row->tid : row->pid);
	return contains(row->comm, screen->filter) || contains(row->process, screen->filter) ||
	       !strcmp(number, screen->filter) || (path && contains(path, screen->filter));
}

static void apply_filter(struct top_screen *screen)
{
	size_t kept = 0;

	for (size_t i = 0; i < screen->order_count; i++)
		if (passes(screen, screen->order[i].row))
			screen->order[kept++] = screen->order[i];
	screen->order_count = kept;
}

/* The selection follows the thread, not the line; when it is gone, the line stays. */
static void follow_selection(struct top_screen *screen)
{
	for (size_t i = 0; screen->has_selection && i < screen->order_count; i++) {
		struct identity who = row_identity(screen->order[i].row, screen->by);

		if (who.tid == screen->selected.tid && who.start_ns == screen->selected.start_ns) {
			screen->index = i;
			return;
		}
	}
	if (screen->index >= screen->order_count)
		screen->index = screen->order_count ? screen->order_count - 1 : 0;
	screen->has_selection = screen->order_count > 0;
	if (screen->has_selection)
		screen->selected = row_identity(screen->order[screen->index].row, screen->by);
}

int top_arrange(struct top_screen *screen)
{
	if (!screen->interval.session)
		return 0;
	if (!field_applies(screen->sort, 1U << screen->by))
		screen->sort = field_find("active");
	if (array_reserve(&screen->order, &screen->order_room, screen->row_count,
			  sizeof(*screen->order)) < 0)
		return -ENOMEM;
	screen->order_count = screen->row_count;
	rows_order(screen->order, screen->rows, screen->row_count, screen->sort, screen->reverse,
		   screen->interval.session);
	apply_filter(screen);
	follow_selection(screen);
	return 0;
}

/* Rows of the chosen kind from those by thread. */
static int group(struct top_screen *screen)
{
	struct interval grouped = screen->interval;

	if (array_reserve(&screen->rows, &screen->row_room, screen->thread_count,
			  sizeof(*screen->rows)) < 0)
		return -ENOMEM;
	if (screen->thread_count)
		memcpy(screen->rows, screen->threads, screen->thread_count * sizeof(*screen->rows));
	grouped.rows = screen->rows;
	grouped.row_count = screen->thread_count;
	interval_group(&grouped, screen->by);
	screen->row_count = grouped.row_count;
	return 0;
}

static int remember(struct top_screen *screen)
{
	struct interval grouped = screen->interval;

	grouped.rows = screen->rows;
	grouped.row_count = screen->row_count;
	return history_add(&screen->history, &grouped, screen->by);
}

int top_screen_update(struct top_screen *screen, const struct intervals *intervals,
		      const struct interval *interval)
{
	if (screen->frozen)
		return 0;
	if (array_reserve(&screen->threads, &screen->thread_room, interval->row_count,
			  sizeof(*screen->threads)) < 0 ||
	    array_reserve(&screen->reasons, &screen->reason_room, interval->reason_count,
			  sizeof(*screen->reasons)) < 0)
		return -ENOMEM;
	if (interval->row_count)
		memcpy(screen->threads, interval->rows,
		       interval->row_count * sizeof(*screen->threads));
	screen->thread_count = interval->row_count;
	if (interval->reason_count)
		memcpy(screen->reasons, interval->reasons,
		       interval->reason_count * sizeof(*screen->reasons));
	screen->reason_count = interval->reason_count;
	screen->interval = *interval;
	screen->intervals = intervals;
	if (group(screen) < 0 || remember(screen) < 0)
		return -ENOMEM;
	return top_arrange(screen);
}

void top_screen_restart(struct top_screen *screen)
{
	history_clear(&screen->history);
}

static void draw_waiting(const struct top_screen *screen, struct canvas *canvas)
{
	char length[16], text[64];

	duration_format(length, sizeof(length), screen->interval_ns);
	snprintf(text, sizeof(text), "measuring the first interval, of %s…", length);
	canvas_text(canvas, canvas->rows / 2, 2, canvas->columns, ROLE_DIM,
		    screen->options.replay ? "reading the recording…" : text);
}

void top_screen_draw(struct top_screen *screen, struct canvas *canvas)
{
	int lines = canvas->rows - 3; /* header and hints */
	int inspector = 0;

	screen->line_count = 0;
	if (!screen->interval.session) {
		draw_waiting(screen, canvas);
	} else if (screen->help) {
		top_draw_help(screen, canvas);
	} else {
		top_draw_header(screen, canvas);
		if (screen->full && top_selected(screen)) {
			top_draw_inspector(screen, canvas, 2, lines);
		} else {
			if (canvas->rows >= INSPECTOR_FROM && top_selected(screen))
				inspector = INSPECTOR_LINES;
			top_draw_table(screen, canvas, 2, lines - inspector);
			if (inspector)
				top_draw_inspector(screen, canvas, 2 + lines - inspector,
						   inspector);
		}
	}
	top_draw_hints(screen, canvas, canvas->rows - 1);
}

uint32_t top_screen_selected_pid(const struct top_screen *screen)
{
	const struct row *row = top_selected(screen);

	return row ? row->pid : 0;
}

uint64_t top_screen_interval_ns(const struct top_screen *screen)
{
	return screen->interval_ns;
}

bool top_screen_paused(const struct top_screen *screen)
{
	return screen->frozen;
}

void top_screen_pause(struct top_screen *screen, bool paused)
{
	screen->frozen = paused;
}

unsigned int top_screen_seek_seconds(const struct top_screen *screen)
{
	return screen->seek_seconds;
}

void top_screen_message(struct top_screen *screen, const char *text)
{
	snprintf(screen->message, sizeof(screen->message), "%s", text);
}

int top_regroup(struct top_screen *screen)
{
	history_clear(&screen->history);
	screen->has_selection = false;
	screen->index = screen->offset = 0;
	if (!screen->interval.session)
		return 0;
	if (group(screen) < 0 || remember(screen) < 0)
		return -ENOMEM;
	return top_arrange(screen);
}
