// SPDX-License-Identifier: GPL-2.0-or-later
/* The selected row, in a few lines below the table or on the whole screen. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/histogram.h"
#include "base/proc_stat.h"
#include "base/text.h"
#include "tui/inspector.h"
#include "tui/parts.h"

#define LEFT_WIDTH(canvas) ((canvas)->columns / 2)
/* With so many lines to spare, all there is to know. */
#define FULL_FROM 28
/* Who, and the largest states. */
#define SMALL_LINES 6

/* Eighths of a block, for histograms. */
static void draw_column_chart(struct canvas *canvas, int row, int column, enum role role,
			      double share)
{
	static const char ascii[] = " .:-=+*#@";
	int eighths = share <= 0 ? 0 : (int)(share * 8 + 0.999);

	if (eighths > 8)
		eighths = 8;
	canvas_put(canvas, row, column, role, eighths ? 0x2580U + (unsigned int)eighths : ' ',
		   ascii[eighths]);
}

#define PATH_MIN 12

/*
 * The table is of one interval, the inspector of all in which it has seen the row. Where there is
 * room for that between `from` and the line's end; returns where it begins, or the line's end.
 */
static int draw_span(struct canvas *canvas, int row, int from, const struct history_item *item)
{
	char text[48];
	int length = snprintf(text, sizeof(text), " in %llu interval%s ",
			      (unsigned long long)item->intervals, text_plural(item->intervals));
	int at = canvas->columns - 2 - length;

	if (at < from)
		return canvas->columns;
	canvas_text(canvas, row, at, length, ROLE_NORMAL, text);
	return at;
}

void inspector_draw_who(const struct top_screen *screen, struct canvas *canvas, int row,
			const struct row *what, const struct history_item *item)
{
	const char *path = session_cgroup(screen->interval.session, what->cgroup_id);
	int at = 0, end;

	for (int i = 0; i < canvas->columns; i++)
		canvas_put(canvas, row, i, ROLE_DIM, 0x2500, '-');
	at = 2;
	if (screen->by == BY_THREAD)
		at += canvas_format(canvas, row, at, canvas->columns, ROLE_TITLE, " %u %s ",
				    what->tid, what->comm);
	else if (screen->by == BY_PROCESS)
		at += canvas_format(canvas, row, at, canvas->columns, ROLE_TITLE,
				    what->threads == 1 ? " %u %s, %u thread "
						       : " %u %s, %u threads ",
				    what->pid, what->process, what->threads);
	else
		at += canvas_format(canvas, row, at, canvas->columns, ROLE_TITLE, " %u threads ",
				    what->threads);
	at++;
	if (screen->by == BY_THREAD && session_has(screen->interval.session, WIRE_METRIC_CPU))
		at += 1 + canvas_format(canvas, row, at, canvas->columns, ROLE_NORMAL,
					" %s of process %u, %s nice %d, CPU %u ",
					what->tid == what->pid ? "first" : "thread", what->pid,
					proc_stat_policy(what->policy), what->nice, what->cpu);
	end = draw_span(canvas, row, at + (path ? PATH_MIN : 0), item);
	if (!path)
		return;
	canvas_put(canvas, row, at, ROLE_NORMAL, ' ', ' ');
	at += 1 + canvas_path(canvas, row, at + 1, end - at - 3, ROLE_DIM, path);
	canvas_put(canvas, row, at, ROLE_NORMAL, ' ', ' ');
}

#define CHART_MIN 5

/*
 * The percentiles, and before them a column per log2 bucket, cut to those in use. What there is not
 * room for: the columns of the shortest waits, the median, the longest.
 */
static void draw_latency(struct canvas *canvas, int row, int column, const struct row *sum,
			 const struct session_info *session)
{
	uint32_t most = 0;
	int first = WIRE_LATENCY_BUCKETS, last = -1, room;
	char p50[16], p99[16], longest[16], text[64];
	const char *shown = text;

	for (int i = 0; i < WIRE_LATENCY_BUCKETS; i++) {
		if (!sum->latency[i])
			continue;
		first = i < first ? i : first;
		last = i;
		most = sum->latency[i] > most ? sum->latency[i] : most;
	}
	column += 1 + canvas_text(canvas, row, column, canvas->columns, ROLE_DIM, "run queue");
	if (last < 0) {
		canvas_text(canvas, row, column, canvas->columns, ROLE_DIM,
			    session_has(session, WIRE_METRIC_LATENCY) ? "no wait for a CPU"
								      : "- not measured");
		return;
	}
	duration_format(p50, sizeof(p50),
			histogram_percentile(sum->latency, WIRE_LATENCY_BUCKETS, 0.50,
					     sum->latency_max_ns));
	duration_format(p99, sizeof(p99),
			histogram_percentile(sum->latency, WIRE_LATENCY_BUCKETS, 0.99,
					     sum->latency_max_ns));
	duration_format(longest, sizeof(longest), sum->latency_max_ns);
	snprintf(text, sizeof(text), "p50 %s  p99 %s  max %s", p50, p99, longest);
	room = canvas->columns - column - 1;
	if ((int)strlen(shown) > room - CHART_MIN)
		shown = strstr(text, "p99");
	if ((int)strlen(shown) > room)
		*strstr(text, "  max") = '\0';
	room -= (int)strlen(shown);
	if (first < last + 1 - room)
		first = last + 1 - room;
	for (int i = first; i <= last; i++)
		draw_column_chart(canvas, row, column++, ROLE_STATE + STATE_RUNNABLE,
				  (double)sum->latency[i] / most);
	canvas_text(canvas, row, column + (first <= last), canvas->columns, ROLE_NORMAL, shown);
}

