// SPDX-License-Identifier: GPL-2.0-or-later
/* Percentages of observed time, for people and logs. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/wait_status.h"
#include "base/duration.h"
#include "base/text.h"
#include "view/fields.h"
#include "view/view.h"

#define NAME_COLUMNS   15
#define CGROUP_COLUMNS 60
#define P99_COLUMNS    7
#define LAST_COLUMNS   12 /* that NOW and CGROUP have at least */
#define EXITED_COLUMNS 10 /* and of processes, that they have exited */

/* A name of any bytes, padded to `columns`. */
static void write_name(struct output *out, const char *name, size_t columns, bool pad)
{
	char text[CGROUP_COLUMNS * 4 + 1];
	size_t width = text_printable(text, sizeof(text), name, columns);

	output_string(out, text);
	for (; pad && width < columns; width++)
		output_char(out, ' ');
}

/* What is exactly zero shows as a bare 0, so that the rest stands out. */
static void write_share(struct output *out, int width, uint64_t part_ns, uint64_t whole_ns)
{
	double share = whole_ns ? 100.0 * (double)part_ns / (double)whole_ns : 0;

	if (!whole_ns)
		output_format(out, "%*s", width, "-");
	else if (!part_ns)
		output_format(out, "%*s", width, "0");
	else
		output_format(out, "%*.*f", width, share >= 99.95 ? 0 : 1, share);
}

static void write_p99(const struct view *view, const struct row *row,
		      const struct session_info *session)
{
	const struct field *field = field_find("p99");
	char text[16] = "-";
	struct value value;

	field_get(field, row, session, &value);
	if (value.kind == VALUE_NUMBER)
		duration_format(text, sizeof(text), value.number);
	output_format(view->out, "%*s", P99_COLUMNS, text);
}

#define NOW_BYTES (WAIT_STATUS_BYTES + REASON_BYTES)

static void format_now(char into[NOW_BYTES], const struct row *row,
		       const struct session_info *session)
{
	char reason[REASON_BYTES], since[16];

	if (row->exited) {
		wait_status_format(into, row->exit_code);
		return;
	}
	if (!row_has_state(row, session)) {
		snprintf(into, NOW_BYTES, "-");
		return;
	}
	if (row->site.state == WIRE_ON_CPU) {
		snprintf(into, NOW_BYTES, "running on CPU %u", row->cpu);
		return;
	}
	reason_format(reason, sizeof(reason), row->site, session_is_native(session));
	duration_format(since, sizeof(since), row->in_state_ns);
	snprintf(into, NOW_BYTES, "%s %s%s%s", state_info[state_of_wait(row->site.state)].key,
		 reason, *reason ? " " : "", since);
}

/* What of a table there is room for. */
struct layout {
	unsigned int states; /* a set of 1 << enum state */
	size_t last;	     /* columns of what is behind them at most */
};

static bool has_column(const struct layout *layout, enum state state)
{
	return layout->states & 1U << state;
}

/* Up to where the last column begins. */
static size_t width_before_last(const struct view *view, const struct layout *layout)
{
	static const size_t names[] = {[BY_THREAD] = 9 + NAME_COLUMNS,
				       [BY_PROCESS] = 9 + NAME_COLUMNS + 6,
				       [BY_CGROUP] = 5};
	size_t width = names[view->by] + P99_COLUMNS + 2;

	for (int i = 0; i < STATES; i++)
		if (has_column(layout, (enum state)i))
			width += (size_t)state_column_width((enum state)i);
	return width;
}

/* On a terminal, which would break the lines: without the states that had the least time. */
static void fit_layout(struct layout *layout, const struct view *view,
		       const uint64_t totals[STATES], size_t last)
{
	/* what a reader looks for first, as on the screen */
	const unsigned int kept = 1U << STATE_USER | 1U << STATE_KERNEL | 1U << STATE_RUNNABLE;
	size_t width;

	while ((width = width_before_last(view, layout)) + last > view->columns && layout->states) {
		unsigned int others = layout->states & ~kept;
		int least = -1;

		for (int i = 0; i < STATES; i++)
			if ((others ? others : layout->states) & 1U << i &&
			    (least < 0 || totals[i] <= totals[least]))
				least = i;
		layout->states &= ~(1U << least);
	}
	layout->last = width < view->columns ? view->columns - width : 1;
}

