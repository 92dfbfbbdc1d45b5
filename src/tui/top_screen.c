// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/top_screen.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "model/blame_sum.h"
#include "tui/top_state.h"

#define INSPECTOR_LINES 6
/* Below these the table needs every line. */
#define INSPECTOR_FROM 18
#define FINDINGS_FROM  12
#define FINDINGS_ALL   22
/* So many intervals a line of findings stays empty before the table takes it. */
#define FINDINGS_CALM 5
/* and for which the column of a state stays that no row has time in any more */
#define COLUMNS_CALM 5

struct top_screen *top_screen_new(const struct top_screen_options *options)
{
	struct top_screen *screen = calloc(1, sizeof(*screen));

	if (!screen)
		return NULL;
	screen->options = *options;
	screen->by = options->by;
	screen->sort = options->sort;
	screen->reverse = options->reverse;
	screen->tree = options->tree;
	screen->all_columns = options->all_columns;
	screen->hide_idle = options->hide_idle;
	screen->glyphs = options->glyphs;
	screen->blame = options->blame;
	screen->interval_ns = options->interval_ns;
	screen->most = STATES;
	return screen;
}

void top_screen_free(struct top_screen *screen)
{
	if (!screen)
		return;
	history_release(&screen->history);
	free(screen->threads);
	free(screen->sums);
	free(screen->order);
	free(screen->depths);
	free(screen->reasons);
	reason_marks_release(&screen->reason_marks);
	reason_base_release(&screen->reason_base);
	free(screen->blames);
	free(screen->summed_blames);
	free(screen->by_victim);
	blame_losses_release(&screen->losses);
	free(screen);
}

const struct row *top_selected(const struct top_screen *screen)
{
	if (top_shows_losses(screen))
		return top_loss_row(screen);
	return screen->has_selection && screen->index < screen->order_count
		       ? screen->order[screen->index].row
		       : NULL;
}

bool top_shows_losses(const struct top_screen *screen)
{
	return screen->blame != BLAME_NONE && !screen->full;
}

size_t top_line_count(const struct top_screen *screen)
{
	return top_shows_losses(screen) ? screen->losses.count : screen->order_count;
}

bool top_contains(const char *text, const char *part)
{
	size_t length = strlen(part);

	for (; *text; text++)
		if (!strncasecmp(text, part, length))
			return true;
	return false;
}

bool top_matches(const struct top_screen *screen, const struct row *row, const char *text)
{
	const char *path = session_cgroup(screen->interval.session, row->cgroup_id);
	char number[16];

	snprintf(number, sizeof(number), "%u", row->tid ? row->tid : row->pid);
	return top_contains(row->comm, text) || top_contains(row->process, text) ||
	       !strcmp(number, text) || (path && top_contains(path, text));
}

bool top_line_matches(const struct top_screen *screen, size_t line, const char *text)
{
	return top_shows_losses(screen)
		       ? top_loss_matches(screen, &screen->losses.items[line], text)
		       : top_matches(screen, screen->order[line].row, text);
}

static bool is_selected(const struct top_screen *screen, const struct row *row)
{
	struct identity who = row_identity(row, screen->by);

	return who.tid == screen->selected.tid && who.start_ns == screen->selected.start_ns;
}

/* The user asked for the selected row, or reads all about it: not for the line. */
static bool holds_selection(const struct top_screen *screen)
{
	return screen->has_selection && (screen->follow || screen->full);
}

static bool passes(const struct top_screen *screen, const struct row *row)
{
	if (screen->hide_idle && row_is_idle(row) &&
	    !(holds_selection(screen) && is_selected(screen, row)))
		return false;
	return !*screen->filter || top_matches(screen, row, screen->filter);
}

static void apply_filter(struct top_screen *screen)
{
	size_t kept = 0;

	for (size_t i = 0; i < screen->order_count; i++)
		if (passes(screen, screen->order[i].row))
			screen->order[kept++] = screen->order[i];
	screen->order_count = kept;
}

/* What is shown from now on is of another row. */
static void let_go(struct top_screen *screen)
{
	bool is_hidden = false;
	char who[32] = "the cgroup";

	for (size_t i = 0; !is_hidden && i < screen->row_count; i++)
		is_hidden = is_selected(screen, &screen->rows[i]);
	if (screen->by != BY_CGROUP)
		snprintf(who, sizeof(who), "%s %u", screen->by == BY_THREAD ? "thread" : "process",
			 screen->selected.tid);
	snprintf(screen->message, sizeof(screen->message),
		 !is_hidden	   ? "%s has ended"
		 : *screen->filter ? "the filter hides %s"
				   : "%s is not among the first rows any more",
		 who);
	if (screen->full)
		top_leave_full(screen);
	screen->follow = false;
}