void inspector_draw_switches(struct canvas *canvas, int row, int column, const struct row *sum,
			     const struct session_info *session)
{
	struct parts line = {canvas, row, column, canvas->columns};

	line.at += 1 + canvas_text(canvas, row, column, canvas->columns, ROLE_DIM, "switches");
	if (!session_has(session, WIRE_METRIC_SWITCHES) &&
	    !session_has(session, WIRE_METRIC_WAKEUPS) &&
	    !session_has(session, WIRE_METRIC_MIGRATIONS))
		parts_add(&line, ROLE_DIM, "- not measured");
	if (session_has(session, WIRE_METRIC_SWITCHES))
		parts_add(&line, ROLE_NORMAL, "%llu vol %llu invol",
			  (unsigned long long)sum->voluntary, (unsigned long long)sum->involuntary);
	if (sum->throttled)
		parts_add(&line, ROLE_WARNING, "throttled %llu",
			  (unsigned long long)sum->throttled);
	if (session_has(session, WIRE_METRIC_WAKEUPS))
		parts_add(&line, ROLE_NORMAL, "wakeups %llu", (unsigned long long)sum->woken);
	if (session_has(session, WIRE_METRIC_MIGRATIONS))
		parts_add(&line, ROLE_NORMAL, "migrations %llu",
			  (unsigned long long)sum->migrations);
	if (session_has(session, WIRE_METRIC_WAKEUPS))
		parts_add(&line, ROLE_NORMAL, "preempted %llu", (unsigned long long)sum->preempted);
}

static bool is_of(const struct top_screen *screen, const struct wire_reason *reason,
		  const struct row *what)
{
	return screen->by == BY_THREAD	  ? reason->tid == what->tid
	       : screen->by == BY_PROCESS ? reason->pid == what->pid
					  : false;
}

/* Of a row, longest first; those of a process's threads summed up. Returns how many. */
size_t inspector_reasons(const struct top_screen *screen, const struct row *what,
			 struct wire_reason into[REASONS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < screen->reason_count; i++) {
		const struct wire_reason *reason = &screen->reasons[i];
		size_t at = 0;

		if (!is_of(screen, reason, what))
			continue;
		while (at < count && memcmp(&into[at].site, &reason->site, sizeof(reason->site)))
			at++;
		if (at == REASONS_MAX)
			continue;
		if (at == count) {
			into[count++] = *reason;
		} else {
			into[at].total_ns += reason->total_ns;
			into[at].count += reason->count;
		}
		for (; at && into[at].total_ns > into[at - 1].total_ns; at--) {
			struct wire_reason swap = into[at];

			into[at] = into[at - 1];
			into[at - 1] = swap;
		}
	}
	return count;
}

/* `fsync 388ms ×97`, longest first, of one state. Returns the column after the last. */
static int draw_reasons(const struct top_screen *screen, struct canvas *canvas, int row, int column,
			int width, const struct row *what, enum state state)
{
	struct wire_reason reasons[REASONS_MAX];
	size_t count = inspector_reasons(screen, what, reasons);
	char text[REASON_BYTES], length[16];
	int at = column, end = column + width;

	for (size_t i = 0; i < count && at + 12 < end; i++) {
		const struct wire_reason *reason = &reasons[i];

		if (state_of_wait(reason->site.state) != state)
			continue;
		reason_format(text, sizeof(text), reason->site,
			      session_is_native(screen->interval.session));
		duration_format(length, sizeof(length), reason->total_ns);
		at += canvas_format(canvas, row, at, end - at, ROLE_NORMAL,
				    canvas->ascii ? "%s%s %s x%u" : "%s%s %s ×%u",
				    at == column ? "" : ", ", text, length, reason->count);
	}
	return at;
}

