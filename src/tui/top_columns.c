// SPDX-License-Identifier: GPL-2.0-or-later
/* Which columns there is room for, the most interesting first. */
#include <string.h>

#include "tui/state_looks.h"
#include "tui/top_state.h"

#define NAME_WIDTH	  15
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
	       (screen->present[state] || screen->all_columns);
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
static void take_sorted(struct widths *widths, const struct top_screen *screen)
{
	for (int i = 0; i < STATES; i++)
		if (is_sorted_by(screen, state_info[i].key))
			widths->states[i] = take(widths, state_column_width((enum state)i)) > 0;
	if (is_sorted_by(screen, "p99"))
		widths->p99 = take(widths, P99_WIDTH);
	if (!has_own_column(screen->sort) || widths->left >= ACTIVE_FROM)
		widths->sort = take(widths, SORT_WIDTH);
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

static void hand_out(struct widths *widths, const struct top_screen *screen)
{
	bool by_thread = screen->by == BY_THREAD;

	take_sorted(widths, screen);
	widths->bar = take(widths, BAR_MIN);
	take_states(widths, screen, 0, FIXED_STATES);
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

/* Of fields that no table has a heading for, the name. */
static const char *sort_heading(const struct field *field)
{
	if (field->header)
		return field->header;
	return strcmp(field->name, "active") ? field->name : "ACTIVE";
}

static void add(struct top_columns *into, struct top_column column)
{
	if (column.width)
		into->items[into->count++] = column;
}

void top_columns_plan(struct top_columns *into, const struct top_screen *screen, int columns)
{
	const struct field *sort =
		has_own_column(screen->sort) ? field_find("active") : screen->sort;
	struct widths widths = {.left = 0};

	*into = (struct top_columns){.count = 0};
	into->name =
		screen->by == BY_CGROUP ? 6 : 8 + NAME_WIDTH + (screen->by == BY_PROCESS ? 6 : 0);
	widths.left = columns - into->name - 1;
	hand_out(&widths, screen);
	add(into, (struct top_column){.kind = TOP_COLUMN_SORT,
				      .field = sort,
				      .heading = sort_heading(sort),
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
