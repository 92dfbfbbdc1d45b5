// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tui/profile_state.h"

#define ACTION(name) SCREEN_ACTION(struct profile_screen, name)

static const struct flame *flame_of(const struct profile_screen *screen, size_t box)
{
	return &screen->flames.items[screen->boxes[box].flame];
}

/* The box of the selected flame, or how many there are. */
static size_t selected_box(const struct profile_screen *screen)
{
	size_t i = 0;

	while (i < screen->box_count && flame_of(screen, i)->key != screen->selected)
		i++;
	return i;
}

static enum screen_request select_box(struct profile_screen *screen, size_t box)
{
	if (box >= screen->box_count)
		return SCREEN_NOTHING;
	screen->selected = flame_of(screen, box)->key;
	return SCREEN_REDRAW;
}

static enum screen_request select_row(struct profile_screen *screen, size_t row)
{
	if (!screen->order_count)
		return SCREEN_NOTHING;
	screen->row = row < screen->order_count ? row : screen->order_count - 1;
	return SCREEN_REDRAW;
}

/* To the caller, or to the largest of what it calls that is drawn. */
static enum screen_request move_deeper(struct profile_screen *screen, bool deeper)
{
	size_t at = selected_box(screen), wanted;

	if (at == screen->box_count)
		return SCREEN_NOTHING;
	wanted = screen->boxes[at].flame;
	for (size_t i = 0; i < screen->box_count; i++)
		if (deeper ? flame_of(screen, i)->parent == wanted
			   : screen->boxes[i].flame == flame_of(screen, at)->parent)
			return select_box(screen, i);
	return SCREEN_NOTHING;
}

/* To the one beside it, at the same depth. */
static enum screen_request move_beside(struct profile_screen *screen, int by)
{
	size_t at = selected_box(screen), next = at + (size_t)by;

	if (at == screen->box_count || next >= screen->box_count ||
	    flame_of(screen, next)->depth != flame_of(screen, at)->depth)
		return SCREEN_NOTHING;
	return select_box(screen, next);
}

static enum screen_request move(struct profile_screen *screen, int by)
{
	enum screen_request request = SCREEN_NOTHING;

	if (screen->base.help) {
		screen->base.help_offset += by;
		return SCREEN_REDRAW;
	}
	if (screen->page != PROFILE_FLAMES)
		return select_row(
			screen, by < 0 && screen->row < (size_t)-by ? 0 : screen->row + (size_t)by);
	for (; by; by += by < 0 ? 1 : -1)
		if (move_deeper(screen, by > 0) == SCREEN_REDRAW)
			request = SCREEN_REDRAW;
	return request;
}

static int page(const struct profile_screen *screen)
{
	if (screen->base.help)
		return screen->base.help_page;
	return screen->line_count > 1 ? screen->line_count - 1 : 1;
}

ACTION(up)
{
	return move(screen, -1);
}

ACTION(down)
{
	return move(screen, 1);
}

ACTION(left)
{
	return screen->page == PROFILE_FLAMES ? move_beside(screen, -1) : SCREEN_NOTHING;
}

ACTION(right)
{
	return screen->page == PROFILE_FLAMES ? move_beside(screen, 1) : SCREEN_NOTHING;
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
	if (screen->page != PROFILE_FLAMES)
		return select_row(screen, 0);
	screen->selected = 0; /* the root */
	return SCREEN_REDRAW;
}

/* In the flame graph the way of the most time, to its end. */
ACTION(last)
{
	if (screen->base.help)
		return screen_base_move_help(&screen->base, HELP_END);
	return screen->page == PROFILE_FLAMES ? move(screen, PROFILE_FRAMES_MAX)
					      : select_row(screen, SIZE_MAX);
}

