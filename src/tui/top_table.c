// SPDX-License-Identifier: GPL-2.0-or-later
/* The header and the table of the top screen. */
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/duration.h"
#include "tui/state_looks.h"
#include "tui/top_state.h"

#define NAME_WIDTH	15
#define P99_WIDTH	7
#define BAR_MIN		10
#define NOW_MIN		16
#define BAR_COMFORTABLE 16
#define NOW_COMFORTABLE 25
#define BAR_MAX		40
#define STOLEN_WARNING	0.05 /* of busy CPU time: figures of speed mean little above it */

/* Which columns there is room for. */
struct layout {
	int name; /* where the bar begins */
	int bar;  /* its width */
	int now;  /* width of NOW, 0 = not shown */
	bool p99;
	bool states[STATES];
};

/* The first to get a column when the terminal is narrow. */
static const enum state by_interest[STATES] = {
#define X(state, ...) STATE_##state,
	STATE_LOOKS(X)
#undef X
};

static int take(int *left, int wanted)
{
	if (*left < wanted)
		return 0;
	*left -= wanted;
	return wanted;
}

/* Adds to `width` up to `wanted`. */
static void widen(int *left, int *width, int wanted)
{
	if (*width && *width < wanted)
		*width += take(left, *left < wanted - *width ? *left : wanted - *width);
}

static struct layout plan(const struct top_screen *screen, int columns)
{
	struct layout layout = {0};
	int left;

	layout.name =
		screen->by == BY_CGROUP ? 6 : 8 + NAME_WIDTH + (screen->by == BY_PROCESS ? 6 : 0);
	left = columns - layout.name - 2;
	layout.bar = take(&left, BAR_MIN);
	for (int i = 0; i < 3; i++)
		layout.states[by_interest[i]] = take(&left, state_column_width(by_interest[i]));
	layout.now = take(&left, NOW_MIN);
	for (int i = 3; i < STATES; i++) {
		if (session_shows(screen->interval.session, by_interest[i]))
			layout.states[by_interest[i]] =
				take(&left, state_column_width(by_interest[i]));
		if (i == 5)
			layout.p99 = take(&left, P99_WIDTH);
		/* before the rarer states: room to read by */
		if (i == 7) {
			widen(&left, &layout.now, NOW_COMFORTABLE);
			widen(&left, &layout.bar, BAR_COMFORTABLE);
		}
	}
	widen(&left, &layout.bar, BAR_MAX);
	if (layout.now)
		layout.now += left;
	return layout;
}

/* `exact (bpf, taskstats, verified)`, `sampled every 10ms (procfs)` */
static int draw_source(const struct top_screen *screen, struct canvas *canvas, int row, int column)
{
	const struct session_info *session = screen->interval.session;
	char period[16] = "";
	int used;

	if (session->wire.sample_ns)
		duration_format(period, sizeof(period), session->wire.sample_ns);
	used = canvas_format(canvas, row, column, canvas->columns,
			     session->wire.sample_ns ? ROLE_WARNING : ROLE_NORMAL,
			     "%s%s%s (%s%s%s)", session_states_kind(session),
			     *period ? " every " : "", period, session_source(session),
			     session_has_delays_beside(session) ? ", taskstats" : "",
			     session_is_verified(session) ? ", verified" : "");
	return column + used;
}

static void draw_title(const struct top_screen *screen, struct canvas *canvas)
{
	const struct interval *interval = &screen->interval;
	const struct wire_losses *losses = &interval->losses;
	const struct wire_session *session = &interval->session->wire;
	uint64_t lost = losses_all(losses);
	uint64_t length_ns = interval->end_ns - interval->start_ns;
	time_t seconds = (time_t)((interval->start_realtime_ns + length_ns) / NS_PER_S);
	char clock[24], length[16];
	struct tm tm;
	int at;

	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), screen->options.replay ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S",
		 &tm);
	duration_format(length, sizeof(length), length_ns);
	/* what it is worth first, where a narrow terminal does not cut it off */
	at = canvas_text(canvas, 0, 0, canvas->columns, ROLE_TITLE,
			 screen->options.replay ? "dwell top (recording)  " : "dwell top  ");
	at = draw_source(screen, canvas, 0, at);
	at += canvas_format(canvas, 0, at, canvas->columns, lost ? ROLE_WARNING : ROLE_DIM,
			    "  lost %llu  ", (unsigned long long)lost);
	if (interval->session->wire.flags & WIRE_SESSION_DELAYS &&
	    session_misses(interval->session, "delayacct"))
		at += canvas_text(canvas, 0, at, canvas->columns, ROLE_WARNING,
				  "delays off: sysctl kernel.task_delayacct=1  ");
	if (screen->frozen)
		at += canvas_text(canvas, 0, at, canvas->columns, ROLE_WARNING,
				  screen->options.replay ? "PAUSED  " : "FROZEN  ");
	if (session_has_machine(interval->session))
		at += canvas_format(canvas, 0, at, canvas->columns,
				    interval_stolen_share(interval) >= STOLEN_WARNING ? ROLE_WARNING
										      : ROLE_DIM,
				    "stolen %.0f%%  ", 100 * interval_stolen_share(interval));
	at += canvas_format(
		canvas, 0, at, canvas->columns, ROLE_DIM, "every %s  self %.1f%%  ", length,
		length_ns ? 100.0 * (double)interval->self_cpu_ns / (double)length_ns : 0.0);
	at += canvas_format(canvas, 0, at, canvas->columns, ROLE_DIM, "%s  %u CPUs  Linux %.20s",
			    session->host, session->cpus, session->kernel);
	if (canvas->columns - (int)strlen(clock) > at)
		canvas_text(canvas, 0, canvas->columns - (int)strlen(clock), 24, ROLE_NORMAL,
			    clock);
}

