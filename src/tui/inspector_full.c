// SPDX-License-Identifier: GPL-2.0-or-later
/* The selected row on the whole screen: everything there is to know. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/size.h"
#include "base/text.h"
#include "tui/inspector.h"

/* All there is at most; what does not fit scrolls. */
#define FULL_LINES  128
#define BLAME_LINES 20

static const char *time_text(char into[16], uint64_t ns)
{
	duration_format(into, 16, ns);
	return into;
}

/* `all_states`: also those that are measured, and in which it never was. */
static int draw_states(struct canvas *canvas, int row, const struct row *what,
		       const struct history_item *item, const struct session_info *session,
		       bool all_states)
{
	const struct row *sum = &item->sum;
	char seen[32];

	snprintf(seen, sizeof(seen), "in %llu interval%s", (unsigned long long)item->intervals,
		 text_plural(item->intervals));
	canvas_format(canvas, row++, 2, canvas->columns, ROLE_HEADER,
		      "state %23s   share  this interval", seen);
	for (int i = 0; i < STATES; i++) {
		double share = sum->observed_ns ? 100.0 * (double)sum->states_ns[i] /
							  (double)sum->observed_ns
						: 0;
		char all[16], now[16];

		if (!all_states && !sum->states_ns[i] && row_measures(sum, session, (enum state)i))
			continue;
		canvas_state(canvas, row, 2, (enum state)i);
		canvas_text(canvas, row, 4, 9, (enum role)(ROLE_STATE + i), state_info[i].key);
		if (!row_measures(sum, session, (enum state)i))
			canvas_text(canvas, row, 31, 20, ROLE_DIM, "- not measured");
		else
			canvas_format(canvas, row, 13, 60, ROLE_NORMAL, "%18s %5.1f %% %14s",
				      time_text(all, sum->states_ns[i]), share,
				      time_text(now, what->states_ns[i]));
		row++;
	}
	return row + 1;
}

static int draw_histogram(struct canvas *canvas, int row, int column, const struct row *sum)
{
	int width = canvas->columns - column - 24;
	uint32_t most = 0;

	for (int i = 0; i < WIRE_LATENCY_BUCKETS; i++)
		most = sum->latency[i] > most ? sum->latency[i] : most;
	if (!most) /* a heading alone says nothing */
		return row;
	canvas_text(canvas, row++, column, canvas->columns, ROLE_HEADER,
		    "waits for a CPU          count");
	for (int i = 0; i < WIRE_LATENCY_BUCKETS; i++) {
		char from[16];

		if (!sum->latency[i])
			continue;
		duration_format(from, sizeof(from), 1ULL << i);
		canvas_format(canvas, row, column, 22, ROLE_NORMAL, "from %7s %9u", from,
			      sum->latency[i]);
		for (int j = 0; j < (int)((double)sum->latency[i] / most * width + 0.5); j++)
			canvas_state(canvas, row, column + 24 + j, STATE_RUNNABLE);
		row++;
	}
	return row + 1;
}

static const char *size_text(char into[16], uint64_t bytes)
{
	size_format(into, 16, bytes);
	return into;
}

static int draw_taskstats(const struct top_screen *screen, struct canvas *canvas, int row,
			  int column, const struct row *what)
{
	const struct wire_delays *delays = inspector_delays(screen, what);
	char first[16], second[16];

	if (!delays)
		return row;
	canvas_format(canvas, row++, column, canvas->columns, ROLE_HEADER,
		      "taskstats %2u, since start    count       total", delays->version);
	for (int i = 0; i < WIRE_DELAYS_COUNT; i++, row++) {
		canvas_text(canvas, row, column, 20, ROLE_NORMAL, inspector_delay_keys[i]);
		if (delays->measured & 1U << i)
			canvas_format(canvas, row, column + 20, 40, ROLE_NORMAL, "%13llu %11s",
				      (unsigned long long)delays->delays[i].count,
				      time_text(first, delays->delays[i].total_ns));
		else
			canvas_text(canvas, row, column + 32, 20, ROLE_DIM, "-");
	}
	if (session_misses(screen->interval.session, "delayacct"))
		canvas_text(canvas, row++, column, canvas->columns, ROLE_DIM,
			    "delay accounting off (see dwell doctor)");
	canvas_format(canvas, row++, column, canvas->columns, ROLE_NORMAL,
		      "run real %s, virtual %s", time_text(first, delays->run_real_ns),
		      time_text(second, delays->run_virtual_ns));
	canvas_format(canvas, row++, column, canvas->columns, ROLE_NORMAL,
		      "faults minor %llu, major %llu", (unsigned long long)delays->minor_faults,
		      (unsigned long long)delays->major_faults);
	canvas_format(canvas, row++, column, canvas->columns, ROLE_NORMAL,
		      "storage read %s, written %s", size_text(first, delays->read_bytes),
		      size_text(second, delays->write_bytes));
	return row + 1;
}

