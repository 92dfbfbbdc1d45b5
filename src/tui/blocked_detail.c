// SPDX-License-Identifier: GPL-2.0-or-later
/* All there is to know about a hotspot, or about a worker. */
#include <string.h>

#include "base/duration.h"
#include "base/histogram.h"
#include "base/text.h"
#include "tui/blocked_state.h"
#include "view/blocked_words.h"

/* Draws line by line from a first one on, and counts them all. */
struct page {
	struct canvas *canvas;
	int first, room; /* rows of the canvas */
	int offset;	 /* lines that are above them */
	int line;	 /* the next */
};

/* The row of the next line; -1: out of sight. */
static int next_row(struct page *page)
{
	int line = page->line++ - page->offset;

	return line >= 0 && line < page->room ? page->first + line : -1;
}

/* In as many lines as it takes. */
static void draw_hint(struct page *page, const char *text)
{
	int columns = page->canvas->columns - 4;
	cleanup(output_release) struct output lines = {.fd = -1};

	if (columns <= 0 || output_init(&lines, -1) < 0)
		return;
	text_wrapped(&lines, text, 0, (size_t)columns);
	output_char(&lines, '\0');
	if (lines.error)
		return;
	for (char *line = lines.buffer, *end; line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		canvas_text(page->canvas, next_row(page), 2, columns, ROLE_DIM, line);
	}
}

static enum role role_of_frame(const struct frame *frame)
{
	switch (frame->kind) {
	case WIRE_FRAME_USER:
		return ROLE_TITLE;
	case WIRE_FRAME_DEPENDENCY:
		return ROLE_NORMAL;
	case WIRE_FRAME_UNKNOWN:
		return ROLE_WARNING;
	default:
		return ROLE_DIM;
	}
}

static void draw_stack(struct page *page, const struct stalls *stalls, uint32_t id,
		       const char *heading)
{
	const struct stack *stack = stalls_stack(stalls, id);
	int columns = page->canvas->columns, place = columns > 100 ? columns * 6 / 10 : columns;
	char text[512];

	canvas_format(page->canvas, next_row(page), 0, columns, ROLE_HEADER, "%s%s", heading,
		      !stack				   ? ": not known"
		      : stack->end == WIRE_STACK_COMPLETE  ? ""
		      : stack->end == WIRE_STACK_TRUNCATED ? " (cut off below)"
							   : " (not unwound)");
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stalls_frame(stalls, stack->frames[i]);
		int row = next_row(page);

		if (!frame)
			continue;
		canvas_format(page->canvas, row, 2, place - 3, role_of_frame(frame), "%s%s",
			      frame->function, frame->inlined ? " (inlined)" : "");
		if (place == columns)
			continue;
		snprintf(text, sizeof(text), "%s", *frame->file ? frame->file : frame->module);
		if (*frame->file && frame->line)
			snprintf(text, sizeof(text), "%s:%u", frame->file, frame->line);
		canvas_path(page->canvas, row, place, columns - place, ROLE_DIM, text);
	}
}

static void draw_party(struct page *page, const char *what, const struct wire_peer *peer,
		       const struct frame *function)
{
	char comm[sizeof(peer->comm) + 1] = {0}, name[BLOCKED_NAME_BYTES] = "",
				       place[BLOCKED_PLACE_BYTES];

	if (!peer->tid)
		return;
	memcpy(comm, peer->comm, sizeof(peer->comm));
	if (function)
		blocked_name(name, function);
	blocked_place(place, function);
	canvas_format(page->canvas, next_row(page), 0, page->canvas->columns, ROLE_NORMAL,
		      "%-12s  %s, thread %u of process %u%s%s %s", what, comm, peer->tid, peer->pid,
		      *name ? ", in " : "", name, place);
}

static void draw_bar(struct page *page, int row, int column, int width, double share,
		     enum state state)
{
	for (int i = 0; i < (int)(share * width + 0.5); i++)
		canvas_state(page->canvas, row, column + i, state);
}

/* Lengths from the first bucket that has some to the last. */
static void draw_length(struct page *page, int row, int width, const struct hotspot *hotspot,
			int bucket, uint32_t most)
{
	enum state state = stall_cause_info[hotspot->cause].state;
	char from[16];

	duration_format(from, sizeof(from), 1ULL << bucket);
	canvas_format(page->canvas, row, 2, width, ROLE_NORMAL, "from %7s %9u", from,
		      hotspot->buckets[bucket]);
	draw_bar(page, row, 25, width - 28, (double)hotspot->buckets[bucket] / most, state);
}

static void draw_share(struct page *page, int row, int column, int width,
		       const struct hotspot *hotspot, const struct hotspot_worker *worker,
		       uint64_t most)
{
	char total[16];

	duration_format(total, sizeof(total), worker->total_ns);
	canvas_format(page->canvas, row, column + 2, width, ROLE_NORMAL, "%8u %9llu %8s",
		      worker->tid, (unsigned long long)worker->count, total);
	draw_bar(page, row, column + 31, width - 34, (double)worker->count / (double)most,
		 stall_cause_info[hotspot->cause].state);
}