/* How many threads were in each state on average: the load, by what it consists of. */
static void draw_load(const struct top_screen *screen, struct canvas *canvas)
{
	uint64_t length_ns = screen->interval.end_ns - screen->interval.start_ns;
	uint64_t total[STATES] = {0}, busy = 0;
	size_t active = 0;
	int at, width = canvas->columns / 8;

	for (size_t i = 0; i < screen->row_count; i++) {
		active += row_active_ns(&screen->rows[i]) > 0;
		for (int j = 0; j < STATES; j++)
			total[j] += screen->rows[i].states_ns[j];
	}
	at = canvas_format(canvas, 1, 0, canvas->columns, ROLE_NORMAL, "%zu %s, %zu active  ",
			   screen->row_count, grouping_plurals[screen->by], active);
	total[STATE_SLEEP] = total[STATE_IDLE] = total[STATE_STOPPED] = 0;
	for (int i = 0; i < STATES; i++)
		busy += total[i];
	canvas_bar(canvas, 1, at, width, total, busy);
	at += width + 1;
	for (int i = 0; i < STATES; i++) {
		double load = length_ns ? (double)total[i] / (double)length_ns : 0;

		if (load < 0.005)
			continue;
		canvas_put(canvas, 1, at + 1, (enum role)(ROLE_STATE + i),
			   state_sign((enum state)i, false), (char)state_sign((enum state)i, true));
		at += 2 + canvas_format(canvas, 1, at + 2, canvas->columns, ROLE_NORMAL, "%s %.2f",
					state_info[i].key, load);
	}
}

void top_draw_header(const struct top_screen *screen, struct canvas *canvas)
{
	draw_title(screen, canvas);
	draw_load(screen, canvas);
}

static enum role heading_role(const struct top_screen *screen, const char *field)
{
	return !strcmp(screen->sort->name, field) ? ROLE_SORTED : ROLE_HEADER;
}

static void draw_heading(const struct top_screen *screen, struct canvas *canvas,
			 const struct layout *layout, int row)
{
	int at;

	for (int i = 0; i < canvas->columns; i++)
		canvas_put(canvas, row, i, ROLE_HEADER, ' ', ' ');
	if (screen->by == BY_CGROUP)
		canvas_format(canvas, row, 0, 6, heading_role(screen, "threads"), "%5s", "THR");
	else if (screen->by == BY_PROCESS)
		canvas_format(canvas, row, 0, layout->name, ROLE_HEADER, "%7s %-*s %5s", "PID",
			      NAME_WIDTH, "PROCESS", "THR");
	else
		canvas_format(canvas, row, 0, layout->name, ROLE_HEADER, "%7s %s", "TID", "COMM");
	at = layout->name + 1;
	if (layout->bar)
		canvas_text(canvas, row, at, layout->bar, heading_role(screen, "active"), "TIME");
	at += layout->bar;
	for (int i = 0; i < STATES; i++) {
		enum state state = state_columns[i];
		int width = state_column_width(state);

		if (!layout->states[state])
			continue;
		canvas_format(canvas, row, at, width, heading_role(screen, state_info[state].key),
			      "%*s", width, state_info[state].header);
		at += width;
	}
	if (layout->p99) {
		canvas_format(canvas, row, at, P99_WIDTH, heading_role(screen, "p99"), "%*s",
			      P99_WIDTH, "RQp99");
		at += P99_WIDTH;
	}
	if (layout->now)
		canvas_text(canvas, row, at + 1, layout->now, ROLE_HEADER,
			    screen->by == BY_CGROUP   ? "CGROUP"
			    : screen->by == BY_THREAD ? "NOW"
						      : "");
}

