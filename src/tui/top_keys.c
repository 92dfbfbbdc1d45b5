// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "tui/screen_base.h"
#include "tui/top_state.h"

#define ACTION(name) SCREEN_ACTION(struct top_screen, name)

static enum screen_request select_index(struct top_screen *screen, size_t index)
{
	size_t count = top_line_count(screen);

	if (screen->help || !count)
		return SCREEN_NOTHING;
	screen->index = index < count ? index : count - 1;
	if (top_shows_losses(screen))
		return SCREEN_SELECTED;
	screen->has_selection = screen->index < screen->order_count;
	if (screen->has_selection)
		screen->selected = row_identity(screen->order[screen->index].row, screen->by);
	return SCREEN_SELECTED;
}

/* Lines up, or down: of the help where that is shown. */
static enum screen_request move(struct top_screen *screen, int lines)
{
	if (screen->help) {
		screen->help_offset += lines;
		return SCREEN_REDRAW;
	}
	if (lines < 0 && screen->index < (size_t)-lines)
		return select_index(screen, 0);
	return select_index(screen, screen->index + (size_t)lines);
}

static int page(const struct top_screen *screen)
{
	return screen->page_lines > 1 ? screen->page_lines : 1;
}

ACTION(up)
{
	return move(screen, -1);
}

ACTION(down)
{
	return move(screen, 1);
}

/* Lines up, or down: of all about a row where that is shown. */
static enum screen_request scroll(struct top_screen *screen, int lines)
{
	if (!screen->full || screen->help)
		return move(screen, lines);
	screen->full_offset += lines;
	return SCREEN_REDRAW;
}

ACTION(page_up)
{
	return scroll(screen, -page(screen));
}

ACTION(page_down)
{
	return scroll(screen, page(screen));
}

static enum screen_request move_help(struct top_screen *screen, int offset)
{
	screen->help_offset = offset;
	return SCREEN_REDRAW;
}

ACTION(first)
{
	if (screen->help)
		return move_help(screen, 0);
	return select_index(screen, 0);
}

ACTION(last)
{
	if (screen->help)
		return move_help(screen, HELP_END);
	return select_index(screen, SIZE_MAX);
}

void top_leave_full(struct top_screen *screen)
{
	screen->full = false;
	if (screen->blame != BLAME_NONE)
		screen->index = screen->loss_index;
}

ACTION(inspect)
{
	const struct row *row = top_selected(screen);

	if (screen->full) {
		top_leave_full(screen);
		return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
	}
	screen->full_offset = 0;
	if (!top_shows_losses(screen)) {
		screen->full = true;
		return SCREEN_REDRAW;
	}
	if (!row) {
		if (screen->losses.count)
			top_screen_message(screen,
					   "it has ended, is not watched, or the filter hides it");
		return SCREEN_REDRAW;
	}
	screen->loss_index = screen->index;
	screen->selected = row_identity(row, screen->by);
	screen->has_selection = true;
	screen->full = true;
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_SELECTED;
}

