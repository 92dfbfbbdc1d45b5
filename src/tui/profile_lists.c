// SPDX-License-Identifier: GPL-2.0-or-later
/* Where time went by code, and by thread, as rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "tui/profile_state.h"
#include "view/blocked_words.h"

#define METRIC_WIDTH 9
#define SHARE_WIDTH  7
#define STATE_WIDTH  9
#define NAME_MIN     16
#define BAR_WIDTH    16
#define BAR_COLUMNS  100 /* of a screen that has room for bars */

static const struct frame *frame_of(const struct profile_screen *screen,
				    const struct profile_spot *spot)
{
	return stacks_frame(profile_stacks(screen->result->profile), spot->frame);
}

void profile_spot_name(const struct profile_screen *screen, const struct profile_spot *spot,
		       char into[FLAME_NAME_BYTES])
{
	const struct frame *frame = frame_of(screen, spot);
	struct flame flame = {.kind = frame ? FLAME_FUNCTION : FLAME_NO_STACK,
			      .frame = spot->frame};
	char place[BLOCKED_PLACE_BYTES];

	if (frame && screen->by == PROFILE_BY_FILE && (*frame->file || *frame->module)) {
		snprintf(into, FLAME_NAME_BYTES, "%s", *frame->file ? frame->file : frame->module);
	} else if (!frame || screen->by != PROFILE_BY_LINE || !frame->line) {
		profile_flame_name(screen, &flame, into);
	} else {
		blocked_place(place, frame);
		snprintf(into, FLAME_NAME_BYTES, "%s", place);
	}
}

static bool passes(const struct profile_screen *screen, size_t index)
{
	const struct profile_thread *thread;
	char name[FLAME_NAME_BYTES];

	if (screen->page == PROFILE_THREADS) {
		thread = &screen->threads[index];
		return profile_thread_ns(screen, thread) &&
		       (!*screen->base.filter || profile_finds(screen, thread->comm) ||
			profile_finds(screen, thread->process));
	}
	if (screen->spots[index].self.ns < 0.5)
		return false;
	profile_spot_name(screen, &screen->spots[index], name);
	return !*screen->base.filter || profile_finds(screen, name);
}

/* For qsort, which has no argument: as the comparison needs it. */
static const struct profile_screen *sorted;

static int by_time(const void *left, const void *right)
{
	uint64_t a = profile_thread_ns(sorted, &sorted->threads[*(const size_t *)left]);
	uint64_t b = profile_thread_ns(sorted, &sorted->threads[*(const size_t *)right]);

	return a < b ? 1 : a > b ? -1 : 0;
}

int profile_arrange_list(struct profile_screen *screen)
{
	size_t count = screen->page == PROFILE_THREADS ? screen->thread_count : screen->spot_count;

	if (array_reserve(&screen->order, &screen->order_room, count + 1, sizeof(*screen->order)) <
	    0)
		return -ENOMEM;
	screen->order_count = 0;
	for (size_t i = 0; i < count; i++)
		if (passes(screen, i))
			screen->order[screen->order_count++] = i;
	if (screen->page == PROFILE_THREADS) {
		sorted = screen;
		qsort(screen->order, screen->order_count, sizeof(*screen->order), by_time);
	}
	if (screen->row >= screen->order_count)
		screen->row = screen->order_count ? screen->order_count - 1 : 0;
	return 0;
}

static int put_time(struct canvas *canvas, int row, int column, uint64_t ns)
{
	char text[16];

	duration_format(text, sizeof(text), ns);
	canvas_format(canvas, row, column, METRIC_WIDTH, ROLE_NORMAL, "%*s", METRIC_WIDTH, text);
	return column + METRIC_WIDTH;
}

static int put_share(struct canvas *canvas, int row, int column, double share)
{
	canvas_format(canvas, row, column, SHARE_WIDTH, ROLE_NORMAL, "%*.1f%%", SHARE_WIDTH - 1,
		      100 * share);
	return column + SHARE_WIDTH;
}

/* Widths of the columns beside SELF, SHARE and the name; 0: there is no room for it. */
struct code_layout {
	int error, total, state;
};

static int take(int *left, int width)
{
	if (*left < width)
		return 0;
	*left -= width;
	return width;
}

static struct code_layout plan_code(int columns)
{
	int left = columns - METRIC_WIDTH - SHARE_WIDTH - 2 - NAME_MIN;
	struct code_layout layout;

	layout.state = take(&left, STATE_WIDTH);
	layout.total = take(&left, METRIC_WIDTH);
	layout.error = take(&left, METRIC_WIDTH);
	return layout;
}

static void draw_code_heading(const struct profile_screen *screen, struct canvas *canvas, int row)
{
	struct code_layout layout = plan_code(canvas->columns);

	canvas_format(canvas, row, 0, canvas->columns, ROLE_HEADER, "%*s%*s%*s%*s  %-*s%s",
		      METRIC_WIDTH, "SELF", layout.error, layout.error ? "+-" : "", layout.total,
		      layout.total ? "TOTAL" : "", SHARE_WIDTH, "SHARE", layout.state,
		      layout.state ? "STATE" : "", profile_grouping_headings[screen->by]);
}

