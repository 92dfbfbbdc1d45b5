// SPDX-License-Identifier: GPL-2.0-or-later
/* Which columns there is room for, the most interesting first. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tui/state_looks.h"
#include "tui/top_state.h"

#define NAME_WIDTH	  15
#define TREE_FROM	  100 /* columns; with room for names in a tree */
#define TREE_MAX	  12
#define NAME_MIN	  3
#define P99_WIDTH	  7
#define SORT_WIDTH	  8
#define ACTIVE_FROM	  50 /* columns beside the name */
#define BAR_MIN		  10
#define BAR_COMFORTABLE	  16
#define BAR_MAX		  40
#define NOW_MIN		  16
#define NOW_COMFORTABLE	  25
#define BLAME_MIN	  22
#define BLAME_COMFORTABLE 34

static const enum state by_interest[STATES] = {
#define X(state, ...) STATE_##state,
	STATE_LOOKS(X)
#undef X
};

/* Widths, as they are handed out. */
struct widths {
	int left; /* not handed out yet */
	int bar, now, blame, cgroup, p99, sort;
	bool states[STATES];
};

static int take(struct widths *widths, int wanted)
{
	if (widths->left < wanted)
		return 0;
	widths->left -= wanted;
	return wanted;
}

/* Adds to a width up to `wanted`. */
static void widen(struct widths *widths, int *width, int wanted)
{
	if (*width && *width < wanted)
		*width += take(widths,
			       widths->left < wanted - *width ? widths->left : wanted - *width);
}

static bool is_shown(const struct top_screen *screen, enum state state)
{
	return session_shows(screen->interval.session, state) &&
	       (screen->columns_calm[state] || screen->all_columns);
}

static bool is_sorted_by(const struct top_screen *screen, const char *name)
{
	return !strcmp(screen->sort->name, name);
}

/* Whether a column beside ACTIVE shows the field, or may. */
static bool has_own_column(const struct field *field)
{
	static const char *const names[] = {"pid",   "tid",    "comm",	   "process", "threads",
					    "state", "reason", "in-state", "cgroup",  "p99"};

	for (int i = 0; i < STATES; i++)
		if (!strcmp(field->name, state_info[i].key))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(field->name, names[i]))
			return true;
	return false;
}

/* What rows are sorted by is always there; and ACTIVE, if no other field without a column is. */
static void take_sorted(struct widths *widths, const struct top_screen *screen, int sort)
{
	for (int i = 0; i < STATES; i++)
		if (is_sorted_by(screen, state_info[i].key))
			widths->states[i] = take(widths, state_column_width((enum state)i)) > 0;
	if (is_sorted_by(screen, "p99"))
		widths->p99 = take(widths, P99_WIDTH);
	if (!has_own_column(screen->sort) || widths->left >= ACTIVE_FROM)
		widths->sort = take(widths, sort);
}

/* The first are always those of CPU time; of others that are lost, what there was most of. */
#define FIXED_STATES 3
#define LOST_STATES  8 /* these included: before there is room to read by */

static bool goes_before(const struct top_screen *screen, enum state a, enum state b)
{
	if (state_is_lost(a) != state_is_lost(b))
		return state_is_lost(a);
	return state_is_lost(a) && screen->seen_ns[a] > screen->seen_ns[b];
}

static void order_states(const struct top_screen *screen, enum state order[STATES])
{
	memcpy(order, by_interest, sizeof(by_interest));
	for (int i = FIXED_STATES + 1; i < STATES; i++) {
		for (int j = i; j > FIXED_STATES && goes_before(screen, order[j], order[j - 1]);
		     j--) {
			enum state swap = order[j];

			order[j] = order[j - 1];
			order[j - 1] = swap;
		}
	}
}

static void take_states(struct widths *widths, const struct top_screen *screen, int first, int end)
{
	enum state order[STATES];

	order_states(screen, order);
	for (int i = first; i < end; i++)
		if (!widths->states[order[i]] && is_shown(screen, order[i]))
			widths->states[order[i]] = take(widths, state_column_width(order[i])) > 0;
}

