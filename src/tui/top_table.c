// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of the top screen. */
#include <string.h>
#include <sys/wait.h>

#include "base/duration.h"
#include "base/text.h"
#include "tui/top_state.h"

#define RUNNING_WIDTH 18 /* of "running on CPU 127" */

/* Sorted by this field: the heading says so, and which way. */
static bool is_sorted(const struct top_screen *screen, const struct field *field)
{
	return field && screen->sort == field;
}

static void draw_heading_text(struct top_screen *screen, struct canvas *canvas, int row, int at,
			      const struct top_column *column)
{
	/* TIME has no order of its own: it shows what ACTIVE is made of */
	bool sorted = is_sorted(screen, column->field) && column->kind != TOP_COLUMN_BAR;
	enum role role = sorted ? ROLE_SORTED : ROLE_HEADER;
	int length = (int)strlen(column->heading);
	int text = column->left || length > column->width ? at : at + column->width - length;

	if (sorted && column->left)
		canvas_put(canvas, row, text + length, role, screen->reverse ? 0x25b4 : 0x25be,
			   screen->reverse ? '^' : 'v');
	else if (sorted && text > at)
		canvas_put(canvas, row, text - 1, role, screen->reverse ? 0x25b4 : 0x25be,
			   screen->reverse ? '^' : 'v');
	canvas_text(canvas, row, text, column->width, role, column->heading);
	if (column->field && screen->heading_count < HEADINGS_MAX)
		screen->headings[screen->heading_count++] =
			(struct heading){at, at + column->width, column->field};
}

/* Those of number and name, which are always there. */
static void draw_name_heading(struct top_screen *screen, struct canvas *canvas, int row,
			      int name_width)
{
	const struct top_column by_thread[] = {
		{.kind = TOP_COLUMN_NAME, .field = field_find("tid"), .heading = "TID", .width = 7},
		{.kind = TOP_COLUMN_NAME,
		 .field = field_find("comm"),
		 .heading = "COMM",
		 .width = name_width,
		 .left = true},
	};
	const struct top_column by_process[] = {
		{.kind = TOP_COLUMN_NAME, .field = field_find("pid"), .heading = "PID", .width = 7},
		{.kind = TOP_COLUMN_NAME,
		 .field = field_find("process"),
		 .heading = "PROCESS",
		 .width = name_width,
		 .left = true},
	};
	const struct top_column threads = {.kind = TOP_COLUMN_NAME,
					   .field = field_find("threads"),
					   .heading = "THR",
					   .width = 5};
	const struct top_column *columns = screen->by == BY_PROCESS ? by_process : by_thread;

	if (screen->by == BY_CGROUP) {
		draw_heading_text(screen, canvas, row, 0, &threads);
		return;
	}
	draw_heading_text(screen, canvas, row, 0, &columns[0]);
	draw_heading_text(screen, canvas, row, 8, &columns[1]);
	if (screen->by == BY_PROCESS)
		draw_heading_text(screen, canvas, row, 8 + name_width + 1, &threads);
}

/* Blanks between columns: before those that are aligned left. */
static int gap(const struct top_column *column)
{
	return column->left ? 1 : 0;
}

static void draw_heading(struct top_screen *screen, struct canvas *canvas,
			 const struct top_columns *columns, int row)
{
	int at = columns->name;

	for (int i = 0; i < canvas->columns; i++)
		canvas_put(canvas, row, i, ROLE_HEADER, ' ', ' ');
	screen->heading_count = 0;
	draw_name_heading(screen, canvas, row, columns->name_width);
	for (size_t i = 0; i < columns->count; i++) {
		const struct top_column *column = &columns->items[i];
		struct top_column shown = *column;

		shown.width -= gap(column);
		draw_heading_text(screen, canvas, row, at + gap(column), &shown);
		at += column->width;
	}
}