/* How long they were, and beside that on which workers. */
static void draw_spread(struct page *page, const struct hotspot *hotspot)
{
	int half = page->canvas->columns / 2, row = next_row(page);
	int first = 0, last = STALL_BUCKETS - 1, worker = 0;
	uint32_t most_stalls = 0;
	uint64_t most = 0;

	while (first < last && !hotspot->buckets[first])
		first++;
	while (last > first && !hotspot->buckets[last])
		last--;
	for (int i = first; i <= last; i++)
		if (hotspot->buckets[i] > most_stalls)
			most_stalls = hotspot->buckets[i];
	for (int i = 0; i < HOTSPOT_WORKERS; i++)
		if (hotspot->workers[i].count > most)
			most = hotspot->workers[i].count;
	canvas_text(page->canvas, row, 0, half, ROLE_HEADER, "LENGTHS           STALLS");
	canvas_text(page->canvas, row, half, half, ROLE_HEADER, "ON WORKER      STALLS    TOTAL");
	for (; first <= last || (worker < HOTSPOT_WORKERS && hotspot->workers[worker].tid);
	     first++, worker++) {
		row = next_row(page);
		if (first <= last && most_stalls)
			draw_length(page, row, half, hotspot, first, most_stalls);
		if (worker < HOTSPOT_WORKERS && hotspot->workers[worker].tid)
			draw_share(page, row, half, half, hotspot, &hotspot->workers[worker], most);
	}
	if (hotspot->others)
		canvas_format(page->canvas, next_row(page), half + 2, half, ROLE_NORMAL,
			      "  others %9llu", (unsigned long long)hotspot->others);
}

static void draw_metrics(struct page *page, const struct hotspot *hotspot)
{
	static const struct {
		const char *name;
		double quantile;
	} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
	char total[16], longest[16], text[16];
	int row = next_row(page), at = 0;

	duration_format(total, sizeof(total), hotspot->total_ns);
	duration_format(longest, sizeof(longest), hotspot->max_ns);
	at += canvas_format(page->canvas, row, at, 80, ROLE_NORMAL,
			    "%-12s  %llu stall%s, %s in all", "",
			    (unsigned long long)hotspot->count, text_plural(hotspot->count), total);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++) {
		duration_format(text, sizeof(text),
				histogram_percentile(hotspot->buckets, STALL_BUCKETS,
						     quantiles[i].quantile, hotspot->max_ns));
		at += canvas_format(page->canvas, row, at, 24, ROLE_NORMAL, "  %s %s",
				    quantiles[i].name, text);
	}
	canvas_format(page->canvas, row, at, 24, ROLE_NORMAL, "  longest %s", longest);
}

static void draw_hotspot(struct page *page, const struct blocked_screen *screen,
			 const struct hotspot *hotspot)
{
	const struct stalls *stalls = screen->options.stalls;
	const struct frame *function = stalls_frame(stalls, hotspot->function);
	const struct frame *type = stalls_frame(stalls, hotspot->type);
	enum role role = (enum role)(ROLE_STATE + (int)stall_cause_info[hotspot->cause].state);
	char name[BLOCKED_NAME_BYTES], cause[BLOCKED_CAUSE_BYTES], place[BLOCKED_PLACE_BYTES],
		limit[BLOCKED_LIMIT_BYTES];
	int row = next_row(page), at;

	snprintf(name, sizeof(name), "%s", blocked_without_function(hotspot->cause));
	if (function)
		blocked_name(name, function);
	blocked_place(place, function);
	at = canvas_format(page->canvas, row, 0, page->canvas->columns, ROLE_TITLE, "%s  ", name);
	canvas_text(page->canvas, row, at, page->canvas->columns, ROLE_DIM, place);
	blocked_cause(cause, hotspot->cause, hotspot->site);
	row = next_row(page);
	at = canvas_format(page->canvas, row, 0, 80, role, "%-12s  ", cause);
	canvas_format(page->canvas, row, at, page->canvas->columns, ROLE_NORMAL, "%s%s",
		      stall_cause_info[hotspot->cause].help,
		      hotspot->in_place ? ", in block_in_place(): announced to the runtime" : "");
	draw_metrics(page, hotspot);
	if (type)
		canvas_format(page->canvas, next_row(page), 0, page->canvas->columns, ROLE_NORMAL,
			      "%-12s  %s", "in task", type->function);
	draw_party(page, "ended by", &hotspot->waker,
		   stalls_frame(stalls, hotspot->waker_function));
	if (hotspot->cause == CAUSE_RUNNABLE)
		draw_party(page, "CPU taken by", &hotspot->culprit, NULL);
	blocked_limit(limit, &hotspot->limit, stalls);
	if (*limit)
		canvas_format(page->canvas, next_row(page), 0, page->canvas->columns, ROLE_NORMAL,
			      "%-12s  %s", "used up", limit);
	next_row(page);
	draw_spread(page, hotspot);
	next_row(page);
	draw_stack(page, stalls, hotspot->stack, "STACK of the longest");
	if (stalls_lack_names(stalls, hotspot->stack))
		draw_hint(page, MADE_AT_RUN_TIME_HINT);
}

