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
	output_format(view->out, " %6s", text);
}

static void write_status(struct output *out, int status)
{
	char text[WAIT_STATUS_BYTES];

	wait_status_format(text, status);
	output_string(out, text);
}

static void write_now(const struct view *view, const struct row *row,
		      const struct session_info *session)
{
	char reason[REASON_BYTES], since[16];

	output_string(view->out, "  ");
	if (row->exited) {
		write_status(view->out, row->exit_code);
		return;
	}
	if (!row_has_state(row, session)) {
		output_char(view->out, '-');
		return;
	}
	if (row->site.state == WIRE_ON_CPU) {
		output_format(view->out, "running on CPU %u", row->cpu);
		return;
	}
	reason_format(reason, sizeof(reason), row->site, session_is_native(session));
	duration_format(since, sizeof(since), row->in_state_ns);
	output_format(view->out, "%s %s%s%s", state_info[state_of_wait(row->site.state)].key,
		      reason, *reason ? " " : "", since);
}

/*
 * A set of 1 << enum state. On a terminal, where room is short, those without any time are left
 * out, as on the screen.
 */
static unsigned int states_shown(const struct view *view, const struct interval *interval,
				 size_t rows)
{
	unsigned int shown = 0;

	for (int i = 0; i < STATES; i++) {
		bool has_time = !view->is_terminal;

		for (size_t k = 0; !has_time && k < rows; k++)
			has_time = interval->rows[k].states_ns[i];
		if (has_time && session_shows(interval->session, (enum state)i))
			shown |= 1U << i;
	}
	return shown;
}

static void write_states_heading(struct output *out, unsigned int states)
{
	for (int i = 0; i < STATES; i++)
		if (states & 1U << state_columns[i])
			output_format(out, "%*s", state_column_width(state_columns[i]),
				      state_info[state_columns[i]].header);
	output_string(out, "  RQp99");
}

static void write_heading(const struct view *view, unsigned int states)
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
	write_states_heading(out, states);
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

static void write_row(const struct view *view, const struct row *row,
		      const struct session_info *session, unsigned int states)
{
	struct output *out = view->out;
	const char *path = NULL;

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
		if (states & 1U << state_columns[i])
			write_state(out, row, session, state_columns[i]);
	write_p99(view, row, session);
	if (view->by == BY_THREAD) {
		write_now(view, row, session);
	} else if (view->by == BY_CGROUP) {
		path = session_cgroup(session, row->cgroup_id);
		output_string(out, "  ");
		write_name(out, path ? path : "-", CGROUP_COLUMNS, false);
	} else if (row->exited) {
		output_string(out, "  exited");
	}
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

void page_title(const struct view *view, const struct interval *interval, const char *noun,
		size_t total, size_t shown)
{
	const struct wire_losses *losses = &interval->losses;
	time_t seconds = (time_t)(interval->start_realtime_ns / NS_PER_S);
	char clock[16], length[16];
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	duration_format(length, sizeof(length), interval->end_ns - interval->start_ns);
	output_format(view->out, "%s  %s%s  ", clock, length, interval->final ? " (last)" : "");
	if (noun)
		output_format(view->out, "%zu %s, %zu shown  ", total, noun, shown);
	write_sources(view->out, interval->session);
	/* with counters alone, DISK and SWAP depend on it */
	if (interval->session->wire.source == WIRE_SOURCE_TASKSTATS &&
	    session_misses(interval->session, "delayacct"))
		output_string(view->out, "delays off: sysctl kernel.task_delayacct=1  ");
	write_machine(view->out, interval);
	output_format(view->out, "self %.1f%%  ",
		      100.0 * (double)interval->self_cpu_ns /
			      (double)(interval->end_ns - interval->start_ns));
	write_losses(view->out, losses);
}

void page_interval(const struct view *view, const struct interval *interval, size_t total)
{
	size_t shown = view_rows(view, interval);
	unsigned int states = states_shown(view, interval, shown);

	page_title(view, interval,
		   !view->programs ? grouping_noun(view->by, total)
		   : total == 1	   ? "program"
				   : "programs",
		   total, shown);
	if (shown)
		write_heading(view, states);
	for (size_t i = 0; i < shown; i++)
		write_row(view, &interval->rows[i], interval->session, states);
	output_char(view->out, '\n');
}

void page_child(const struct view *view, const struct wire_child *child)
{
	char length[16];

	write_name(view->out, child->name, CGROUP_COLUMNS, false);
	output_char(view->out, ' ');
	write_status(view->out, (int)child->wait_status);
	duration_format(length, sizeof(length), child->duration_ns);
	output_format(view->out, " after %s\n", length);
}