/* What is exactly zero is left dim, so that the rest stands out. */
static void draw_share(struct canvas *canvas, int row, int column, int width, enum state state,
		       const struct row *what, const struct session_info *session)
{
	double share = what->observed_ns
			       ? 100.0 * (double)what->states_ns[state] / (double)what->observed_ns
			       : 0;
	enum role role = share >= 10 ? (enum role)(ROLE_STATE + (int)state) : ROLE_NORMAL;

	if (!row_measures(what, session, state))
		canvas_format(canvas, row, column, width, ROLE_DIM, "%*s", width, "-");
	else if (!what->states_ns[state])
		canvas_format(canvas, row, column, width, ROLE_DIM, "%*s", width, "0");
	else
		canvas_format(canvas, row, column, width, role, share >= 99.95 ? "%*.0f" : "%*.1f",
			      width, share);
}

static bool is_duration(const struct field *field)
{
	size_t length = field->key ? strlen(field->key) : 0;

	return field->argument == 99 || (length > 3 && !strcmp(field->key + length - 3, "_ns"));
}

/* Of the interval, as rows are sorted: the threads of a process can be active for more of it. */
static double active_percent(const struct interval *interval, const struct row *what)
{
	uint64_t length_ns = interval->end_ns - interval->start_ns;

	return length_ns ? 100.0 * (double)row_active_ns(what) / (double)length_ns : 0;
}

/* A field as people read it: of active time its share, times with their unit. */
static void draw_field(struct canvas *canvas, int row, int column, int width,
		       const struct field *field, const struct row *what,
		       const struct interval *interval)
{
	const struct session_info *session = interval->session;
	double active = active_percent(interval, what);
	char text[32] = "-";
	struct value value;

	field_get(field, what, session, &value);
	if (!strcmp(field->name, "active"))
		snprintf(text, sizeof(text), active < 999.95 ? "%.1f %%" : "%.0f %%", active);
	else if (value.kind == VALUE_NUMBER && is_duration(field))
		duration_format(text, sizeof(text), value.number);
	else if (value.kind == VALUE_NUMBER)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value.number);
	else if (value.kind == VALUE_BOOL)
		snprintf(text, sizeof(text), "%s", value.number ? "yes" : "no");
	/* a blank at the left keeps it apart */
	canvas_format(canvas, row, column + 1, width - 1, *text == '-' ? ROLE_DIM : ROLE_NORMAL,
		      "%*s", width - 1, text);
}

static void draw_now(struct canvas *canvas, int row, int column, int width, const struct row *what,
		     const struct session_info *session)
{
	char reason[REASON_BYTES], since[16];
	int used;

	if (what->exited) {
		if (WIFSIGNALED(what->exit_code))
			canvas_format(canvas, row, column, width, ROLE_WARNING,
				      "killed by signal %d", WTERMSIG(what->exit_code));
		else
			canvas_format(canvas, row, column, width, ROLE_DIM, "exited, status %d",
				      WEXITSTATUS(what->exit_code));
		return;
	}
	if (!row_has_state(what, session)) {
		canvas_text(canvas, row, column, width, ROLE_DIM, "-");
		return;
	}
	if (what->site.state == WIRE_ON_CPU) {
		/* the number is what is new */
		canvas_format(canvas, row, column, width, ROLE_STATE + STATE_USER,
			      width < RUNNING_WIDTH ? "on CPU %u" : "running on CPU %u", what->cpu);
		return;
	}
	reason_format(reason, sizeof(reason), what->site, session_is_native(session));
	duration_format(since, sizeof(since), what->in_state_ns);
	used = canvas_text(canvas, row, column, width,
			   (enum role)(ROLE_STATE + (int)state_of_wait(what->site.state)),
			   state_info[state_of_wait(what->site.state)].key);
	/* how long says more than in what: it is never cut */
	width -= used + (int)strlen(since) + 2;
	if (*reason && width > 4)
		used += 1 + canvas_text(canvas, row, column + used + 1, width, ROLE_NORMAL, reason);
	canvas_text(canvas, row, column + used + 1, (int)strlen(since), ROLE_NORMAL, since);
}