ACTION(leave)
{
	if (screen->help)
		screen->help = false;
	else if (screen->full)
		top_leave_full(screen);
	else if (screen->blame && !*screen->filter)
		screen->blame = BLAME_NONE;
	else
		*screen->filter = '\0';
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

static enum screen_request ask(struct top_screen *screen, enum prompt prompt, const char *typed)
{
	screen->prompt = prompt;
	snprintf(screen->typed, sizeof(screen->typed), "%s", typed);
	return SCREEN_REDRAW;
}

ACTION(filter)
{
	return ask(screen, PROMPT_FILTER, screen->filter);
}

ACTION(search)
{
	screen->found_from = screen->index;
	return ask(screen, PROMPT_SEARCH, "");
}

/* From the line on, and round: the first that matches. */
static enum screen_request find_from(struct top_screen *screen, size_t from)
{
	size_t count = top_line_count(screen);

	for (size_t i = 0; *screen->search && i < count; i++) {
		size_t at = (from + i) % count;

		if (top_line_matches(screen, at, screen->search))
			return select_index(screen, at);
	}
	if (*screen->search)
		top_screen_message(screen, "nothing matches");
	return SCREEN_REDRAW;
}

ACTION(find_next)
{
	return find_from(screen, screen->index + 1);
}

ACTION(follow)
{
	screen->follow = !screen->follow;
	top_screen_message(screen, screen->follow ? "follows the selected row wherever it moves"
						  : "stays on the line");
	return SCREEN_REDRAW;
}

ACTION(blame)
{
	/* rows, who lost time, who cost it */
	screen->blame = screen->blame == BLAME_CAUSED ? BLAME_NONE : screen->blame + 1;
	screen->full = false;
	screen->index = screen->offset = 0;
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

ACTION(columns)
{
	screen->all_columns = screen->says_left_out = !screen->all_columns;
	return SCREEN_REDRAW;
}

ACTION(marks)
{
	screen->glyphs = !screen->glyphs;
	return SCREEN_REDRAW;
}

ACTION(save)
{
	return SCREEN_SAVE;
}

ACTION(interval)
{
	return ask(screen, PROMPT_INTERVAL, "");
}

ACTION(go_to)
{
	return ask(screen, PROMPT_TIME, "");
}

/* The next field that the present rows have, in the order of the table. */
static enum screen_request sort_step(struct top_screen *screen, int step)
{
	size_t at = (size_t)(screen->sort - fields);

	do
		at = (at + field_count + (size_t)step) % field_count;
	while (!field_orders(&fields[at], 1U << screen->by));
	screen->sort = &fields[at];
	screen->reverse = false;
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

ACTION(sort_next)
{
	return sort_step(screen, 1);
}

ACTION(sort_previous)
{
	return sort_step(screen, -1);
}

ACTION(sort_reverse)
{
	screen->reverse = !screen->reverse;
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

/* The columns people sort by most: active time, waiting for a CPU, its p99, disk, lock, user. */
ACTION(sort_common)
{
	static const char *const common[] = {"active", "runnable", "p99", "disk",
					     "lock",   "user",	   "tid"};
	size_t at = 0;

	while (at < ARRAY_SIZE(common) && strcmp(common[at], screen->sort->name) != 0)
		at++;
	do
		at = (at + 1) % ARRAY_SIZE(common);
	while (!field_applies(field_find(common[at]), 1U << screen->by));
	screen->sort = field_find(common[at]);
	screen->reverse = false;
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

ACTION(group)
{
	enum grouping was = screen->by;

	/* thread, process, tree, cgroup */
	if (screen->by == BY_PROCESS && !screen->tree) {
		screen->tree = true;
	} else {
		screen->tree = false;
		screen->by = (screen->by + 1) % GROUPINGS_COUNT;
	}
	return top_regroup(screen, was) < 0 ? SCREEN_QUIT : SCREEN_SELECTED;
}

ACTION(hide_idle)
{
	screen->hide_idle = !screen->hide_idle;
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

ACTION(freeze)
{
	screen->frozen = !screen->frozen;
	return screen->options.replay ? SCREEN_PAUSE : SCREEN_REDRAW;
}

ACTION(help)
{
	screen->help = !screen->help;
	return SCREEN_REDRAW;
}

ACTION(quit)
{
	return SCREEN_QUIT;
}

ACTION(forward)
{
	return SCREEN_FORWARD;
}

ACTION(back)
{
	return SCREEN_BACK;
}

ACTION(changes_process)
{
	top_screen_message(screen, CHANGES_NO_PROCESS);
	return SCREEN_REDRAW;
}

static const struct binding items[] = {
	{"Up Down", NULL, "select a line", KEY_KIND_UP, NULL, up, 0},
	{"", NULL, "", KEY_KIND_DOWN, NULL, down, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "k", up, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "j", down, 0},
	{"PgUp PgDn", NULL, "a page of rows, or of all about one", KEY_KIND_PAGE_UP, NULL, page_up,
	 0},
	{"", NULL, "", KEY_KIND_PAGE_DOWN, NULL, page_down, 0},
	{"Home End", NULL, "the first, the last row", KEY_KIND_HOME, NULL, first, 0},
	{"", NULL, "", KEY_KIND_END, NULL, last, 0},
	{"Enter", "inspect", "all about the selected row, or back", KEY_KIND_ENTER, NULL, inspect,
	 0},
	{"b", "blame", "who lost time because of whom; who cost whom; back", KEY_KIND_CHARACTER,
	 "b", blame, 0},
	{"s F6", "sort",
	 "sort by the next of active, runnable, p99, disk, lock, user, tid; or click a heading",
	 KEY_KIND_CHARACTER, "s", sort_common, 0},
	{"< >", NULL, "sort by the field before, or after, in the list of --sort",
	 KEY_KIND_CHARACTER, "<", sort_previous, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, ">", sort_next, 0},
	{"r", NULL, "sort the other way round", KEY_KIND_CHARACTER, "r", sort_reverse, 0},
	{"t F5", "group", "a row per thread, process, process in a tree, or cgroup",
	 KEY_KIND_CHARACTER, "t", group, 0},
	{"/ F3", "search", "go to a row whose name, cgroup or number matches", KEY_KIND_CHARACTER,
	 "/", search, 0},
	{"n", NULL, "go to the next that matches", KEY_KIND_CHARACTER, "n", find_next, 0},
	{"\\ F4", "filter", "only rows that match", KEY_KIND_CHARACTER, "\\", filter, 0},
	{"Esc", NULL, "leave help, inspector and blame, clear the filter", KEY_KIND_ESCAPE, NULL,
	 leave, 0},
	{"f", NULL, "follow the selected row wherever it moves, or stay on the line",
	 KEY_KIND_CHARACTER, "f", follow, 0},
	{"a", NULL, "show or hide idle threads", KEY_KIND_CHARACTER, "a", hide_idle, 0},
	{"z", NULL, "columns: those with time in them, or all", KEY_KIND_CHARACTER, "z", columns,
	 0},
	{"m", NULL, "bars of a mark for each state, or of colours", KEY_KIND_CHARACTER, "m", marks,
	 0},
	{"Space", "freeze", "freeze the screen, or go on; pauses a recording", KEY_KIND_CHARACTER,
	 " ", freeze, 0},
	{"i", NULL, "set the length of an interval; how fast a recording plays", KEY_KIND_CHARACTER,
	 "i", interval, 0},
	{"Right .", "step", "recording: the next interval", KEY_KIND_RIGHT, NULL, forward,
	 BINDING_REPLAY},
	{"", NULL, "", KEY_KIND_CHARACTER, ".", forward, BINDING_REPLAY},
	{"Left ,", NULL, "recording: the interval before", KEY_KIND_LEFT, NULL, back,
	 BINDING_REPLAY},
	{"", NULL, "", KEY_KIND_CHARACTER, ",", back, BINDING_REPLAY},
	{"g", "time", "recording: go to a time of day", KEY_KIND_CHARACTER, "g", go_to,
	 BINDING_REPLAY},
	{"W", NULL, "keep what you have chosen: grouping, order, columns, interval",
	 KEY_KIND_CHARACTER, "W", save, 0},
	{"", NULL, "", KEY_KIND_CHANGES_PROCESS, NULL, changes_process, 0},
	{"? h F1", "help", "this list, or back", KEY_KIND_CHARACTER, "?h", help,
	 BINDING_KEPT | BINDING_LAST},
	{"Ctrl-L", NULL, "draw the screen again, over what others have written there",
	 KEY_KIND_CHARACTER, "\f", screen_base_repaint, 0},
	{"q F10", "quit", "end", KEY_KIND_CHARACTER, "qQ\003", quit, BINDING_KEPT},
};

static const struct help_word words[] = {
	{"exact", "each switch and wakeup is counted; else: counters, or sampled"},
	{"verified", "`dwell verify` has passed on this machine, with this kernel"},
	{"lost N", "switches and ends of threads that the kernel did not report; the time around"},
	{"", "them is in the state before, or unknown, and sums stay whole"},
	{"stolen", "by the hypervisor, of the CPU time in which the machine was busy"},
	{"self", "CPU time of dwell, of one CPU"},
};

static const struct bindings bindings = {items, ARRAY_SIZE(items), words, ARRAY_SIZE(words)};

/* HH:MM or HH:MM:SS. */
static bool parse_time(const char *text, unsigned int *ret_seconds)
{
	unsigned int hours, minutes, seconds = 0;
	int end = 0;

	if (sscanf(text, "%2u:%2u%n:%2u%n", &hours, &minutes, &end, &seconds, &end) < 2 ||
	    text[end] || hours > 23 || minutes > 59 || seconds > 59)
		return false;
	*ret_seconds = (hours * 60 + minutes) * 60 + seconds;
	return true;
}

static enum screen_request answer(struct top_screen *screen)
{
	enum prompt prompt = screen->prompt;
	struct error error;
	uint64_t interval_ns;

	screen->prompt = PROMPT_NONE;
	switch (prompt) {
	case PROMPT_SEARCH:
		return find_from(screen, screen->index);
	case PROMPT_INTERVAL:
		if (duration_parse(screen->typed, &interval_ns, &error) < 0) {
			top_screen_message(screen, error.text);
			return SCREEN_REDRAW;
		}
		if (interval_ns < NS_PER_MS) {
			top_screen_message(screen, "an interval has at least 1ms");
			return SCREEN_REDRAW;
		}
		screen->interval_ns = interval_ns;
		return SCREEN_INTERVAL;
	case PROMPT_TIME:
		if (parse_time(screen->typed, &screen->seek_seconds))
			return SCREEN_SEEK;
		top_screen_message(screen, "a time reads 14:05 or 14:05:30");
		return SCREEN_REDRAW;
	default:
		return SCREEN_REDRAW;
	}
}

/* What applied while it was typed does not any more. */
static enum screen_request cancel(struct top_screen *screen)
{
	enum prompt prompt = screen->prompt;

	screen->prompt = PROMPT_NONE;
	*screen->message = '\0';
	if (prompt == PROMPT_SEARCH) {
		*screen->search = '\0';
		select_index(screen, screen->found_from);
		return SCREEN_SELECTED;
	}
	if (prompt == PROMPT_FILTER)
		*screen->filter = '\0';
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

/* The filter applies while it is typed. */
static enum screen_request type(struct top_screen *screen, struct key key)
{
	switch (typing_key(screen->typed, key)) {
	case TYPING_ACCEPTED:
		return answer(screen);
	case TYPING_CANCELLED:
		return cancel(screen);
	case TYPING_IGNORED:
		return SCREEN_NOTHING;
	case TYPING_CHANGED:
		break;
	}
	if (screen->prompt == PROMPT_SEARCH) {
		snprintf(screen->search, sizeof(screen->search), "%s", screen->typed);
		return find_from(screen, screen->index);
	}
	if (screen->prompt == PROMPT_FILTER) {
		snprintf(screen->filter, sizeof(screen->filter), "%s", screen->typed);
		if (top_arrange(screen) < 0)
			return SCREEN_QUIT;
	}
	return SCREEN_REDRAW;
}

/* Sorts by it; the other way round if it is that already. */
static enum screen_request click_heading(struct top_screen *screen, int column)
{
	for (size_t i = 0; i < screen->heading_count; i++) {
		const struct heading *heading = &screen->headings[i];

		if (column < heading->from || column >= heading->to)
			continue;
		screen->reverse = screen->sort == heading->field && !screen->reverse;
		screen->sort = heading->field;
		return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
	}
	return SCREEN_NOTHING;
}

static enum screen_request click(struct top_screen *screen, struct key key)
{
	int line = key.row - screen->first_line;

	if (key.row == screen->hints.row && screen->hints.count)
		return hints_click(&screen->hints, screen, key);
	if (line == -1)
		return click_heading(screen, key.column);
	if (line < 0 || line >= screen->line_count ||
	    screen->offset + (size_t)line >= top_line_count(screen))
		return SCREEN_NOTHING;
	return select_index(screen, screen->offset + (size_t)line);
}

enum screen_request top_screen_key(struct top_screen *screen, struct key key)
{
	*screen->message = '\0';
	if (screen->prompt)
		return type(screen, key);
	switch (key.kind) {
	case KEY_KIND_CLICK:
		return click(screen, key);
	case KEY_KIND_WHEEL_UP:
		return scroll(screen, -3);
	case KEY_KIND_WHEEL_DOWN:
		return scroll(screen, 3);
	default:
		break;
	}
	return bindings_act(&bindings, screen, key, screen->options.replay, screen->options.keymap);
}

void top_draw_hints(struct top_screen *screen, struct canvas *canvas, int row)
{
	static const char *const questions[] = {
		[PROMPT_NONE] = NULL,
		[PROMPT_FILTER] = "filter: ",
		[PROMPT_SEARCH] = "search: ",
		[PROMPT_INTERVAL] = "interval (as 500ms, 2s): ",
		[PROMPT_TIME] = "go to (HH:MM:SS): ",
	};
	struct last_line line = {.question = questions[screen->prompt],
				 .typed = screen->typed,
				 .message = screen->message,
				 .role = *screen->filter ? ROLE_WARNING : ROLE_NORMAL,
				 .replay = screen->options.replay};
	char chosen[96];

	if (screen->options.replay && screen->prompt == PROMPT_INTERVAL)
		line.question = "an interval every (as 500ms, 2s): ";
	if (*screen->filter)
		snprintf(chosen, sizeof(chosen), "filter: %s", screen->filter);
	else
		snprintf(chosen, sizeof(chosen), "%s%s%s%s",
			 screen->follow ? "following, by " : "by ", screen->sort->name,
			 screen->reverse ? " (reversed)" : "",
			 screen->hide_idle ? ", no idle" : "");
	/* until the next key, in place of the hints */
	if (screen->says_left_out && screen->columns_left_out)
		snprintf(screen->message, sizeof(screen->message),
			 "%d more column%s in a wider terminal", screen->columns_left_out,
			 text_plural((uint64_t)screen->columns_left_out));
	screen->says_left_out = false;
	line.chosen = chosen;
	last_line_draw(&bindings, canvas, row, &line, &screen->hints);
}

int top_draw_help(const struct top_screen *screen, struct canvas *canvas)
{
	return help_draw(&bindings, canvas, screen->options.replay, screen->help_offset);
}
