// SPDX-License-Identifier: GPL-2.0-or-later
/* What keeps the workers, how each of them is, and when it was kept. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/histogram.h"
#include "base/text.h"
#include "tui/blocked_state.h"
#include "view/blocked_words.h"

#define CAUSE_WIDTH	  22
#define METRIC_WIDTH	  9
#define SHARE_WIDTH	  8
#define PLACE_MIN	  16
#define PLACE_MAX	  28
#define LABEL_MIN	  22
#define LABEL_COMFORTABLE 36
#define LABEL_MAX	  56
#define SHARE_BAR	  10

#define WHO_MIN		  32

/* Which columns of the hotspots there is room for; 0 = not shown. */
struct hotspot_layout {
	int label, place, cause;
	bool p99, total;
	int bar, who; /* who: it waited for whom */
};

/* Widens up to `wanted`, as far as there is something left. */
static void give(int *width, int *left, int wanted)
{
	int more = wanted - *width < *left ? wanted - *width : *left;

	if (more < 0)
		return;
	*width += more;
	*left -= more;
}

static struct hotspot_layout plan_hotspots(const struct blocked_screen *screen, int columns)
{
	struct hotspot_layout layout = {.cause = CAUSE_WIDTH, .label = LABEL_MIN};
	/* cursor, stalls, max and share are always there */
	int left = columns - 2 - LABEL_MIN - CAUSE_WIDTH - 7 - METRIC_WIDTH - SHARE_WIDTH;

	if (left < 0) {
		layout.cause += left > 8 - CAUSE_WIDTH ? left : 8 - CAUSE_WIDTH;
		return layout;
	}
	if (left >= METRIC_WIDTH) {
		layout.total = true;
		left -= METRIC_WIDTH;
	}
	if (left >= METRIC_WIDTH) {
		layout.p99 = true;
		left -= METRIC_WIDTH;
	}
	give(&layout.label, &left, LABEL_COMFORTABLE);
	if (screen->by == HOTSPOTS_BY_FUNCTION && left >= PLACE_MIN)
		give(&layout.place, &left, PLACE_MIN);
	if (left >= SHARE_BAR + 1) {
		layout.bar = SHARE_BAR;
		left -= SHARE_BAR + 1;
	}
	give(&layout.label, &left, LABEL_MAX);
	if (layout.place)
		give(&layout.place, &left, PLACE_MAX);
	layout.who = left;
	return layout;
}

static int put_metric(struct canvas *canvas, int row, int column, int width, enum role role,
		      uint64_t ns)
{
	char text[16];

	duration_format(text, sizeof(text), ns);
	canvas_format(canvas, row, column, width, role, "%*s", width, text);
	return column + width;
}

static void draw_hotspot_heading(const struct blocked_screen *screen, struct canvas *canvas,
				 int row, const struct hotspot_layout *layout)
{
	char heading[96];
	int at;

	if (*screen->base.filter)
		snprintf(heading, sizeof(heading), "HOTSPOTS by %s, %zu of %zu",
			 hotspot_grouping_keys[screen->by], screen->order_count,
			 screen->hotspot_count);
	else
		snprintf(heading, sizeof(heading), "HOTSPOTS by %s",
			 hotspot_grouping_keys[screen->by]);
	canvas_text(canvas, row, 0, layout->label, ROLE_HEADER, heading);
	at = 2 + layout->label + layout->place;
	at += canvas_format(canvas, row, at, layout->cause, ROLE_HEADER, "%-*s", layout->cause,
			    "CAUSE");
	at += canvas_text(canvas, row, at, 7, ROLE_HEADER, " STALLS");
	if (layout->total)
		at += canvas_format(canvas, row, at, METRIC_WIDTH, ROLE_HEADER, "%*s", METRIC_WIDTH,
				    "TOTAL");
	if (layout->p99)
		at += canvas_format(canvas, row, at, METRIC_WIDTH, ROLE_HEADER, "%*s", METRIC_WIDTH,
				    "P99");
	at += canvas_format(canvas, row, at, METRIC_WIDTH, ROLE_HEADER, "%*s", METRIC_WIDTH, "MAX");
	canvas_format(canvas, row, at, SHARE_WIDTH, ROLE_HEADER, "%*s", SHARE_WIDTH, "SHARE");
}