static int draw_all_reasons(const struct top_screen *screen, struct canvas *canvas, int row,
			    int column, int last, const struct row *what)
{
	struct wire_reason reasons[REASONS_MAX];
	size_t count = inspector_reasons(screen, what, reasons);
	char text[REASON_BYTES], length[16];
	int begun = row;

	if (row + 1 >= last) /* a heading alone says nothing */
		return row;
	for (size_t i = 0; i < count && row < last; i++) {
		const struct wire_reason *reason = &reasons[i];
		enum state state = state_of_wait(reason->site.state);

		if (row == begun)
			canvas_text(canvas, row++, column, canvas->columns, ROLE_HEADER,
				    "reasons                              time     count");
		reason_format(text, sizeof(text), reason->site,
			      session_is_native(screen->interval.session));
		duration_format(length, sizeof(length), reason->total_ns);
		canvas_text(canvas, row, column, 8, (enum role)(ROLE_STATE + (int)state),
			    state_info[state].key);
		canvas_text(canvas, row, column + 8, 24, ROLE_NORMAL, text);
		canvas_format(canvas, row++, column + 33, 20, ROLE_NORMAL, "%8s %9u", length,
			      reason->count);
	}
	return row + (row > begun);
}

void inspector_draw_full(const struct top_screen *screen, struct canvas *canvas, int first,
			 int count, const struct row *what, const struct history_item *item)
{
	const struct session_info *session = screen->interval.session;
	int wide = canvas->columns >= 130, right = wide ? 76 : 2, last = first + count;
	int row, left, room;

	inspector_draw_who(screen, canvas, first++, what, item);
	if (*screen->program)
		canvas_path(canvas, first, 2, canvas->columns - 2, ROLE_DIM, screen->program);
	left = draw_states(canvas, first + 1, what, item, session, wide);
	inspector_draw_switches(canvas, left, 2, &item->sum, session);
	left += 2;
	/* the answer first: on a narrow screen all else is below it */
	if (!wide)
		left = top_draw_blames(screen, canvas, left, right, left + BLAME_LINES, what);
	if (left + 5 < last) {
		canvas_format(canvas, left++, 2, canvas->columns, ROLE_HEADER,
			      "the last %llu intervals",
			      (unsigned long long)(item->intervals < HISTORY_INTERVALS
							   ? item->intervals
							   : HISTORY_INTERVALS));
		inspector_draw_past(canvas, left, 2,
				    last - left < PAST_LINES ? last - left : PAST_LINES,
				    HISTORY_INTERVALS, item);
		left += 9;
	}
	row = wide ? first + 1 : left;
	room = (last - row) / 3;
	if (wide)
		row = top_draw_blames(screen, canvas, row, right,
				      row + (room > BLAME_LINES ? BLAME_LINES : room), what);
	row = draw_all_reasons(screen, canvas, row, right, last, what);
	if (row + 1 < last && session_has(session, WIRE_METRIC_LATENCY))
		row = draw_histogram(canvas, row, right, &item->sum);
	if (row < last)
		draw_taskstats(screen, canvas, row, right, what);
}

int inspector_draw_scrolled(const struct top_screen *screen, struct canvas *canvas, int first,
			    int count, const struct row *what, const struct history_item *item)
{
	struct canvas all = {.ascii = canvas->ascii};
	int offset = screen->full_offset, lines = FULL_LINES;

	memcpy(all.solid, canvas->solid, sizeof(all.solid));
	if (count < 1 || canvas_reset(&all, FULL_LINES, canvas->columns) < 0)
		return 0;
	inspector_draw_full(screen, &all, 0, FULL_LINES, what, item);
	while (lines > 1 && canvas_line_is_blank(&all, lines - 1))
		lines--;
	canvas_scroll(canvas, first, 1, &all, 0, 1, 0);
	offset = canvas_scroll(canvas, first + 1, count - 1, &all, 1, lines, offset);
	canvas_release(&all);
	return offset;
}