static void draw_spot(const struct profile_screen *screen, struct canvas *canvas, int row,
		      const struct profile_spot *spot)
{
	const struct code_layout layout = plan_code(canvas->columns);
	const struct frame *frame = frame_of(screen, spot);
	uint64_t all_ns = screen->chosen_ns;
	char name[FLAME_NAME_BYTES], place[BLOCKED_PLACE_BYTES] = "";
	int at;

	profile_spot_name(screen, spot, name);
	if (frame && screen->by == PROFILE_BY_FUNCTION)
		blocked_place(place, frame);
	at = put_time(canvas, row, 0, (uint64_t)spot->self.ns);
	if (layout.error)
		at = put_time(canvas, row, at, (uint64_t)estimate_error(&spot->self));
	if (layout.total)
		at = put_time(canvas, row, at, (uint64_t)spot->total.ns);
	at = put_share(canvas, row, at, spot->self.ns / (double)(all_ns ? all_ns : 1));
	canvas_text(canvas, row, at + 2, layout.state, (enum role)(ROLE_STATE + (int)spot->state),
		    state_info[spot->state].key);
	at += 2 + layout.state;
	at += canvas_path(canvas, row, at, canvas->columns - at, ROLE_NORMAL, name) + 2;
	canvas_path(canvas, row, at, canvas->columns - at, ROLE_DIM, place);
}

static void draw_thread_heading(struct canvas *canvas, int row)
{
	bool has_bar = canvas->columns >= BAR_COLUMNS;

	canvas_format(canvas, row, 0, canvas->columns, ROLE_HEADER, "%9s%*s%*s  %s%-17s%s", "TID",
		      METRIC_WIDTH, "TIME", SHARE_WIDTH, "SHARE",
		      has_bar ? "STATES            " : "", "THREAD", "PROCESS");
}

static void draw_thread(const struct profile_screen *screen, struct canvas *canvas, int row,
			const struct profile_thread *thread)
{
	uint64_t ns = profile_thread_ns(screen, thread), parts[STATES] = {0};
	uint64_t all_ns = screen->chosen_ns;
	char pid[16] = "";
	int at = 9;

	if (thread->pooled)
		canvas_format(canvas, row, 0, 9, ROLE_NORMAL, "%9s", "-");
	else
		canvas_format(canvas, row, 0, 9, ROLE_NORMAL, "%9u", thread->tid);
	at = put_time(canvas, row, at, ns);
	at = put_share(canvas, row, at, (double)ns / (double)(all_ns ? all_ns : 1)) + 2;
	if (canvas->columns >= BAR_COLUMNS) {
		for (int state = 0; state < STATES; state++)
			if (screen->choice.time.states & 1U << state)
				parts[state] = thread->states_ns[state];
		canvas_bar(canvas, row, at, BAR_WIDTH, parts, ns);
		at += BAR_WIDTH + 2;
	}
	if (thread->pooled)
		canvas_format(canvas, row, at, 16, ROLE_NORMAL, "%u threads", thread->pooled);
	else
		canvas_text(canvas, row, at, 16, ROLE_NORMAL, *thread->comm ? thread->comm : "?");
	at += 17;
	if (thread->pid)
		snprintf(pid, sizeof(pid), " %u", thread->pid);
	canvas_format(canvas, row, at, canvas->columns - at, ROLE_DIM, "%s%s", thread->process,
		      pid);
}

static void keep_in_sight(struct profile_screen *screen, size_t lines)
{
	if (screen->row < screen->row_offset)
		screen->row_offset = screen->row;
	if (lines && screen->row >= screen->row_offset + lines)
		screen->row_offset = screen->row - lines + 1;
	if (screen->row_offset + lines > screen->order_count)
		screen->row_offset = screen->order_count > lines ? screen->order_count - lines : 0;
}

void profile_draw_list(struct profile_screen *screen, struct canvas *canvas, int first, int count)
{
	bool is_code = screen->page == PROFILE_CODE;
	size_t lines = count > 1 ? (size_t)count - 1 : 0;

	if (is_code)
		draw_code_heading(screen, canvas, first);
	else
		draw_thread_heading(canvas, first);
	keep_in_sight(screen, lines);
	screen->first_line = first + 1;
	screen->line_count = (int)lines;
	if (!screen->order_count)
		canvas_text(canvas, first + 2, 2, canvas->columns - 2, ROLE_DIM,
			    *screen->base.filter ? "nothing matches the search"
						 : "nothing yet of what is chosen");
	for (size_t i = 0; i < lines && screen->row_offset + i < screen->order_count; i++) {
		size_t index = screen->order[screen->row_offset + i];
		int row = first + 1 + (int)i;

		if (is_code)
			draw_spot(screen, canvas, row, &screen->spots[index]);
		else
			draw_thread(screen, canvas, row, &screen->threads[index]);
		if (screen->row_offset + i == screen->row)
			canvas_select(canvas, row);
	}
}