static enum screen_request arranged(struct profile_screen *screen)
{
	return profile_arrange(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

/* What is frozen are sums of what was chosen: another choice needs the figures of now. */
static enum screen_request chosen(struct profile_screen *screen)
{
	screen->frozen = false;
	screen->row = screen->row_offset = 0;
	return profile_screen_update(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

ACTION(other_page)
{
	screen->page = (screen->page + 1) % PROFILE_PAGES;
	screen->row = screen->row_offset = 0;
	return arranged(screen);
}

static enum screen_request open_row(struct profile_screen *screen)
{
	const struct frame *frame;
	size_t index;

	if (screen->row >= screen->order_count)
		return SCREEN_NOTHING;
	index = screen->order[screen->row];
	if (screen->page == PROFILE_THREADS) {
		screen->choice.time.thread = (uint32_t)index + 1;
	} else {
		frame = stacks_frame(profile_stacks(screen->result->profile),
				     screen->spots[index].frame);
		if (!frame)
			return SCREEN_NOTHING;
		screen->choice.has_focus = true;
		screen->choice.focus = profile_name_key(frame, screen->by);
		screen->choice.focus_by = screen->by;
		profile_spot_name(screen, &screen->spots[index], screen->focus);
	}
	screen->page = PROFILE_FLAMES;
	screen->zoom = screen->selected = 0;
	return chosen(screen);
}

ACTION(enter)
{
	const struct flame *selected = profile_selected(screen);

	if (screen->page != PROFILE_FLAMES)
		return open_row(screen);
	if (!selected)
		return SCREEN_NOTHING;
	screen->selected = selected->key;
	screen->zoom = selected->kind == FLAME_ALL ? 0 : selected->key;
	return SCREEN_REDRAW;
}

/* To the caller of what is zoomed to. */
ACTION(out)
{
	const struct flame *zoomed;

	if (screen->page != PROFILE_FLAMES || !screen->zoom || !screen->flames.count)
		return SCREEN_NOTHING;
	zoomed = &screen->flames.items[profile_zoomed(screen)];
	screen->zoom = zoomed->depth <= 1 ? 0 : screen->flames.items[zoomed->parent].key;
	return SCREEN_REDRAW;
}

ACTION(clear_search)
{
	*screen->base.filter = '\0';
	return arranged(screen);
}

/* One thing at a time: what was chosen in the graph before what the graph is of. */
ACTION(leave)
{
	if (screen->base.help) {
		screen->base.help = false;
		return SCREEN_REDRAW;
	}
	if (screen->page != PROFILE_FLAMES && !*screen->base.filter) {
		screen->page = PROFILE_FLAMES;
		return arranged(screen);
	}
	if (screen->zoom) {
		screen->zoom = 0;
		return SCREEN_REDRAW;
	}
	if (*screen->base.filter)
		return do_clear_search(screen, character);
	if (screen->choice.has_focus)
		screen->choice.has_focus = false;
	else if (screen->choice.time.thread)
		screen->choice.time.thread = 0;
	else
		screen->choice.time.states = screen->states;
	return chosen(screen);
}

ACTION(search)
{
	screen->base.typing = true;
	snprintf(screen->base.typed, sizeof(screen->base.typed), "%s", screen->base.filter);
	return SCREEN_REDRAW;
}

/* Of what is drawn, from the selected one on. */
static enum screen_request next_found(struct profile_screen *screen, int by)
{
	size_t at = selected_box(screen), count = screen->box_count;

	if (screen->page != PROFILE_FLAMES)
		return move(screen, by);
	for (size_t i = 1; i <= count; i++) {
		size_t box = (at + (by > 0 ? i : count - i)) % count;

		if (profile_finds_flame(screen, flame_of(screen, box)))
			return select_box(screen, box);
	}
	profile_screen_message(screen, *screen->base.filter ? "nothing that is drawn has this name"
							    : "search first: /");
	return SCREEN_REDRAW;
}

ACTION(next)
{
	return next_found(screen, 1);
}

ACTION(previous)
{
	return next_found(screen, -1);
}

/* All, then each that has time, in the order of the columns. */
ACTION(state)
{
	int at = -1;

	if (screen->choice.time.states != screen->states)
		while (!(screen->choice.time.states & 1U << state_columns[++at]))
			;
	for (at++; at < STATES; at++) {
		enum state state = state_columns[at];
		uint64_t ns = 0;

		for (size_t i = 0; i < screen->thread_count; i++)
			ns += screen->threads[i].states_ns[state];
		if (ns && screen->states & 1U << state)
			break;
	}
	screen->choice.time.states = at < STATES ? 1U << state_columns[at] : screen->states;
	return chosen(screen);
}

ACTION(threads)
{
	screen->page = PROFILE_THREADS;
	screen->row = screen->row_offset = 0;
	return arranged(screen);
}

ACTION(root)
{
	screen->choice.root = (screen->choice.root + 1) % PROFILE_ROOTS_COUNT;
	screen->zoom = screen->selected = 0;
	screen->page = PROFILE_FLAMES;
	return arranged(screen);
}

ACTION(invert)
{
	screen->choice.inverted = !screen->choice.inverted;
	screen->zoom = screen->selected = 0;
	screen->page = PROFILE_FLAMES;
	return arranged(screen);
}

ACTION(kernel)
{
	screen->result->kernel = !screen->result->kernel;
	return arranged(screen);
}

ACTION(group)
{
	screen->page = PROFILE_CODE;
	screen->by = (screen->by + 1) % PROFILE_BY_THREAD;
	return chosen(screen);
}

ACTION(freeze)
{
	if (screen->ended && !screen->frozen) {
		profile_screen_message(screen, "nothing more comes");
		return SCREEN_REDRAW;
	}
	screen->frozen = !screen->frozen;
	return profile_screen_update(screen) < 0 ? SCREEN_QUIT : SCREEN_REDRAW;
}

static const struct binding items[] = {
	{"Up Down", "select", "select a caller, or what it calls; in a list, a row", KEY_KIND_UP,
	 NULL, up, 0},
	{"", NULL, "", KEY_KIND_DOWN, NULL, down, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "k", up, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "j", down, 0},
	{"Left Right", NULL, "select what is beside it", KEY_KIND_LEFT, NULL, left, 0},
	{"", NULL, "", KEY_KIND_RIGHT, NULL, right, 0},
	{"PgUp PgDn", NULL, "a page", KEY_KIND_PAGE_UP, NULL, page_up, 0},
	{"", NULL, "", KEY_KIND_PAGE_DOWN, NULL, page_down, 0},
	{"Home End", NULL, "the outermost, the innermost; in a list, the first, the last row",
	 KEY_KIND_HOME, NULL, first, 0},
	{"", NULL, "", KEY_KIND_END, NULL, last, 0},
	{"Enter", "zoom", "zoom in to the selected call; in a list, show only this row's time",
	 KEY_KIND_ENTER, NULL, enter, 0},
	{"Bksp", NULL, "zoom out by one call", KEY_KIND_BACKSPACE, NULL, out, 0},
	{"Esc", "back", "leave help or a list; zoom out; end the search; then show all again",
	 KEY_KIND_ESCAPE, NULL, leave, 0},
	{"Tab", "page", "flame graph, code, threads", KEY_KIND_CHARACTER, "\t", other_page, 0},
	{"/", "search", "mark functions with this in their name; in lists, only rows with it",
	 KEY_KIND_CHARACTER, "/", search, 0},
	{"n N", NULL, "the next that the search finds, the one before", KEY_KIND_CHARACTER, "n",
	 next, 0},
	{"", NULL, "", KEY_KIND_CHARACTER, "N", previous, 0},
	{"c", NULL, "clear the search", KEY_KIND_CHARACTER, "c", clear_search, 0},
	{"s", "state", "only time in one state: the next, or all", KEY_KIND_CHARACTER, "s", state,
	 0},
	{"t", "thread", "the threads: Enter shows one alone", KEY_KIND_CHARACTER, "t", threads, 0},
	{"i", "invert", "from the innermost function to its callers, or back", KEY_KIND_CHARACTER,
	 "i", invert, 0},
	{"r", "root", "the graph begins with states, threads or functions", KEY_KIND_CHARACTER, "r",
	 root, 0},
	{"g", NULL, "code by function, file or line", KEY_KIND_CHARACTER, "g", group, 0},
	{"K", NULL, "all of the kernel's part of waits, or the system call alone",
	 KEY_KIND_CHARACTER, "K", kernel, 0},
	{"y", NULL, "the selected call and its callers to the clipboard, through the terminal",
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
	{"lost N", "stacks that found no room"},
	{"complete", "stacks that reach the thread's first function"},
	{"+-", "the standard error of what stacks say of SELF"},
	{"found", "share of what is shown, within what the search finds"},
};

static const struct bindings bindings = {items, ARRAY_SIZE(items), words, ARRAY_SIZE(words)};

/* Selects; what is selected already is opened. */
static enum screen_request click(void *of, struct key key)
{
	struct profile_screen *screen = of;
	int line = key.row - screen->first_line;
	size_t row = screen->row_offset + (size_t)line;
	uint32_t depth = screen->depth_offset + (uint32_t)line;

	if (screen->base.help || line < 0 || line >= screen->line_count)
		return SCREEN_NOTHING;
	if (screen->page != PROFILE_FLAMES)
		return row == screen->row ? open_row(screen) : select_row(screen, row);
	for (size_t i = 0; i < screen->box_count; i++) {
		const struct flame_box *box = &screen->boxes[i];

		if (flame_of(screen, i)->depth != depth || key.column < box->from ||
		    key.column >= box->to)
			continue;
		return flame_of(screen, i)->key == screen->selected ? do_enter(screen, 0)
								    : select_box(screen, i);
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

const struct screen_keys profile_keys = {
	.bindings = &bindings, .search = search_changed, .click = click, .move = wheel};

enum screen_request profile_screen_key(struct profile_screen *screen, struct key key)
{
	return screen_base_key(&screen->base, &profile_keys, key);
}