/* Who held what it waited for, or the CPU. */
static void draw_who(const struct blocked_screen *screen, struct canvas *canvas, int row,
		     int column, int width, const struct hotspot *hotspot)
{
	const struct frame *function =
		stalls_frame(screen->options.stalls, hotspot->waker_function);
	char comm[sizeof(hotspot->waker.comm) + 1] = {0}, name[BLOCKED_NAME_BYTES] = "",
						limit[BLOCKED_LIMIT_BYTES];

	blocked_limit(limit, &hotspot->limit, screen->options.stalls);
	if (hotspot->in_place) {
		canvas_text(canvas, row, column, width, ROLE_DIM,
			    "block_in_place: the runtime knew");
	} else if (*limit) {
		canvas_format(canvas, row, column, width, ROLE_DIM, "%s was used up", limit);
	} else if (hotspot->cause == CAUSE_RUNNABLE && hotspot->culprit.tid) {
		memcpy(comm, hotspot->culprit.comm, sizeof(hotspot->culprit.comm));
		canvas_format(canvas, row, column, width, ROLE_DIM, "CPU taken by %s (%u)", comm,
			      hotspot->culprit.pid);
	} else if ((hotspot->cause == CAUSE_LOCK || hotspot->cause == CAUSE_IPC) &&
		   hotspot->waker.tid) {
		memcpy(comm, hotspot->waker.comm, sizeof(hotspot->waker.comm));
		if (function) {
			blocked_name(name, function);
			blocked_cut_parameters(name);
		}
		canvas_format(canvas, row, column, width, ROLE_DIM, "ended by %s %u %s", comm,
			      hotspot->waker.tid, name);
	}
}

static void draw_hotspot(const struct blocked_screen *screen, struct canvas *canvas, int row,
			 const struct hotspot *hotspot, const struct hotspot_layout *layout)
{
	enum role role = (enum role)(ROLE_STATE + (int)stall_cause_info[hotspot->cause].state);
	enum role plain = hotspot->in_place ? ROLE_DIM : ROLE_NORMAL;
	uint64_t observed_ns = blocked_observed_ns(screen);
	double share = observed_ns ? (double)hotspot->total_ns / (double)observed_ns : 0;
	char label[BLOCKED_LABEL_BYTES], place[BLOCKED_PLACE_BYTES], cause[BLOCKED_CAUSE_BYTES];
	int at = 2;

	blocked_label(screen, hotspot, label);
	canvas_path(canvas, row, at, layout->label - 1, plain, label);
	at += layout->label;
	if (layout->place) {
		blocked_place(place, stalls_frame(screen->options.stalls, hotspot->function));
		canvas_text(canvas, row, at, layout->place - 1, ROLE_DIM, place);
		at += layout->place;
	}
	blocked_cause(cause, hotspot->cause, hotspot->site);
	/* it is no fault: that must not be what there is no room for */
	canvas_format(canvas, row, at, layout->cause - 1, role, "%s%s",
		      hotspot->in_place && layout->who <= WHO_MIN ? "in place: " : "", cause);
	at += layout->cause;
	at += canvas_format(canvas, row, at, 7, plain, "%7llu", (unsigned long long)hotspot->count);
	if (layout->total)
		at = put_metric(canvas, row, at, METRIC_WIDTH, plain, hotspot->total_ns);
	if (layout->p99)
		at = put_metric(canvas, row, at, METRIC_WIDTH, plain,
				histogram_percentile(hotspot->buckets, STALL_BUCKETS, 0.99,
						     hotspot->max_ns));
	at = put_metric(canvas, row, at, METRIC_WIDTH, plain, hotspot->max_ns);
	at += canvas_format(canvas, row, at, SHARE_WIDTH, plain, "%6.2f %%", 100 * share);
	if (layout->bar) {
		const struct hotspot *largest = screen->order[0];
		int cells = largest->total_ns
				    ? (int)((double)hotspot->total_ns / (double)largest->total_ns *
						    layout->bar +
					    0.5)
				    : 0;

		for (int i = 0; i < cells && i < layout->bar; i++)
			canvas_state(canvas, row, at + 1 + i,
				     stall_cause_info[hotspot->cause].state);
		at += layout->bar + 1;
	}
	if (layout->who > WHO_MIN)
		draw_who(screen, canvas, row, at + 1, layout->who - 1, hotspot);
}