/*
 * The selection is a line: the first says who is first. It is a thread where the user asked for
 * that, or reads all about it, until it is gone.
 */
static void settle_selection(struct top_screen *screen)
{
	bool follows = holds_selection(screen);

	for (size_t i = 0; follows && i < screen->order_count; i++) {
		if (is_selected(screen, screen->order[i].row)) {
			screen->index = i;
			return;
		}
	}
	if (follows && screen->row_count)
		let_go(screen);
	if (screen->index >= top_line_count(screen))
		screen->index = top_line_count(screen) ? top_line_count(screen) - 1 : 0;
	if (top_shows_losses(screen))
		return;
	screen->has_selection = screen->index < screen->order_count;
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
	if (screen->options.top && screen->order_count > screen->options.top)
		screen->order_count = screen->options.top;
	if ((screen->tree && top_order_tree(screen) < 0) || top_find_losses(screen) < 0)
		return -ENOMEM;
	settle_selection(screen);
	return 0;
}

static int group_blame(struct top_screen *screen)
{
	struct interval grouped = screen->interval;

	screen->grouped_blames = screen->blames;
	screen->grouped_count = screen->blame_count;
	if (screen->by == BY_THREAD || !screen->blame_count)
		return top_index_blame(screen);
	if (array_reserve(&screen->summed_blames, &screen->summed_room, screen->blame_count,
			  sizeof(*screen->summed_blames)) < 0)
		return -ENOMEM;
	memcpy(screen->summed_blames, screen->blames,
	       screen->blame_count * sizeof(*screen->blames));
	grouped.blames = screen->summed_blames;
	grouped.blame_count = screen->blame_count;
	interval_group_blame(&grouped, screen->by);
	screen->grouped_blames = screen->summed_blames;
	screen->grouped_count = grouped.blame_count;
	return top_index_blame(screen);
}

static int sum_up(struct top_screen *screen)
{
	struct interval grouped = screen->interval;

	screen->rows = screen->threads;
	screen->row_count = screen->thread_count;
	if (screen->by == BY_THREAD || !screen->thread_count)
		return 0;
	if (array_reserve(&screen->sums, &screen->sum_room, screen->thread_count,
			  sizeof(*screen->sums)) < 0)
		return -ENOMEM;
	memcpy(screen->sums, screen->threads, screen->thread_count * sizeof(*screen->sums));
	grouped.rows = screen->sums;
	grouped.row_count = screen->thread_count;
	interval_group(&grouped, screen->by);
	screen->rows = screen->sums;
	screen->row_count = grouped.row_count;
	return 0;
}

/* What most of the time was lately: a while, and for a while after that. */
static void note_most(struct top_screen *screen, const struct interval *interval)
{
	uint64_t all_ns = 0;
	int most = 0;

	for (int j = 0; j < STATES; j++)
		screen->recent_ns[j] -= screen->recent_ns[j] / 4;
	for (size_t i = 0; i < interval->row_count; i++)
		for (int j = 0; j < STATES; j++) {
			screen->seen_ns[j] += interval->rows[i].states_ns[j];
			screen->recent_ns[j] += interval->rows[i].states_ns[j];
		}
	for (int j = 0; j < STATES; j++) {
		all_ns += screen->recent_ns[j];
		most = screen->recent_ns[j] > screen->recent_ns[most] ? j : most;
	}
	if (screen->recent_ns[most] > all_ns / 2)
		screen->most = (enum state)most;
	else if (screen->most < STATES && screen->recent_ns[screen->most] < all_ns / 3)
		screen->most = STATES;
}

/* Columns do not come and go with each interval. */
static void note_states(struct top_screen *screen)
{
	unsigned int states = rows_states(screen->threads, screen->thread_count);

	for (int j = 0; j < STATES; j++) {
		if (states & 1U << j)
			screen->columns_calm[j] = COLUMNS_CALM;
		else if (screen->columns_calm[j])
			screen->columns_calm[j]--;
	}
}

/* Rows of the chosen kind from those by thread. */
static int group(struct top_screen *screen)
{
	if (sum_up(screen) < 0)
		return -ENOMEM;
	return group_blame(screen);
}