static size_t last_columns(const struct view *view, const struct interval *interval, size_t rows)
{
	if (view->by != BY_PROCESS)
		return LAST_COLUMNS;
	for (size_t i = 0; i < rows; i++)
		if (interval->rows[i].exited)
			return EXITED_COLUMNS;
	return 0;
}

/*
 * On a terminal, where room is short, states without time to speak of are left out, as on the
 * screen.
 */
static struct layout layout_for(const struct view *view, const struct interval *interval,
				size_t rows)
{
	struct layout layout = {.last = NOW_BYTES};
	uint64_t totals[STATES] = {0};
	unsigned int shown = view->columns ? rows_states(interval->rows, rows) : ~0U;

	for (int i = 0; i < STATES; i++) {
		for (size_t k = 0; k < rows; k++)
			totals[i] += interval->rows[k].states_ns[i];
		if (shown & 1U << i && session_shows(interval->session, (enum state)i))
			layout.states |= 1U << i;
	}
	if (view->columns)
		fit_layout(&layout, view, totals, last_columns(view, interval, rows));
	return layout;
}

static void write_states_heading(struct output *out, const struct layout *layout)
{
	for (int i = 0; i < STATES; i++)
		if (has_column(layout, state_columns[i]))
			output_format(out, "%*s", state_column_width(state_columns[i]),
				      state_info[state_columns[i]].header);
	output_format(out, "%*s", P99_COLUMNS, "RQp99");
}

static void write_heading(const struct view *view, const struct layout *layout)
{
	struct output *out = view->out;

	switch (view->by) {
	case BY_PROCESS:
		output_format(out, "%8s %-*s %5s", "PID", NAME_COLUMNS, "PROCESS", "THR");
		break;
	case BY_CGROUP:
		output_format(out, "%5s", "THR");
		break;
	default:
		output_format(out, "%8s %-*s", "TID", NAME_COLUMNS, "COMM");
	}
	write_states_heading(out, layout);
	output_string(out, view->by == BY_THREAD   ? "  NOW\n"
			   : view->by == BY_CGROUP ? "  CGROUP\n"
						   : "\n");
}

/* A sum over several processes has none. */
static void write_id(struct output *out, uint32_t id)
{
	if (id)
		output_format(out, "%8u ", id);
	else
		output_string(out, "       - ");
}

static void write_state(struct output *out, const struct row *row,
			const struct session_info *session, enum state state)
{
	write_share(out, state_column_width(state), row->states_ns[state],
		    row_measures(row, session, state) ? row->observed_ns : 0);
}

/* Of a cgroup the end of its path says more. */
static void write_last(const struct view *view, const struct row *row,
		       const struct session_info *session, size_t columns)
{
	const char *path = session_cgroup(session, row->cgroup_id);
	char text[NOW_BYTES] = "(exited)", shown[NOW_BYTES * 4];

	if (view->by == BY_PROCESS && !row->exited)
		return;
	if (view->by == BY_THREAD)
		format_now(text, row, session);
	if (view->by != BY_CGROUP)
		text_printable(shown, sizeof(shown), text, columns);
	else
		text_end(shown, sizeof(shown), path ? path : "-", columns);
	/* in a file, from which one copies it, it is whole */
	output_format(view->out, "  %s",
		      view->by == BY_CGROUP && !view->columns && path ? path : shown);
}

static void write_row(const struct view *view, const struct row *row,
		      const struct session_info *session, const struct layout *layout)
{
	struct output *out = view->out;

	switch (view->by) {
	case BY_PROCESS:
		write_id(out, row->pid);
		write_name(out, row->process, NAME_COLUMNS, true);
		output_format(out, " %5u", row->threads);
		break;
	case BY_CGROUP:
		output_format(out, "%5u", row->threads);
		break;
	default:
		write_id(out, row->tid);
		write_name(out, row->comm, NAME_COLUMNS, true);
	}
	for (int i = 0; i < STATES; i++)
		if (has_column(layout, state_columns[i]))
			write_state(out, row, session, state_columns[i]);
	write_p99(view, row, session);
	write_last(view, row, session, layout->last);
	output_char(out, '\n');
}

