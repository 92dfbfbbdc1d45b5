// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/top_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"

#define ACTION(name)                                                                               \
	static enum screen_request name(__attribute__((unused)) struct top_screen *screen,         \
					__attribute__((unused)) uint32_t character)

static enum screen_request select_index(struct top_screen *screen, size_t index)
{
	if (!screen->order_count)
		return SCREEN_NOTHING;
	screen->index = index < screen->order_count ? index : screen->order_count - 1;
	screen->selected = row_identity(screen->order[screen->index].row, screen->by);
	screen->has_selection = true;
	return SCREEN_SELECTED;
}

static size_t page(const struct top_screen *screen)
{
	return screen->line_count > 1 ? (size_t)screen->line_count - 1 : 1;
}

ACTION(up)
{
	return select_index(screen, screen->index ? screen->index - 1 : 0);
}

ACTION(down)
{
	return select_index(screen, screen->index + 1);
}

ACTION(page_up)
{
	return select_index(screen,
			    screen->index > page(screen) ? screen->index - page(screen) : 0);
}

ACTION(page_down)
{
	return select_index(screen, screen->index + page(screen));
}

ACTION(first)
{
	return select_index(screen, 0);
}

ACTION(last)
{
	return select_index(screen, SIZE_MAX);
}

ACTION(inspect)
{
	screen->full = !screen->full;
	return SCREEN_REDRAW;
}