void blocked_scroll(size_t *offset, size_t selected, int lines)
{
	if (lines < 1)
		return;
	if (selected < *offset)
		*offset = selected;
	if (selected >= *offset + (size_t)lines)
		*offset = selected + 1 - (size_t)lines;
}

/* Below the hotspots, or what is there without any, if there is room. */
static void draw_unjudged(const struct blocked_screen *screen, struct canvas *canvas, int first,
			  int count)
{
	int taken = screen->order_count ? (int)screen->order_count : 1;
	char text[BLOCKED_UNJUDGED_BYTES];

	if (taken < count && blocked_unjudged(text, screen->options.stalls))
		canvas_format(canvas, first + taken, 2, canvas->columns - 2, ROLE_WARNING,
			      "not judged: %s", text);
}

void blocked_draw_hotspots(struct blocked_screen *screen, struct canvas *canvas, int first,
			   int count)
{
	struct hotspot_layout layout = plan_hotspots(screen, canvas->columns);

	if (count < 2)
		return;
	draw_hotspot_heading(screen, canvas, first, &layout);
	screen->hotspot_line = first + 1;
	screen->hotspot_lines = count - 1;
	blocked_scroll(&screen->hotspot_offset, screen->hotspot, count - 1);
	if (!screen->order_count)
		canvas_text(canvas, first + 1, 2, canvas->columns, ROLE_DIM,
			    !screen->hotspot_count ? "no stalls so far"
			    : *screen->base.filter ? "nothing matches the search"
						   : "no function: others had the CPU");
	draw_unjudged(screen, canvas, first + 1, count - 1);
	for (int i = 0; i < count - 1; i++) {
		size_t index = screen->hotspot_offset + (size_t)i;

		if (index >= screen->order_count)
			break;
		draw_hotspot(screen, canvas, first + 1 + i, screen->order[index], &layout);
		if (screen->focus == FOCUS_HOTSPOTS && index == screen->hotspot)
			canvas_select(canvas, first + 1 + i);
	}
}

#define NAME_WIDTH 25 /* number and name */
#define BAR_MIN	   10
#define BAR_MAX	   24
#define LANE_MIN   12

static int bar_width(int columns)
{
	int width = (columns - NAME_WIDTH - 7 - METRIC_WIDTH) / 4;

	return width < BAR_MIN ? BAR_MIN : width > BAR_MAX ? BAR_MAX : width;
}

/* Where the timeline begins; columns where there is no room for one. */
static int lane_column(int columns)
{
	int column = NAME_WIDTH + bar_width(columns) + 7 + METRIC_WIDTH + 2;

	return columns - column >= LANE_MIN ? column : columns;
}

/* Between two marks of the axis; no label has more than so many columns, with its bar and a gap. */
#define AGO_COLUMNS 10

