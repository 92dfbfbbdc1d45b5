// SPDX-License-Identifier: GPL-2.0-or-later
#include <limits.h>
#include <string.h>

#include "base/duration.h"
#include "tui/blocked_state.h"

#define ACTION(name) SCREEN_ACTION(struct blocked_screen, name)

/* Of the timeline. */
#define SPAN_MIN_NS (NS_PER_S)
#define SPAN_MAX_NS (3600 * NS_PER_S)

/* What the cursor is in: the selected row, and how many there are. */
static size_t *selection(struct blocked_screen *screen, size_t *ret_count)
{
	if (screen->focus == FOCUS_WORKERS) {
		*ret_count = screen->worker_count;
		return &screen->worker;
	}
	*ret_count = screen->shows_tasks ? screen->task_order_count : screen->order_count;
	return screen->shows_tasks ? &screen->task : &screen->hotspot;
}

static enum screen_request select_index(struct blocked_screen *screen, size_t index)
{
	size_t count, *selected = selection(screen, &count);

	if (!count)
		return SCREEN_NOTHING;
	if (index >= count)
		index = count - 1;
	screen->detail_offset = 0;
	*selected = index;
	if (selected == &screen->hotspot) {
		screen->chosen = *screen->order[index];
		screen->selected = true;
	}
	return SCREEN_REDRAW;
}

/* In the lists the selection moves, in the details the text. */
static enum screen_request move(struct blocked_screen *screen, int by)
{
	size_t count, at = *selection(screen, &count);
	int last = screen->detail_lines - screen->detail_room;

	if (screen->base.help) {
		screen->base.help_offset += by;
		return SCREEN_REDRAW;
	}
	if (screen->detail) {
		int offset = (int)screen->detail_offset + by;

		offset = offset > last ? last : offset;
		screen->detail_offset = offset > 0 ? (size_t)offset : 0;
		return SCREEN_REDRAW;
	}
	return select_index(screen, by < 0 && at < (size_t)-by ? 0 : at + (size_t)by);
}

static int page(const struct blocked_screen *screen)
{
	int lines = screen->detail		      ? screen->detail_room
		    : screen->focus == FOCUS_HOTSPOTS ? screen->hotspot_lines
						      : screen->worker_lines;

	if (screen->base.help)
		return screen->base.help_page;
	return lines > 1 ? lines - 1 : 1;
}

ACTION(up)
{
	return move(screen, -1);
}

ACTION(down)
{
	return move(screen, 1);
}

ACTION(page_up)
{
	return move(screen, -page(screen));
}

ACTION(page_down)
{
	return move(screen, page(screen));
}

ACTION(first)
{
	if (screen->base.help)
		return screen_base_move_help(&screen->base, 0);
	screen->detail_offset = 0;
	return screen->detail ? SCREEN_REDRAW : select_index(screen, 0);
}

ACTION(last)
{
	if (screen->base.help)
		return screen_base_move_help(&screen->base, HELP_END);
	return screen->detail ? move(screen, screen->detail_lines) : select_index(screen, SIZE_MAX);
}

ACTION(other_list)
{
	screen->focus = screen->focus == FOCUS_HOTSPOTS ? FOCUS_WORKERS : FOCUS_HOTSPOTS;
	screen->detail_offset = 0;
	return SCREEN_REDRAW;
}