static void draw_cell(const struct top_screen *screen, struct canvas *canvas, int row, int at,
		      const struct top_column *column, const struct row *what)
{
	const struct session_info *session = screen->interval.session;
	int width = column->width - gap(column);
	const char *path;

	at += gap(column);
	switch (column->kind) {
	case TOP_COLUMN_NAME:
		return;
	case TOP_COLUMN_BAR:
		canvas_bar(canvas, row, at, width, what->states_ns, what->observed_ns);
		return;
	case TOP_COLUMN_STATE:
		draw_share(canvas, row, at, width, column->state, what, session);
		return;
	case TOP_COLUMN_P99:
	case TOP_COLUMN_SORT:
		draw_field(canvas, row, at, width, column->field, what, &screen->interval);
		return;
	case TOP_COLUMN_NOW:
		draw_now(canvas, row, at, width, what, session);
		return;
	case TOP_COLUMN_BLAME:
		top_draw_blame(screen, canvas, row, at, width, what);
		return;
	case TOP_COLUMN_CGROUP:
		path = session_cgroup(session, what->cgroup_id);
		canvas_path(canvas, row, at, width, ROLE_NORMAL, path ? path : "-");
		return;
	}
}

static void draw_name(const struct top_screen *screen, struct canvas *canvas, int row,
		      const struct row *what, unsigned int depth, int width)
{
	int indent = depth > (unsigned int)width / 2 ? width / 2 : (int)depth;

	canvas_format(canvas, row, 0, 8, ROLE_NORMAL, "%7u",
		      screen->by == BY_THREAD ? what->tid : what->pid);
	if (indent)
		canvas_put(canvas, row, 8 + indent - 1, ROLE_DIM, 0x2514, '`');
	canvas_text(canvas, row, 8 + indent, width - indent, what->exited ? ROLE_DIM : ROLE_NORMAL,
		    screen->by == BY_THREAD ? what->comm : what->process);
	if (screen->by == BY_PROCESS)
		canvas_format(canvas, row, 8 + width, 6, ROLE_NORMAL, "%6u", what->threads);
}

static void draw_row(const struct top_screen *screen, struct canvas *canvas,
		     const struct top_columns *columns, int row, size_t number)
{
	const struct row *what = screen->order[number].row;
	int at = columns->name;

	if (screen->by == BY_CGROUP)
		canvas_format(canvas, row, 0, 6, ROLE_NORMAL, "%5u", what->threads);
	else
		draw_name(screen, canvas, row, what, screen->tree ? screen->depths[number] : 0,
			  columns->name_width);
	for (size_t i = 0; i < columns->count; i++) {
		draw_cell(screen, canvas, row, at, &columns->items[i], what);
		at += columns->items[i].width;
	}
}

static const char *empty_text(const struct top_screen *screen)
{
	if (*screen->filter)
		return "nothing matches the filter (Esc clears it)";
	if (screen->hide_idle && screen->row_count)
		return "all are idle (a shows them)";
	return "nothing to show";
}

void top_draw_table(struct top_screen *screen, struct canvas *canvas, int first, int count)
{
	struct top_columns columns;
	size_t lines = count > 1 ? (size_t)count - 1 : 0;

	top_columns_plan(&columns, screen, canvas->columns);
	screen->columns_left_out = columns.left_out;
	draw_heading(screen, canvas, &columns, first);
	for (size_t i = 0; i < lines && screen->offset + i < screen->order_count; i++) {
		int row = first + 1 + (int)i;

		draw_row(screen, canvas, &columns, row, screen->offset + i);
		if (screen->has_selection && screen->offset + i == screen->index)
			canvas_select(canvas, row);
	}
	if (!screen->order_count)
		canvas_text(canvas, first + 2, 2, canvas->columns, ROLE_DIM, empty_text(screen));
}