uint64_t blocked_axis_step_ns(uint64_t span_ns, int width)
{
	static const uint64_t steps_ms[] = {100,    200,    500,     1000,   2000,   5000,
					    10000,  15000,  30000,   60000,  120000, 300000,
					    600000, 900000, 1800000, 3600000};
	uint64_t step_ns = 0;

	for (size_t i = 0; i < ARRAY_SIZE(steps_ms); i++) {
		step_ns = steps_ms[i] * NS_PER_MS;
		if (step_ns >= span_ns / 4 &&
		    step_ns * (uint64_t)(width > 0 ? width : 0) >= span_ns * AGO_COLUMNS)
			break;
	}
	return step_ns;
}

/* As exact as a step of the axis. */
static void format_ago(char *text, size_t size, uint64_t ns, uint64_t step_ns)
{
	if (step_ns % (60 * NS_PER_S) == 0)
		snprintf(text, size, "-%.0fm", (double)ns / 60e9);
	else
		snprintf(text, size, "-%.*fs", step_ns < NS_PER_S, (double)ns / 1e9);
}

/* "|-30s … |-20s … |-10s … now|", over the lanes. */
static void draw_axis(const struct blocked_screen *screen, struct canvas *canvas, int row,
		      int column)
{
	int width = canvas->columns - column;
	uint64_t step_ns = blocked_axis_step_ns(screen->span_ns, width);
	uint64_t oldest_ns = screen->back_ns + screen->span_ns;
	char text[32], ago[24];

	for (uint64_t ago_ns = oldest_ns / step_ns * step_ns; ago_ns > screen->back_ns;
	     ago_ns -= step_ns) {
		double share = (double)(oldest_ns - ago_ns) / (double)screen->span_ns;

		format_ago(text, sizeof(text), ago_ns, step_ns);
		canvas_format(canvas, row, column + (int)(share * width), AGO_COLUMNS, ROLE_DIM,
			      "|%s", text);
	}
	snprintf(text, sizeof(text), " now|");
	if (screen->back_ns) {
		/* the oldest there is need not be at a mark */
		if (screen->back_ns % step_ns)
			step_ns = screen->back_ns % NS_PER_S ? NS_PER_S / 10 : NS_PER_S;
		format_ago(ago, sizeof(ago), screen->back_ns, step_ns);
		snprintf(text, sizeof(text), " %s|", ago);
	}
	canvas_text(canvas, row, canvas->columns - (int)strlen(text), 24, ROLE_DIM, text);
}

static void put_cell(struct canvas *canvas, int row, int column, const struct timeline_cell *cell)
{
	static const uint32_t levels[] = {0x2581, 0x2582, 0x2583, 0x2584}; /* lower eighths */
	enum state state;
	int level;

	switch (cell->kind) {
	case TIMELINE_UNKNOWN:
		return;
	case TIMELINE_IDLE:
		canvas_state(canvas, row, column, STATE_IDLE);
		return;
	case TIMELINE_RUNNING:
		level = (int)(cell->on_cpu * 4);
		canvas_put(canvas, row, column, ROLE_DIM, levels[level > 3 ? 3 : level], '-');
		return;
	case TIMELINE_STALLED:
		state = stall_cause_info[cell->cause].state;
		canvas_state(canvas, row, column, state);
		return;
	}
}

static void draw_lane(const struct blocked_screen *screen, struct canvas *canvas, int row,
		      int column, const struct blocked_worker *worker)
{
	int width = canvas->columns - column;
	uint64_t cell_ns = width > 0 ? screen->span_ns / (unsigned int)width : 0;
	uint64_t to_ns = screen->end_ns - screen->back_ns;
	uint64_t from_ns = to_ns > screen->span_ns ? to_ns - screen->span_ns : 0;
	struct timeline_cell *cells;

	if (!cell_ns)
		return;
	cells = calloc((size_t)width, sizeof(*cells));
	if (!cells)
		return;
	timeline_cells(screen->timeline, &worker->worker, from_ns, cell_ns, cells, (size_t)width);
	if (worker->is_open) {
		for (int i = 0; i < width; i++) {
			uint64_t cell_end_ns = from_ns + (uint64_t)(i + 1) * cell_ns;

			if (cell_end_ns > worker->worker.last.open_ns) {
				cells[i].kind = TIMELINE_STALLED;
				cells[i].cause = worker->open.cause;
			}
		}
	}
	for (int i = 0; i < width; i++)
		put_cell(canvas, row, column + i, &cells[i]);
	free(cells);
}