static int remember(struct top_screen *screen)
{
	struct interval grouped = screen->interval;

	grouped.rows = screen->rows;
	grouped.row_count = screen->row_count;
	return history_add(&screen->history, &grouped, screen->by);
}

/* More lines at once, fewer after a while: the table is not to jump. */
static void settle_findings(struct top_screen *screen)
{
	int count = (int)screen->findings.count;

	if (count >= screen->finding_lines) {
		screen->finding_lines = count;
		screen->quiet_intervals = 0;
	} else if (++screen->quiet_intervals >= FINDINGS_CALM) {
		screen->finding_lines--;
		screen->quiet_intervals = 0;
	}
}

static int copy_blame(struct top_screen *screen, const struct interval *interval)
{
	if (array_reserve(&screen->blames, &screen->blame_room, interval->blame_count,
			  sizeof(*screen->blames)) < 0)
		return -ENOMEM;
	if (interval->blame_count)
		memcpy(screen->blames, interval->blames,
		       interval->blame_count * sizeof(*screen->blames));
	screen->blame_count = interval->blame_count;
	return 0;
}

static int count_reasons(struct top_screen *screen)
{
	const struct reason_marks *marks = &screen->reason_marks;

	if (array_reserve(&screen->reasons, &screen->reason_room, marks->count,
			  sizeof(*screen->reasons)) < 0)
		return -ENOMEM;
	screen->reason_count = reason_base_since(&screen->reason_base, marks, screen->reasons);
	return 0;
}

/* What comes is counted from when dwell began to keep it, which may be before the history began. */
static int copy_reasons(struct top_screen *screen, const struct interval *interval)
{
	const struct interval base = {.reasons = interval->base_reasons,
				      .reason_count = interval->base_reason_count};
	bool begins = !screen->history.identities.count;

	if ((interval->is_first && reason_marks_turn(&screen->reason_marks, &base) < 0) ||
	    reason_marks_turn(&screen->reason_marks, interval) < 0 ||
	    (begins && reason_base_begin(&screen->reason_base, &screen->reason_marks) < 0))
		return -ENOMEM;
	return count_reasons(screen);
}

int top_screen_update(struct top_screen *screen, const struct intervals *intervals,
		      const struct interval *interval)
{
	if (screen->frozen)
		return 0;
	if (array_reserve(&screen->threads, &screen->thread_room, interval->row_count,
			  sizeof(*screen->threads)) < 0 ||
	    copy_reasons(screen, interval) < 0)
		return -ENOMEM;
	if (interval->row_count)
		memcpy(screen->threads, interval->rows,
		       interval->row_count * sizeof(*screen->threads));
	screen->thread_count = interval->row_count;
	if (copy_blame(screen, interval) < 0 || findings_find(&screen->findings, interval) < 0)
		return -ENOMEM;
	settle_findings(screen);
	note_states(screen);
	note_most(screen, interval);
	screen->interval = *interval;
	screen->intervals = intervals;
	if (group(screen) < 0 || remember(screen) < 0)
		return -ENOMEM;
	return top_arrange(screen);
}

void top_screen_restart(struct top_screen *screen)
{
	history_clear(&screen->history);
	reason_marks_release(&screen->reason_marks);
}

static void draw_waiting(const struct top_screen *screen, struct canvas *canvas)
{
	const char *goes_on = canvas->ascii ? "..." : "…";
	char text[64];

	snprintf(text, sizeof(text), "measuring the first interval%s", goes_on);
	if (screen->options.replay)
		snprintf(text, sizeof(text), "reading the recording%s", goes_on);
	canvas_text(canvas, 0, 0, canvas->columns, ROLE_TITLE, "dwell top");
	canvas_text(canvas, TOP_HEADER_LINES, 2, canvas->columns, ROLE_NORMAL, text);
}

/* The first line shown, so that the selected one is on the screen. */
static void scroll(struct top_screen *screen, int count)
{
	size_t lines = count > 1 ? (size_t)count - 1 : 1, all = top_line_count(screen);

	if (screen->index < screen->offset)
		screen->offset = screen->index;
	if (screen->index >= screen->offset + lines)
		screen->offset = screen->index - lines + 1;
	if (screen->offset && screen->offset + lines > all)
		screen->offset = all > lines ? all - lines : 0;
}

static int finding_lines(const struct top_screen *screen, const struct canvas *canvas)
{
	int most = canvas->rows < FINDINGS_FROM	 ? 0
		   : canvas->rows < FINDINGS_ALL ? 1
						 : FINDINGS_MAX;

	return screen->finding_lines < most ? screen->finding_lines : most;
}