/* `lost 0`, or `LOST 3 exits, 1 torn` */
static void write_losses(struct output *out, const struct wire_losses *losses)
{
	const struct {
		uint64_t count;
		const char *what;
	} kinds[] = {{losses->threads, "threads"},
		     {losses->exits, "exits"},
		     {losses->transitions, "transitions"},
		     {losses->torn, "torn"}};
	const char *before = "LOST";

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!kinds[i].count)
			continue;
		output_format(out, "%s %llu %s", before, (unsigned long long)kinds[i].count,
			      kinds[i].what);
		before = ",";
	}
	output_string(out, *before == 'L' ? "lost 0\n" : "\n");
}

/* How the figures are known: `exact (bpf, verified), user/sys by tick`, `sampled every 10ms
 * (procfs)` */
static void write_sources(struct output *out, const struct session_info *session)
{
	char period[16];

	output_string(out, session_states_kind(session));
	if (session->wire.sample_ns) {
		duration_format(period, sizeof(period), session->wire.sample_ns);
		output_format(out, " every %s", period);
	}
	output_format(out, " (%s%s%s), user/sys %s  ", session_source(session),
		      session_has_delays_beside(session) ? ", taskstats" : "",
		      session_is_verified(session) ? ", verified" : "",
		      session->wire.flags & WIRE_SESSION_PRECISE_SPLIT ? "precise" : "by tick");
}

/* `stolen 41.2% of busy CPU time` */
static void write_machine(struct output *out, const struct interval *interval)
{
	if (!session_has_machine(interval->session))
		return;
	output_format(out, "stolen %.1f%% of busy CPU time  ",
		      100 * interval_stolen_share(interval));
}

static void write_title(const struct view *view, const struct interval *interval, const char *noun,
			size_t total, size_t shown)
{
	const struct wire_losses *losses = &interval->losses;
	time_t seconds = (time_t)(interval->start_realtime_ns / NS_PER_S);
	char clock[16], length[16];
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	duration_format(length, sizeof(length), interval_length_ns(interval));
	output_format(view->out, "%s  %s%s  ", clock, length, interval->final ? " (last)" : "");
	if (noun)
		output_format(view->out, "%zu %s, %zu shown  ", total, noun, shown);
	if (session_misses(interval->session, "processes"))
		output_string(view->out, "other users left out  ");
	write_sources(view->out, interval->session);
	/* with counters alone, DISK and SWAP depend on it */
	if (interval->session->wire.source == WIRE_SOURCE_TASKSTATS &&
	    session_misses(interval->session, "delayacct"))
		output_string(view->out, "delay accounting off (see dwell doctor)  ");
	write_machine(view->out, interval);
	output_format(view->out, "self %.1f%%  ",
		      100.0 * (double)interval->self_cpu_ns / (double)interval_length_ns(interval));
	write_losses(view->out, losses);
}

void page_title(const struct view *view, const struct interval *interval, const char *noun,
		size_t total, size_t shown)
{
	cleanup(output_release) struct output line = {.fd = -1};
	struct view aside = *view;

	if (!view->columns || output_init(&line, -1) < 0) {
		write_title(view, interval, noun, total, shown);
		return;
	}
	aside.out = &line;
	write_title(&aside, interval, noun, total, shown);
	output_char(&line, '\0');
	text_wrapped(view->out, line.buffer, 0, view->columns);
}

void page_interval(const struct view *view, const struct interval *interval, size_t total)
{
	size_t shown = view_rows(view, interval);
	struct layout layout = layout_for(view, interval, shown);

	page_title(view, interval,
		   !view->programs ? grouping_noun(view->by, total)
		   : total == 1	   ? "program"
				   : "programs",
		   total, shown);
	if (shown)
		write_heading(view, &layout);
	for (size_t i = 0; i < shown; i++)
		write_row(view, &interval->rows[i], interval->session, &layout);
	output_char(view->out, '\n');
}

void page_child(const struct view *view, const struct wire_child *child)
{
	char length[16], status[WAIT_STATUS_BYTES];

	write_name(view->out, child->name, CGROUP_COLUMNS, false);
	wait_status_format(status, (int)child->wait_status);
	duration_format(length, sizeof(length), child->duration_ns);
	output_format(view->out, " %s after %s\n", status, length);
}