static void hand_out(struct widths *widths, const struct top_screen *screen, int sort)
{
	bool by_thread = screen->by == BY_THREAD;

	take_sorted(widths, screen, sort);
	widths->bar = take(widths, BAR_MIN);
	take_states(widths, screen, 0, FIXED_STATES);
	/* of what mostly sleeps, or is stopped, all other columns are nearly empty */
	if (screen->most < STATES && !widths->states[screen->most] &&
	    is_shown(screen, screen->most))
		widths->states[screen->most] = take(widths, state_column_width(screen->most)) > 0;
	if (by_thread)
		widths->now = take(widths, NOW_MIN);
	if (screen->by == BY_CGROUP)
		widths->cgroup = take(widths, NOW_MIN);
	if (session_has_blame(screen->interval.session))
		widths->blame = take(widths, BLAME_MIN);
	take_states(widths, screen, FIXED_STATES, 6);
	if (!widths->p99 && session_has(screen->interval.session, WIRE_METRIC_LATENCY))
		widths->p99 = take(widths, P99_WIDTH);
	take_states(widths, screen, 6, LOST_STATES);
	/* before the rarer states: room to read by */
	widen(widths, &widths->now, NOW_COMFORTABLE);
	widen(widths, &widths->cgroup, NOW_COMFORTABLE);
	widen(widths, &widths->bar, BAR_COMFORTABLE);
	take_states(widths, screen, LOST_STATES, STATES);
	widen(widths, &widths->blame, BLAME_COMFORTABLE);
	widen(widths, &widths->bar, BAR_MAX);
	if (widths->blame)
		widths->blame += widths->left;
	else if (widths->now)
		widths->now += widths->left;
	else if (widths->cgroup)
		widths->cgroup += widths->left;
}

static int count_left_out(const struct widths *widths, const struct top_screen *screen)
{
	int count = 0;

	for (int i = 0; i < STATES; i++)
		count += is_shown(screen, (enum state)i) && !widths->states[i];
	return count;
}

/* Of fields that no table has a heading for, the name, written like one. */
static void name_sorted(struct top_columns *into, const struct field *field)
{
	snprintf(into->sort_heading, sizeof(into->sort_heading), "%s",
		 field->header ? field->header : field->name);
	for (char *at = into->sort_heading; *at && !field->header; at++)
		*at = (char)toupper((unsigned char)*at);
}

/* With the sign of the order before it. */
static int sort_width(const struct top_columns *columns)
{
	int width = (int)strlen(columns->sort_heading) + 2;

	return width > SORT_WIDTH ? width : SORT_WIDTH;
}

static void add(struct top_columns *into, struct top_column column)
{
	if (column.width)
		into->items[into->count++] = column;
}

/* Names in a tree move to the right. */
static int deepest(const struct top_screen *screen)
{
	int depth = 0;

	for (size_t i = 0; i < screen->order_count; i++)
		depth = screen->depths[i] > depth ? screen->depths[i] : depth;
	return depth < TREE_MAX ? depth : TREE_MAX;
}

void top_columns_plan(struct top_columns *into, const struct top_screen *screen, int columns)
{
	const struct field *sort =
		has_own_column(screen->sort) ? field_find("active") : screen->sort;
	struct widths widths = {.left = 0};
	int numbers, sort_columns;

	*into = (struct top_columns){.name_width = NAME_WIDTH};
	name_sorted(into, sort);
	if (screen->tree && columns >= TREE_FROM)
		into->name_width += deepest(screen);
	numbers = screen->by == BY_CGROUP ? 6 : screen->by == BY_PROCESS ? 8 + 6 : 8;
	sort_columns = sort_width(into);
	/* on a very narrow terminal the name is cut, then the heading of what rows are sorted by */
	while (into->name_width > NAME_MIN &&
	       numbers + into->name_width + sort_columns + 1 > columns)
		into->name_width--;
	if (numbers + into->name_width + sort_columns + 1 > columns)
		sort_columns = SORT_WIDTH;
	into->name = numbers + (screen->by == BY_CGROUP ? 0 : into->name_width);
	widths.left = columns - into->name - 1;
	hand_out(&widths, screen, sort_columns);
	into->left_out = count_left_out(&widths, screen);
	add(into, (struct top_column){.kind = TOP_COLUMN_SORT,
				      .field = sort,
				      .heading = into->sort_heading,
				      .width = widths.sort});
	add(into, (struct top_column){.kind = TOP_COLUMN_BAR,
				      .field = field_find("active"),
				      .heading = "TIME",
				      .width = widths.bar,
				      .left = true});
	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];

		add(into, (struct top_column){
				  .kind = TOP_COLUMN_STATE,
				  .state = state,
				  .field = field_find(state_info[state].key),
				  .heading = state_info[state].header,
				  .width = widths.states[state] ? state_column_width(state) : 0});
	}
	add(into, (struct top_column){.kind = TOP_COLUMN_P99,
				      .field = field_find("p99"),
				      .heading = "RQp99",
				      .width = widths.p99});
	add(into, (struct top_column){.kind = TOP_COLUMN_NOW,
				      .field = field_find("state"),
				      .heading = "NOW",
				      .width = widths.now,
				      .left = true});
	add(into, (struct top_column){.kind = TOP_COLUMN_CGROUP,
				      .field = field_find("cgroup"),
				      .heading = "CGROUP",
				      .width = widths.cgroup,
				      .left = true});
	add(into, (struct top_column){.kind = TOP_COLUMN_BLAME,
				      .heading = "BECAUSE OF",
				      .width = widths.blame,
				      .left = true});
}