/* The states that took the most, a line each: time, and what it was spent on. */
static void draw_top_states(const struct top_screen *screen, struct canvas *canvas, int row,
			    int lines, const struct row *what, const struct row *sum)
{
	bool listed[STATES] = {false};
	char length[16];

	for (int line = 0; line < lines; line++) {
		int largest = -1, at;

		for (int i = 0; i < STATES; i++)
			if (!listed[i] && sum->states_ns[i] &&
			    (largest < 0 || sum->states_ns[i] > sum->states_ns[largest]))
				largest = i;
		if (largest < 0)
			return;
		listed[largest] = true;
		duration_format(length, sizeof(length), sum->states_ns[largest]);
		canvas_state(canvas, row + line, 2, (enum state)largest);
		at = 4 + canvas_format(canvas, row + line, 4, 22, (enum role)(ROLE_STATE + largest),
				       "%-8s %7s", state_info[largest].key, length);
		draw_reasons(screen, canvas, row + line, at + 2, LEFT_WIDTH(canvas) - at - 3, what,
			     (enum state)largest);
	}
}

/* The last intervals, oldest first, as stacked columns of `height` cells. */
void inspector_draw_past(struct canvas *canvas, int row, int column, int height, int width,
			 const struct history_item *item)
{
	uint64_t count = item->intervals < HISTORY_INTERVALS ? item->intervals : HISTORY_INTERVALS;

	if ((int)count > width)
		count = (uint64_t)width;
	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *shares =
			item->shares[(item->intervals - count + i) % HISTORY_INTERVALS];
		unsigned int whole = 0, sum = 0;
		int used = 0;

		for (int j = 0; j < STATES; j++)
			whole += shares[j];
		for (int j = 0; j < STATES && whole; j++) {
			sum += shares[j];
			int end = (int)((double)sum / whole * height + 0.5);

			for (; used < end && used < height; used++)
				canvas_state(canvas, row + height - 1 - used, column + (int)i,
					     (enum state)j);
		}
	}
}

const struct wire_delays *inspector_delays(const struct top_screen *screen, const struct row *what)
{
	return screen->by == BY_THREAD
		       ? intervals_delays(screen->intervals, what->tid, what->start_ns)
		       : NULL;
}

const char *const inspector_delay_keys[WIRE_DELAYS_COUNT] = {
#define X(name, index, key, version, help) [index] = key,
	WIRE_DELAY_KINDS(X)
#undef X
};

static void draw_delays_line(const struct top_screen *screen, struct canvas *canvas, int row,
			     int column, const struct row *what)
{
	const struct wire_delays *delays = inspector_delays(screen, what);
	char length[16];
	int at = column;

	if (!delays)
		return;
	/* as the kernel has them */
	at += 1 + canvas_text(canvas, row, at, canvas->columns, ROLE_DIM, "since start, delays");
	for (int i = 0; i < WIRE_DELAYS_COUNT && at + 12 < canvas->columns; i++) {
		if (!(delays->measured & 1U << i) || !delays->delays[i].count)
			continue;
		duration_format(length, sizeof(length), delays->delays[i].total_ns);
		at += canvas_format(canvas, row, at, canvas->columns, ROLE_NORMAL, "%s %s/%llu  ",
				    inspector_delay_keys[i], length,
				    (unsigned long long)delays->delays[i].count);
	}
}

static void draw_small(const struct top_screen *screen, struct canvas *canvas, int first, int count,
		       const struct row *what, const struct history_item *item)
{
	int right = LEFT_WIDTH(canvas), last = first + count, states, at;

	inspector_draw_who(screen, canvas, first++, what, item);
	/* with lines to spare, also what it was started as */
	if (*screen->program && count > SMALL_LINES)
		canvas_path(canvas, first++, 2, canvas->columns - 2, ROLE_DIM, screen->program);
	states = last - first < SMALL_LINES - 1 ? last - first : SMALL_LINES - 1;
	draw_top_states(screen, canvas, first, states, what, &item->sum);
	if (canvas->columns - right >= 24) {
		draw_latency(canvas, first, right, &item->sum, screen->interval.session);
		inspector_draw_switches(canvas, first + 1, right, &item->sum,
					screen->interval.session);
		draw_delays_line(screen, canvas, first + 2, right, what);
		at = right +
		     canvas_text(canvas, first + 3, right, canvas->columns, ROLE_DIM, "past") + 6;
		inspector_draw_past(canvas, first + 3, at,
				    last - first - 3 < PAST_LINES ? last - first - 3 : PAST_LINES,
				    canvas->columns - at, item);
	}
	if (last - first > PAST_LINES + 5)
		top_draw_blames(screen, canvas, first + PAST_LINES + 4, 2, last, what);
	else if (last - first > states + 3)
		top_draw_blames(screen, canvas, first + states + 1, 2, last, what);
}

int top_draw_inspector(const struct top_screen *screen, struct canvas *canvas, int first, int count)
{
	const struct row *what = top_selected(screen);
	const struct history_item *item;
	struct history_item alone;

	if (!what)
		return 0;
	item = history_find(&screen->history, what, screen->by);
	if (!item) {
		history_begin(&alone, what);
		item = &alone;
	}
	if (screen->full)
		return inspector_draw_scrolled(screen, canvas, first, count, what, item);
	if (count >= FULL_FROM)
		inspector_draw_full(screen, canvas, first, count, what, item);
	else
		draw_small(screen, canvas, first, count, what, item);
	return 0;
}