/* What keeps it, in place of its lane's beginning: that is what a user looks for. */
static void draw_open(const struct blocked_screen *screen, struct canvas *canvas, int row,
		      int column, int width, const struct blocked_worker *worker)
{
	const struct stall_open *open = &worker->open;
	const struct frame *function;
	char length[16], name[BLOCKED_NAME_BYTES] = "";

	if (!worker->is_open || open->duration_ns < BLOCKED_STUCK_NS)
		return;
	function = stalls_frame(screen->options.stalls, open->function);
	if (function)
		blocked_name(name, function);
	blocked_cut_parameters(name);
	duration_format(length, sizeof(length), open->duration_ns);
	canvas_format(canvas, row, column, width, ROLE_WARNING, " STUCK %s %s %s ", length,
		      stall_cause_info[open->cause].key, name);
}

static void draw_worker(const struct blocked_screen *screen, struct canvas *canvas, int row,
			const struct blocked_worker *what)
{
	const struct stall_worker *worker = &what->worker;
	char comm[sizeof(worker->last.comm) + 1] = {0};
	int bar = bar_width(canvas->columns), at = NAME_WIDTH, lane = lane_column(canvas->columns);
	uint64_t observed_ns = 0;

	memcpy(comm, worker->last.comm, sizeof(worker->last.comm));
	for (int i = 0; i < STATES; i++)
		observed_ns += worker->states_ns[i];
	canvas_format(canvas, row, 0, NAME_WIDTH - 1, worker->ended ? ROLE_DIM : ROLE_NORMAL,
		      "%8u %s", worker->last.tid, comm);
	canvas_bar(canvas, row, at, bar, worker->states_ns, observed_ns);
	at += bar;
	at += canvas_format(canvas, row, at, 7, ROLE_NORMAL, "%7llu",
			    (unsigned long long)worker->stalls);
	put_metric(canvas, row, at, METRIC_WIDTH, ROLE_NORMAL, worker->longest_ns);
	draw_lane(screen, canvas, row, lane, what);
	if (canvas->columns - lane >= 2 * LANE_MIN)
		draw_open(screen, canvas, row, lane, (canvas->columns - lane) * 2 / 3, what);
}

void blocked_draw_workers(struct blocked_screen *screen, struct canvas *canvas, int first,
			  int count)
{
	int at = NAME_WIDTH, lane = lane_column(canvas->columns);

	if (count < 2)
		return;
	canvas_text(canvas, first, 0, NAME_WIDTH, ROLE_HEADER, "WORKERS");
	canvas_text(canvas, first, at, 12, ROLE_HEADER, "TIME");
	at += bar_width(canvas->columns);
	canvas_format(canvas, first, at, 7 + METRIC_WIDTH, ROLE_HEADER, " STALLS%*s", METRIC_WIDTH,
		      "LONGEST");
	if (lane < canvas->columns)
		draw_axis(screen, canvas, first, lane);
	screen->worker_line = first + 1;
	screen->worker_lines = count - 1;
	blocked_scroll(&screen->worker_offset, screen->worker, count - 1);
	if (!screen->worker_count)
		canvas_text(canvas, first + 1, 2, canvas->columns, ROLE_DIM,
			    "no worker has been seen yet: none has polled a task, or waited for "
			    "events as a loop does");
	for (int i = 0; i < count - 1; i++) {
		size_t index = screen->worker_offset + (size_t)i;

		if (index >= screen->worker_count)
			break;
		draw_worker(screen, canvas, first + 1 + i, &screen->workers[index]);
		if (screen->focus == FOCUS_WORKERS && index == screen->worker)
			canvas_select(canvas, first + 1 + i);
	}
}