static void draw_states(struct page *page, const struct stall_worker *worker)
{
	uint64_t observed_ns = 0;
	char length[16];

	for (int i = 0; i < STATES; i++)
		observed_ns += worker->states_ns[i];
	canvas_text(page->canvas, next_row(page), 0, 60, ROLE_HEADER,
		    "STATES         TIME    SHARE");
	for (int i = 0; i < STATES; i++) {
		double share = observed_ns ? (double)worker->states_ns[i] / (double)observed_ns : 0;
		int row;

		if (!worker->states_ns[i])
			continue;
		row = next_row(page);
		duration_format(length, sizeof(length), worker->states_ns[i]);
		canvas_text(page->canvas, row, 2, 10, (enum role)(ROLE_STATE + i),
			    state_info[i].key);
		canvas_format(page->canvas, row, 11, 20, ROLE_NORMAL, "%8s %6.1f %%", length,
			      100 * share);
		draw_bar(page, row, 31, 30, share, (enum state)i);
	}
}

static void draw_worker(struct page *page, const struct blocked_screen *screen,
			const struct blocked_worker *what)
{
	const struct stall_worker *worker = &what->worker;
	const struct stall_open *open = &what->open;
	const struct stalls *stalls = screen->options.stalls;
	char comm[sizeof(worker->last.comm) + 1] = {0}, longest[16], length[16];

	memcpy(comm, worker->last.comm, sizeof(worker->last.comm));
	duration_format(longest, sizeof(longest), worker->longest_ns);
	canvas_format(page->canvas, next_row(page), 0, page->canvas->columns, ROLE_TITLE,
		      "worker %u %s", worker->last.tid, comm);
	canvas_format(page->canvas, next_row(page), 0, page->canvas->columns, ROLE_NORMAL,
		      "%llu %s, %llu stall%s, longest %s; known as a worker by %s",
		      (unsigned long long)worker->spans,
		      worker->last.kind == WIRE_SPAN_TURN ? "turns" : "polls",
		      (unsigned long long)worker->stalls, text_plural(worker->stalls), longest,
		      blocked_found_by(worker->last.found_by));
	if (what->is_open) {
		duration_format(length, sizeof(length), open->duration_ns);
		canvas_format(page->canvas, next_row(page), 0, page->canvas->columns, ROLE_WARNING,
			      "%s for %s: %s",
			      open->duration_ns < BLOCKED_STUCK_NS ? "held" : "STUCK", length,
			      stall_cause_info[open->cause].help);
	}
	next_row(page);
	draw_states(page, worker);
	if (what->is_open) {
		next_row(page);
		draw_stack(page, stalls, open->stack, "STACK now");
	}
}

void blocked_draw_detail(struct blocked_screen *screen, struct canvas *canvas, int first, int count)
{
	struct page page = {canvas, first, count, (int)screen->detail_offset, 0};
	const struct hotspot *hotspot = blocked_selected(screen);
	const struct blocked_worker *worker = blocked_selected_worker(screen);

	if (screen->focus == FOCUS_HOTSPOTS && hotspot)
		draw_hotspot(&page, screen, hotspot);
	else if (screen->focus == FOCUS_WORKERS && worker)
		draw_worker(&page, screen, worker);
	screen->detail_lines = page.line;
	screen->detail_room = count;
}

void blocked_screen_yank(const struct blocked_screen *screen, struct output *out)
{
	const struct stalls *stalls = screen->options.stalls;
	const struct hotspot *hotspot = blocked_selected(screen);
	const struct blocked_worker *worker = blocked_selected_worker(screen);
	char name[BLOCKED_LABEL_BYTES], cause[BLOCKED_CAUSE_BYTES], total[16], longest[16];
	const struct stack *stack = NULL;

	if (screen->focus == FOCUS_HOTSPOTS && hotspot) {
		blocked_label(screen, hotspot, name);
		blocked_cause(cause, hotspot->cause, hotspot->site);
		duration_format(total, sizeof(total), hotspot->total_ns);
		duration_format(longest, sizeof(longest), hotspot->max_ns);
		output_format(out, "%s: %s, %llu stall%s, %s in all, longest %s\n", name, cause,
			      (unsigned long long)hotspot->count, text_plural(hotspot->count),
			      total, longest);
		stack = stalls_stack(stalls, hotspot->stack);
	} else if (screen->focus == FOCUS_WORKERS && worker && worker->is_open) {
		duration_format(total, sizeof(total), worker->open.duration_ns);
		output_format(out, "worker %u: stuck for %s: %s\n", worker->worker.last.tid, total,
			      stall_cause_info[worker->open.cause].key);
		stack = stalls_stack(stalls, worker->open.stack);
	}
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		const struct frame *frame = stalls_frame(stalls, stack->frames[i]);

		if (frame && frame->line)
			output_format(out, "  %s at %s:%u\n", frame->function, frame->file,
				      frame->line);
		else if (frame)
			output_format(out, "  %s (%s)\n", frame->function, frame->module);
	}
}