/* Lines of the inspector below the table: what the table leaves, and no less than it needs. */
static int inspector_lines(const struct top_screen *screen, const struct canvas *canvas, int lines)
{
	int spare = lines - 2 - (int)top_line_count(screen);

	if (canvas->rows < INSPECTOR_FROM || top_shows_losses(screen) || !top_selected(screen))
		return 0;
	return spare > INSPECTOR_LINES ? spare : INSPECTOR_LINES;
}

static void draw_body(struct top_screen *screen, struct canvas *canvas)
{
	int found = finding_lines(screen, canvas);
	int first = TOP_HEADER_LINES + found;
	int lines = canvas->rows - 1 - first;
	int inspector = inspector_lines(screen, canvas, lines);

	top_draw_header(screen, canvas);
	top_draw_findings(screen, canvas, TOP_HEADER_LINES, found);
	if (screen->full && top_selected(screen)) {
		screen->full_offset = top_draw_inspector(screen, canvas, first, lines);
		screen->page_lines = lines - 2; /* who it is, and that there is more */
		return;
	}
	screen->first_line = first + 1;
	screen->line_count = lines - inspector - 1;
	screen->page_lines = screen->line_count - 1;
	if (screen->line_count <= 0)
		return;
	scroll(screen, lines - inspector);
	if (screen->blame)
		top_draw_blame_table(screen, canvas, first, lines);
	else
		top_draw_table(screen, canvas, first, lines - inspector);
	if (inspector)
		top_draw_inspector(screen, canvas, first + lines - inspector, inspector);
}

static void draw_help(struct top_screen *screen, struct canvas *canvas)
{
	screen->help_offset = top_draw_help(screen, canvas);
	screen->page_lines = canvas->rows - 2;
}

void top_screen_draw(struct top_screen *screen, struct canvas *canvas)
{
	screen->line_count = 0;
	screen->heading_count = 0;
	if (screen->glyphs)
		memset(canvas->solid, 0, sizeof(canvas->solid));
	if (!screen->interval.session)
		draw_waiting(screen, canvas);
	else if (screen->help)
		draw_help(screen, canvas);
	else
		draw_body(screen, canvas);
	top_draw_hints(screen, canvas, canvas->rows - 1);
}

void top_screen_program(struct top_screen *screen, const char *line)
{
	snprintf(screen->program, sizeof(screen->program), "%s", line);
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

void top_screen_options(const struct top_screen *screen, struct top_screen_options *ret_options)
{
	*ret_options = screen->options;
	ret_options->by = screen->by;
	ret_options->tree = screen->tree;
	ret_options->sort = screen->sort;
	ret_options->reverse = screen->reverse;
	ret_options->interval_ns = screen->interval_ns;
	ret_options->hide_idle = screen->hide_idle;
	ret_options->all_columns = screen->all_columns;
	ret_options->glyphs = screen->glyphs;
}

void top_screen_message(struct top_screen *screen, const char *text)
{
	snprintf(screen->message, sizeof(screen->message), "%s", text);
}

static bool is_part(const struct row *row, const struct row *of, enum grouping by)
{
	return by == BY_CGROUP ? row->cgroup_id == of->cgroup_id : row->pid == of->pid;
}

/* What the row that was selected is part of now, or the first that is part of it. */
static void select_related(struct top_screen *screen, const struct row *before, enum grouping was)
{
	enum grouping by = was == BY_CGROUP || screen->by == BY_CGROUP ? BY_CGROUP : BY_PROCESS;

	for (size_t i = 0; i < screen->order_count; i++) {
		if (!is_part(screen->order[i].row, before, by))
			continue;
		screen->index = i;
		screen->has_selection = true;
		screen->selected = row_identity(screen->order[i].row, screen->by);
		return;
	}
	screen->follow = false;
}

int top_regroup(struct top_screen *screen, enum grouping was)
{
	const struct row *selected = top_selected(screen);
	struct row before = selected ? *selected : (struct row){0};
	bool had_selection = selected;

	history_clear(&screen->history);
	screen->has_selection = false;
	screen->index = screen->offset = 0;
	if (!screen->interval.session)
		return 0;
	if (reason_base_begin(&screen->reason_base, &screen->reason_marks) < 0 ||
	    count_reasons(screen) < 0 || group(screen) < 0 || remember(screen) < 0 ||
	    top_arrange(screen) < 0)
		return -ENOMEM;
	if (had_selection)
		select_related(screen, &before, was);
	return 0;
}