/* What is exactly zero is left dim, so that the rest stands out. */
static void draw_share(struct canvas *canvas, int row, int column, enum state state,
		       const struct row *what, const struct session_info *session)
{
	double share = what->observed_ns
			       ? 100.0 * (double)what->states_ns[state] / (double)what->observed_ns
			       : 0;
	int width = state_column_width(state);
	enum role role = share >= 10 ? (enum role)(ROLE_STATE + (int)state) : ROLE_NORMAL;

	if (!row_measures(what, session, state))
		canvas_format(canvas, row, column, width, ROLE_DIM, "%*s", width, "-");
	else if (!what->states_ns[state])
		canvas_format(canvas, row, column, width, ROLE_DIM, "%*s", width, "0");
	else
		canvas_format(canvas, row, column, width, role, share >= 99.95 ? "%*.0f" : "%*.1f",
			      width, share);
}

static void draw_p99(struct canvas *canvas, int row, int column, const struct row *what,
		     const struct session_info *session)
{
	const struct field *field = field_find("p99");
	char text[16] = "-";
	struct value value;

	field_get(field, what, session, &value);
	if (value.kind == VALUE_NUMBER)
		duration_format(text, sizeof(text), value.number);
	canvas_format(canvas, row, column, P99_WIDTH,
		      value.kind == VALUE_NUMBER ? ROLE_NORMAL : ROLE_DIM, "%*s", P99_WIDTH, text);
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
	if (what->where.state == WIRE_ON_CPU) {
		canvas_format(canvas, row, column, width, ROLE_STATE + STATE_USER,
			      "running on CPU %u", what->cpu);
		return;
	}
	reason_format(reason, sizeof(reason), what->where, session_is_native(session));
	duration_format(since, sizeof(since), what->in_state_ns);
	used = canvas_text(canvas, row, column, width,
			   (enum role)(ROLE_STATE + (int)state_of_wait(what->where.state)),
			   state_info[state_of_wait(what->where.state)].key);
	canvas_format(canvas, row, column + used, width - used, ROLE_NORMAL, " %s%s%s", reason,
		      *reason ? " " : "", since);
}

static void draw_row(const struct top_screen *screen, struct canvas *canvas,
		     const struct layout *layout, int row, const struct row *what)
{
	const struct session_info *session = screen->interval.session;
	const char *path;
	int at;

	if (screen->by == BY_CGROUP) {
		canvas_format(canvas, row, 0, 6, ROLE_NORMAL, "%5u", what->threads);
	} else {
		canvas_format(canvas, row, 0, 8, ROLE_NORMAL, "%7u",
			      screen->by == BY_THREAD ? what->tid : what->pid);
		canvas_text(canvas, row, 8, NAME_WIDTH, ROLE_NORMAL,
			    screen->by == BY_THREAD ? what->comm : what->process);
		if (screen->by == BY_PROCESS)
			canvas_format(canvas, row, 8 + NAME_WIDTH, 6, ROLE_NORMAL, "%6u",
				      what->threads);
	}
	at = layout->name + 1;
	canvas_bar(canvas, row, at, layout->bar, what->states_ns, what->observed_ns);
	at += layout->bar;
	for (int i = 0; i < STATES; i++) {
		if (!layout->states[state_columns[i]])
			continue;
		draw_share(canvas, row, at, state_columns[i], what, session);
		at += state_column_width(state_columns[i]);
	}
	if (layout->p99) {
		draw_p99(canvas, row, at, what, session);
		at += P99_WIDTH;
	}
	if (!layout->now)
		return;
	path = session_cgroup(session, what->cgroup_id);
	if (screen->by == BY_CGROUP)
		canvas_text(canvas, row, at + 1, layout->now - 1, ROLE_NORMAL, path ? path : "-");
	else if (screen->by == BY_THREAD)
		draw_now(canvas, row, at + 1, layout->now - 1, what, session);
	else if (what->exited)
		canvas_text(canvas, row, at + 1, layout->now - 1, ROLE_DIM, "exited");
}

void top_draw_table(struct top_screen *screen, struct canvas *canvas, int first, int count)
{
	struct layout layout = plan(screen, canvas->columns);
	size_t lines = count > 1 ? (size_t)count - 1 : 0;

	screen->first_line = first + 1;
	screen->line_count = (int)lines;
	if (!lines)
		return;
	draw_heading(screen, canvas, &layout, first);
	if (screen->index < screen->offset)
		screen->offset = screen->index;
	if (screen->index >= screen->offset + lines)
		screen->offset = screen->index - lines + 1;
	if (screen->offset && screen->offset + lines > screen->order_count)
		screen->offset = screen->order_count > lines ? screen->order_count - lines : 0;
	for (size_t i = 0; i < lines && screen->offset + i < screen->order_count; i++) {
		int row = first + 1 + (int)i;

		draw_row(screen, canvas, &layout, row, screen->order[screen->offset + i].row);
		if (screen->has_selection && screen->offset + i == screen->index)
			canvas_select(canvas, row);
	}
	if (!screen->order_count)
		canvas_text(canvas, first + 2, 2, canvas->columns, ROLE_DIM,
			    *screen->filter ? "nothing matches the filter (Esc clears it)"
					    : "nothing to show");
}