ACTION(leave)
{
	if (screen->help)
		screen->help = false;
	else if (screen->full)
		screen->full = false;
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
	while (!field_applies(&fields[at], screen->by));
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
	while (!field_applies(field_find(common[at]), screen->by));
	screen->sort = field_find(common[at]);
	screen->reverse = false;
	return top_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

ACTION(group)
{
	screen->by = (screen->by + 1) % GROUPINGS_COUNT;
	return top_regroup(screen) < 0 ? SCREEN_QUIT : SCREEN_SELECTED;
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

const struct binding bindings[] = {
	{"Up Down", "select", "select a row; it stays selected wherever it moves", KEY_KIND_UP,
	 NULL, up, false},
	{"", NULL, "", KEY_KIND_DOWN, NULL, down, false},
	{"", NULL, "", KEY_KIND_CHARACTER, "k", up, false},
	{"", NULL, "", KEY_KIND_CHARACTER, "j", down, false},
	{"PgUp PgDn", NULL, "a page of rows", KEY_KIND_PAGE_UP, NULL, page_up, false},
	{"", NULL, "", KEY_KIND_PAGE_DOWN, NULL, page_down, false},
	{"Home End", NULL, "the first, the last row", KEY_KIND_HOME, NULL, first, false},
	{"", NULL, "", KEY_KIND_END, NULL, last, false},
	{"Enter", "inspect", "all about the selected row, or back", KEY_KIND_ENTER, NULL, inspect,
	 false},
	{"/", "filter", "only rows whose name, cgroup or number matches", KEY_KIND_CHARACTER, "/",
	 filter, false},
	{"Esc", NULL, "leave help and inspector, clear the filter", KEY_KIND_ESCAPE, NULL, leave,
	 false},
	{"s", "sort", "sort by the next of active, runnable, p99, disk, lock, user, tid",
	 KEY_KIND_CHARACTER, "s", sort_common, false},
	{"< >", NULL, "sort by the field before, or after, in the list of --sort",
	 KEY_KIND_CHARACTER, "<", sort_previous, false},
	{"", NULL, "", KEY_KIND_CHARACTER, ">", sort_next, false},
	{"r", NULL, "sort the other way round", KEY_KIND_CHARACTER, "r", sort_reverse, false},
	{"t", "group", "a row per thread, process or cgroup", KEY_KIND_CHARACTER, "t", group,
	 false},
	{"a", NULL, "hide, or show, what did nothing but wait", KEY_KIND_CHARACTER, "a", hide_idle,
	 false},
	{"Space", "freeze", "freeze the screen, or go on; pauses a recording", KEY_KIND_CHARACTER,
	 " ", freeze, false},
	{"i", NULL, "set the length of an interval", KEY_KIND_CHARACTER, "i", interval, false},
	{"Right .", "step", "recording: the next interval", KEY_KIND_RIGHT, NULL, forward, true},
	{"", NULL, "", KEY_KIND_CHARACTER, ".", forward, true},
	{"Left ,", NULL, "recording: the interval before", KEY_KIND_LEFT, NULL, back, true},
	{"", NULL, "", KEY_KIND_CHARACTER, ",", back, true},
	{"g", "time", "recording: go to a time of day", KEY_KIND_CHARACTER, "g", go_to, true},
	{"? h", "help", "this list, or back", KEY_KIND_CHARACTER, "?h", help, false},
	{"q", "quit", "end", KEY_KIND_CHARACTER, "qQ\003", quit, false},
};

const size_t binding_count = ARRAY_SIZE(bindings);

static bool matches(const struct binding *binding, struct key key)
{
	if (binding->kind != key.kind)
		return false;
	if (key.kind != KEY_KIND_CHARACTER)
		return true;
	return key.character && key.character < 0x80 &&
	       strchr(binding->characters, (int)key.character);
}

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

/* The filter applies while it is typed. */
static enum screen_request type(struct top_screen *screen, struct key key)
{
	size_t length = strlen(screen->typed);
	char bytes[4];

	switch (key.kind) {
	case KEY_KIND_ENTER:
		return answer(screen);
	case KEY_KIND_ESCAPE:
		screen->prompt = PROMPT_NONE;
		return SCREEN_REDRAW;
	case KEY_KIND_BACKSPACE:
		while (length && ((unsigned char)screen->typed[--length] & 0xc0) == 0x80)
			;
		screen->typed[length] = '\0';
		break;
	case KEY_KIND_CHARACTER:
		if (key.character >= 0x20 && length + 4 < sizeof(screen->typed)) {
			size_t count = text_encode(bytes, key.character);

			memcpy(screen->typed + length, bytes, count);
			screen->typed[length + count] = '\0';
		}
		break;
	default:
		return SCREEN_NOTHING;
	}
	if (screen->prompt == PROMPT_FILTER) {
		snprintf(screen->filter, sizeof(screen->filter), "%s", screen->typed);
		if (top_arrange(screen) < 0)
			return SCREEN_QUIT;
	}
	return SCREEN_REDRAW;
}

static enum screen_request click(struct top_screen *screen, struct key key)
{
	int line = key.row - screen->first_line;

	if (line < 0 || line >= screen->line_count ||
	    screen->offset + (size_t)line >= screen->order_count)
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
		return select_index(screen, screen->index > 3 ? screen->index - 3 : 0);
	case KEY_KIND_WHEEL_DOWN:
		return select_index(screen, screen->index + 3);
	default:
		break;
	}
	for (size_t i = 0; i < binding_count; i++)
		if (matches(&bindings[i], key) && (!bindings[i].replay || screen->options.replay))
			return bindings[i].act(screen, key.character);
	return SCREEN_NOTHING;
}

static void draw_prompt(const struct top_screen *screen, struct canvas *canvas, int row)
{
	static const char *const questions[] = {
		[PROMPT_NONE] = "",
		[PROMPT_FILTER] = "filter: ",
		[PROMPT_INTERVAL] = "interval (as 500ms, 2s): ",
		[PROMPT_TIME] = "go to (HH:MM:SS): ",
	};
	int at = canvas_text(canvas, row, 0, canvas->columns, ROLE_KEY, questions[screen->prompt]);

	at += canvas_text(canvas, row, at, canvas->columns, ROLE_NORMAL, screen->typed);
	canvas_put(canvas, row, at, ROLE_TITLE, '_', '_');
}

void top_draw_hints(const struct top_screen *screen, struct canvas *canvas, int row)
{
	char chosen[96];
	int at = 0, width;

	for (int i = 0; i < canvas->columns; i++)
		canvas_put(canvas, row, i, ROLE_NORMAL, ' ', ' ');
	if (screen->prompt) {
		draw_prompt(screen, canvas, row);
		return;
	}
	if (*screen->message) {
		canvas_text(canvas, row, 0, canvas->columns, ROLE_WARNING, screen->message);
		return;
	}
	for (size_t i = 0; i < binding_count; i++) {
		if (!bindings[i].hint || (bindings[i].replay && !screen->options.replay))
			continue;
		at += canvas_text(canvas, row, at, canvas->columns, ROLE_KEY, bindings[i].keys);
		at += 1 +
		      canvas_text(canvas, row, at + 1, canvas->columns, ROLE_DIM, bindings[i].hint);
		at += 2;
	}
	if (*screen->filter)
		snprintf(chosen, sizeof(chosen), "  filter: %s", screen->filter);
	else
		snprintf(chosen, sizeof(chosen), "  by %s%s", screen->sort->name,
			 screen->reverse ? " (reversed)" : "");
	width = (int)strlen(chosen);
	if (at > canvas->columns - width)
		at = canvas->columns > width ? canvas->columns - width : 0;
	canvas_text(canvas, row, at, canvas->columns, *screen->filter ? ROLE_WARNING : ROLE_NORMAL,
		    chosen);
}

void top_draw_help(const struct top_screen *screen, struct canvas *canvas)
{
	int row = 0;

	canvas_text(canvas, row++, 0, canvas->columns, ROLE_TITLE, "Keys");
	for (size_t i = 0; i < binding_count; i++) {
		if (!*bindings[i].keys || (bindings[i].replay && !screen->options.replay))
			continue;
		canvas_text(canvas, row, 2, 10, ROLE_KEY, bindings[i].keys);
		canvas_text(canvas, row++, 13, canvas->columns, ROLE_NORMAL, bindings[i].help);
	}
	/* beside the keys where there is room, else below as far as it goes */
	int column = canvas->columns >= 150 ? 84 : 0;

	if (column)
		row = 0;
	else
		row++;
	canvas_text(canvas, row++, column, canvas->columns, ROLE_TITLE, "States");
	for (int i = 0; i < STATES && row < canvas->rows - 1; i++, row++) {
		canvas_put(canvas, row, column + 2, (enum role)(ROLE_STATE + i),
			   state_sign((enum state)i, false), (char)state_sign((enum state)i, true));
		canvas_text(canvas, row, column + 4, 10, (enum role)(ROLE_STATE + i),
			    state_info[i].key);
		canvas_text(canvas, row, column + 13, canvas->columns, ROLE_NORMAL,
			    state_info[i].help);
	}
}