static enum screen_request arranged(struct blocked_screen *screen)
{
	return blocked_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

/* What is frozen are sums of one grouping: another one needs the figures of now. */
static enum screen_request regrouped(struct blocked_screen *screen, enum hotspot_grouping by)
{
	screen->by = by;
	screen->shows_tasks = screen->selected = false;
	screen->hotspot = screen->hotspot_offset = 0;
	screen->frozen = false;
	screen->back_ns = screen->options.replay ? screen->back_ns : 0;
	return blocked_screen_update(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

/* From a type of task to its stalls. */
static enum screen_request show_stalls(struct blocked_screen *screen)
{
	const char *why = blocked_search_task(screen);

	if (why) {
		blocked_screen_message(screen, why);
		return SCREEN_REDRAW;
	}
	/* a function may stall in tasks of several types: its row has one of them */
	return regrouped(screen, HOTSPOTS_BY_TASK);
}

ACTION(inspect)
{
	if (screen->shows_tasks && screen->focus == FOCUS_HOTSPOTS)
		return show_stalls(screen);
	if (!screen->detail && !blocked_selected(screen) && screen->focus == FOCUS_HOTSPOTS) {
		screen_base_message(&screen->base, "no stall is selected; Tab goes to the workers");
		return SCREEN_REDRAW;
	}
	screen->detail = !screen->detail;
	screen->detail_offset = 0;
	return SCREEN_REDRAW;
}

ACTION(clear_filter)
{
	*screen->base.filter = '\0';
	return arranged(screen);
}

ACTION(leave)
{
	if (screen->base.help)
		screen->base.help = false;
	else if (screen->detail)
		screen->detail = false;
	else
		return do_clear_filter(screen, character);
	return SCREEN_REDRAW;
}

ACTION(filter)
{
	screen->base.typing = true;
	screen->detail = false;
	screen->focus = FOCUS_HOTSPOTS;
	snprintf(screen->base.typed, sizeof(screen->base.typed), "%s", screen->base.filter);
	return SCREEN_REDRAW;
}

/* An event loop has no tasks. */
static bool has_types(const struct blocked_screen *screen)
{
	for (size_t i = 0; i < screen->hotspot_count; i++)
		if (stalls_frame(screen->options.stalls, screen->hotspots[i].type))
			return true;
	return false;
}

ACTION(group)
{
	enum hotspot_grouping next = screen->by + 1;

	if (screen->shows_tasks)
		return regrouped(screen, HOTSPOTS_BY_FUNCTION);
	if (next == HOTSPOTS_BY_TASK && !has_types(screen))
		next++;
	/* all types of tasks are behind the stalls by type, where polls are probed */
	if (next == HOTSPOT_GROUPINGS_COUNT && (screen->has_tasks || screen->runtime.probes)) {
		screen->shows_tasks = true;
		screen->detail = false;
		screen->task = screen->task_offset = 0;
		return SCREEN_REDRAW;
	}
	return regrouped(screen, next % HOTSPOT_GROUPINGS_COUNT);
}

ACTION(freeze)
{
	screen->frozen = !screen->frozen;
	if (!screen->frozen)
		screen->back_ns = 0;
	return blocked_screen_update(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

static void keep_in_sight(struct blocked_screen *screen)
{
	uint64_t start_ns = timeline_start_ns(screen->timeline);
	uint64_t known_ns = screen->end_ns > start_ns ? screen->end_ns - start_ns : 0;
	uint64_t most_ns = known_ns > screen->span_ns ? known_ns - screen->span_ns : 0;

	if (screen->back_ns > most_ns)
		screen->back_ns = most_ns;
}

ACTION(closer)
{
	if (screen->span_ns / 2 >= SPAN_MIN_NS)
		screen->span_ns /= 2;
	return SCREEN_REDRAW;
}

ACTION(wider)
{
	if (screen->span_ns * 2 <= SPAN_MAX_NS)
		screen->span_ns *= 2;
	keep_in_sight(screen);
	return SCREEN_REDRAW;
}

/* So that its right end is at a mark. */
static uint64_t axis_step_ns(const struct blocked_screen *screen)
{
	return blocked_axis_step_ns(screen->span_ns, INT_MAX);
}

/* Looking back stops the screen: what one looks at should not run away. */
ACTION(back)
{
	screen->back_ns += axis_step_ns(screen);
	keep_in_sight(screen);
	screen->frozen |= !screen->options.replay && screen->back_ns;
	return SCREEN_REDRAW;
}

ACTION(forward)
{
	uint64_t step_ns = axis_step_ns(screen);

	screen->back_ns -= screen->back_ns < step_ns ? screen->back_ns : step_ns;
	return SCREEN_REDRAW;
}

static const struct binding items[] = {
	{"Up Down", "select", "select a row, or scroll what is shown of it", KEY_KIND_UP, NULL, up,
	 0},
	{"", NULL, "", KEY_KIND_DOWN, NULL, down, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "k", up, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "j", down, 0},
	{"PgUp PgDn", NULL, "a page", KEY_KIND_PAGE_UP, NULL, page_up, 0},
	{"", NULL, "", KEY_KIND_PAGE_DOWN, NULL, page_down, 0},
	{"Home End", NULL, "the first, the last row", KEY_KIND_HOME, NULL, first, 0},
	{"", NULL, "", KEY_KIND_END, NULL, last, 0},
	{"Tab", "list", "from the hotspots or tasks to the workers, or back", KEY_KIND_CHARACTER,
	 "\t", other_list, 0},
	{"Enter", "stack",
	 "all about the selected row, with its stack, or back; of a type of task, its stalls",
	 KEY_KIND_ENTER, NULL, inspect, 0},
	{"/", "search",
	 "only hotspots with this in their name, cause, task or stack, or tasks with it",
	 KEY_KIND_CHARACTER, "/", filter, 0},
	{"c", NULL, "clear the search", KEY_KIND_CHARACTER, "c", clear_filter, 0},
	{"Esc", NULL, "leave help and details, clear the search", KEY_KIND_ESCAPE, NULL, leave, 0},
	{"g", "group", "hotspots by function, file or task; then all types of tasks",
	 KEY_KIND_CHARACTER, "g", group, 0},
	{"+ -", "zoom", "zoom the timeline in or out", KEY_KIND_CHARACTER, "+=", closer, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "-_", wider, 0},
	{"Left Right", NULL, "the timeline: back in time, or on", KEY_KIND_LEFT, NULL, back, 0},
	{"", NULL, "", KEY_KIND_RIGHT, NULL, forward, 0},
	{"y", "copy", "the selected stack to the clipboard, through the terminal",
	 KEY_KIND_CHARACTER, "y", screen_base_yank, 0},
	{"Space", "freeze", "freeze the screen, or go on", KEY_KIND_CHARACTER, " ", freeze, 0},
	{"", NULL, "", KEY_KIND_CHANGES_PROCESS, NULL, screen_base_changes_process, 0},
	{"? h F1", "help", "this list, or back", KEY_KIND_CHARACTER, "?h", screen_base_help,
	 BINDING_KEPT | BINDING_LAST},
	{"Ctrl-L", NULL, "draw the screen again, over what others have written there",
	 KEY_KIND_CHARACTER, "\f", screen_base_repaint, 0},
	{"q F10", "quit", "end", KEY_KIND_CHARACTER, "qQ\003", screen_base_quit, BINDING_KEPT},
};

static const struct help_word words[] = {
	{"> 5.0ms", "what is shorter is no stall: --threshold"},
	{"lost N", "stalls, stacks and workers that found no room"},
	{"symbolized", "frames of stacks that have a name"},
	{"pool", "threads that may block: they are not workers"},
};

static const struct bindings bindings = {items, ARRAY_SIZE(items), words, ARRAY_SIZE(words)};

static enum screen_request click(void *of, struct key key)
{
	struct blocked_screen *screen = of;
	int line = key.row - screen->hotspot_line;

	if (screen->detail || screen->base.help)
		return SCREEN_NOTHING;
	if (line >= 0 && line < screen->hotspot_lines) {
		screen->focus = FOCUS_HOTSPOTS;
		return select_index(screen, screen->hotspot_offset + (size_t)line);
	}
	line = key.row - screen->worker_line;
	if (line >= 0 && line < screen->worker_lines) {
		screen->focus = FOCUS_WORKERS;
		return select_index(screen, screen->worker_offset + (size_t)line);
	}
	return SCREEN_NOTHING;
}

static enum screen_request search_changed(void *screen)
{
	return arranged(screen);
}

static enum screen_request wheel(void *screen, int by)
{
	return move(screen, by);
}

const struct screen_keys blocked_keys = {
	.bindings = &bindings, .search = search_changed, .click = click, .move = wheel};

enum screen_request blocked_screen_key(struct blocked_screen *screen, struct key key)
{
	return screen_base_key(&screen->base, &blocked_keys, key);
}
