// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* strcasestr */
#include "tui/blocked_screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/text.h"
#include "model/starvation.h"
#include "tui/blocked_state.h"
#include "view/blocked_words.h"

/* Live, four minutes at four intervals a second; a recording is there as a whole. */
#define LIVE_STALLS	 8192
#define LIVE_INTERVALS	 1024
#define REPLAY_STALLS	 131072
#define REPLAY_INTERVALS 32768

#define DEFAULT_SPAN_NS	 (30 * NS_PER_S)

/* A share of the workers' time in stalls from which on they count as blocked. */
#define BLOCKED_SHARE 0.01
/* In waits for a CPU, from which on it matters who had it. */
#define STARVED_SHARE 0.01

struct blocked_screen *blocked_screen_new(const struct blocked_screen_options *options)
{
	struct blocked_screen *screen = calloc(1, sizeof(*screen));

	if (!screen)
		return NULL;
	screen->options = *options;
	screen->base.replay = options->replay;
	screen->base.keymap = options->keymap;
	screen->span_ns = DEFAULT_SPAN_NS;
	screen->timeline = timeline_new(options->replay ? REPLAY_STALLS : LIVE_STALLS,
					options->replay ? REPLAY_INTERVALS : LIVE_INTERVALS);
	if (!screen->timeline) {
		free(screen);
		return NULL;
	}
	return screen;
}

void blocked_screen_free(struct blocked_screen *screen)
{
	if (!screen)
		return;
	timeline_free(screen->timeline);
	free(screen->hotspots);
	free(screen->order);
	free(screen->workers);
	free(screen->tasks);
	free(screen->task_order);
	free(screen);
}

void blocked_screen_stall(struct blocked_screen *screen, const struct stall *stall)
{
	timeline_add_stall(screen->timeline, stall);
}

int blocked_screen_interval(struct blocked_screen *screen, const struct interval *interval)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(screen->options.stalls, &count);

	screen->session = interval->session;
	return timeline_add_interval(screen->timeline, interval, workers, count);
}

const struct hotspot *blocked_selected(const struct blocked_screen *screen)
{
	return !screen->shows_tasks && screen->hotspot < screen->order_count
		       ? screen->order[screen->hotspot]
		       : NULL;
}

const struct blocked_worker *blocked_selected_worker(const struct blocked_screen *screen)
{
	return screen->worker < screen->worker_count ? &screen->workers[screen->worker] : NULL;
}

void blocked_label(const struct blocked_screen *screen, const struct hotspot *hotspot,
		   char into[BLOCKED_LABEL_BYTES])
{
	const struct stalls *stalls = screen->options.stalls;
	const struct frame *function = stalls_frame(stalls, hotspot->function);
	const struct frame *type = stalls_frame(stalls, hotspot->type);
	const char *text = blocked_without_function(hotspot->cause);
	char name[BLOCKED_NAME_BYTES];

	if (screen->by == HOTSPOTS_BY_FUNCTION && function) {
		blocked_name(name, function);
		blocked_cut_parameters(name);
		text = name;
	} else if (screen->by == HOTSPOTS_BY_FILE && function) {
		text = *function->file	   ? function->file
		       : *function->module ? function->module
					   : "(no file)";
	} else if (screen->by == HOTSPOTS_BY_TASK) {
		text = type ? type->function : "(type not known)";
	}
	snprintf(into, BLOCKED_LABEL_BYTES, "%s", text);
}

uint64_t blocked_observed_ns(const struct blocked_screen *screen)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < screen->worker_count; i++)
		for (int j = 0; j < STATES; j++)
			sum_ns += screen->workers[i].worker.states_ns[j];
	return sum_ns;
}

/* In its name, its cause, its task, or anywhere in its stack. */
static bool passes(const struct blocked_screen *screen, const struct hotspot *hotspot)
{
	const struct stalls *stalls = screen->options.stalls;
	const struct stack *stack = stalls_stack(stalls, hotspot->stack);
	const struct frame *frame = stalls_frame(stalls, hotspot->type);
	char label[BLOCKED_LABEL_BYTES];

	if (!*screen->base.filter)
		return true;
	blocked_label(screen, hotspot, label);
	if (strcasestr(label, screen->base.filter) ||
	    strcasestr(stall_cause_info[hotspot->cause].key, screen->base.filter) ||
	    (frame && strcasestr(frame->function, screen->base.filter)))
		return true;
	for (uint32_t i = 0; stack && i < stack->count; i++) {
		frame = stalls_frame(stalls, stack->frames[i]);
		if (frame && (strcasestr(frame->function, screen->base.filter) ||
			      strcasestr(frame->file, screen->base.filter)))
			return true;
	}
	return false;
}

static bool is_same(const struct blocked_screen *screen, const struct hotspot *a,
		    const struct hotspot *b)
{
	return a->cause == b->cause && a->in_place == b->in_place &&
	       a->keys[screen->by] == b->keys[screen->by];
}

static void follow_selection(struct blocked_screen *screen)
{
	for (size_t i = 0; screen->selected && i < screen->order_count; i++) {
		if (is_same(screen, screen->order[i], &screen->chosen)) {
			screen->hotspot = i;
			break;
		}
	}
	if (screen->hotspot >= screen->order_count)
		screen->hotspot = screen->order_count ? screen->order_count - 1 : 0;
	if (screen->worker >= screen->worker_count)
		screen->worker = screen->worker_count ? screen->worker_count - 1 : 0;
	if (screen->order_count)
		screen->chosen = *screen->order[screen->hotspot];
}

/* The function only happened to be there: a line says who had the CPU. */
static bool is_starved(const struct blocked_screen *screen, const struct hotspot *hotspot)
{
	return screen->has_starved && blocked_lost_its_cpu(hotspot);
}

int blocked_arrange(struct blocked_screen *screen)
{
	if (array_reserve(&screen->order, &screen->order_room, screen->hotspot_count,
			  sizeof(*screen->order)) < 0)
		return -ENOMEM;
	screen->order_count = 0;
	for (size_t i = 0; i < screen->hotspot_count; i++)
		if (passes(screen, &screen->hotspots[i]) &&
		    !is_starved(screen, &screen->hotspots[i]))
			screen->order[screen->order_count++] = &screen->hotspots[i];
	follow_selection(screen);
	blocked_arrange_tasks(screen);
	return 0;
}

static int copy_hotspots(struct blocked_screen *screen)
{
	size_t count;
	const struct hotspot *hotspots;

	if (stalls_hotspots(screen->options.stalls, screen->by, &hotspots, &count) < 0 ||
	    array_reserve(&screen->hotspots, &screen->hotspot_room, count,
			  sizeof(*screen->hotspots)) < 0)
		return -ENOMEM;
	if (count)
		memcpy(screen->hotspots, hotspots, count * sizeof(*hotspots));
	screen->hotspot_count = count;
	return 0;
}

static int copy_workers(struct blocked_screen *screen)
{
	size_t count;
	const struct stall_worker *workers = stalls_workers(screen->options.stalls, &count);

	if (array_reserve(&screen->workers, &screen->worker_room, count, sizeof(*screen->workers)) <
	    0)
		return -ENOMEM;
	screen->worker_count = screen->pool_count = screen->living_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct blocked_worker worker = {.worker = workers[i]};

		if (workers[i].last.kind == WIRE_SPAN_POOL) {
			screen->pool_count += !workers[i].ended;
			continue;
		}
		if (workers[i].ended && !workers[i].spans)
			continue;
		screen->living_count += !workers[i].ended;
		worker.is_open = stalls_open(screen->options.stalls, &workers[i], &worker.open);
		screen->workers[screen->worker_count++] = worker;
	}
	return 0;
}

static void copy_starved(struct blocked_screen *screen)
{
	struct starvation *starvation = screen->options.starvation;

	screen->has_starved = starvation && starvation->measured;
	if (!screen->has_starved)
		return;
	starvation_merge(starvation);
	screen->starved_ns = starvation_total(starvation);
	blocked_starved_text(screen->starved, starvation,
			     stalls_runtime(screen->options.stalls)->pid, screen->options.stalls);
}

int blocked_screen_update(struct blocked_screen *screen)
{
	if (screen->frozen)
		return 0;
	if (copy_hotspots(screen) < 0 || copy_workers(screen) < 0 || blocked_copy_tasks(screen) < 0)
		return -ENOMEM;
	screen->counts = stalls_counts(screen->options.stalls);
	screen->runtime = *stalls_runtime(screen->options.stalls);
	screen->end_ns = timeline_end_ns(screen->timeline);
	copy_starved(screen);
	return blocked_arrange(screen);
}

static void draw_title(const struct blocked_screen *screen, struct canvas *canvas)
{
	const struct wire_runtime *runtime = &screen->runtime;
	uint64_t lost = runtime->lost + stall_counts_lost(&screen->counts);
	char process[32], threshold[16], length[16], window[16];
	char probes[BLOCKED_PROBES_BYTES];
	int at;

	text_printable(process, sizeof(process), runtime->process, 16);
	duration_format(threshold, sizeof(threshold), runtime->threshold_ns);
	duration_format(length, sizeof(length), screen->counts.measured_ns);
	at = canvas_text(canvas, 0, 0, canvas->columns, ROLE_TITLE,
			 screen->options.replay ? "dwell blocked (recording)  "
						: "dwell blocked  ");
	at += canvas_format(canvas, 0, at, canvas->columns, ROLE_NORMAL,
			    "%s %u  %s, %zu worker%s  > %s  ", process, runtime->pid, runtime->name,
			    screen->living_count, text_plural(screen->living_count), threshold);
	if (screen->options.window_ns) {
		duration_format(window, sizeof(window), screen->options.window_ns);
		at += canvas_format(canvas, 0, at, canvas->columns, ROLE_NORMAL, "last %s  ",
				    window);
	} else {
		at += canvas_format(canvas, 0, at, canvas->columns, ROLE_NORMAL, "%s  ", length);
	}
	if (screen->frozen)
		at += canvas_text(canvas, 0, at, canvas->columns, ROLE_WARNING, "FROZEN  ");
	at += canvas_format(canvas, 0, at, canvas->columns, lost ? ROLE_WARNING : ROLE_DIM,
			    "lost %llu  ", (unsigned long long)lost);
	if (screen->counts.unexplained)
		at += canvas_format(canvas, 0, at, canvas->columns, ROLE_WARNING,
				    "%llu without a stack  ",
				    (unsigned long long)screen->counts.unexplained);
	blocked_probes_text(probes, runtime);
	if (*probes)
		at += canvas_format(canvas, 0, at, canvas->columns,
				    blocked_is_sampled(runtime) ? ROLE_NORMAL : ROLE_DIM, "%s  ",
				    probes);
	if (runtime->frames)
		at += canvas_format(
			canvas, 0, at, canvas->columns, ROLE_DIM, "%.0f %% symbolized  ",
			100.0 * (double)runtime->frames_named / (double)runtime->frames);
	canvas_format(canvas, 0, at, canvas->columns, ROLE_DIM, "%zu pool threads",
		      screen->pool_count);
}

/* The one who has been gone for longest; NULL: all have come back. */
static const struct blocked_worker *find_stuck(const struct blocked_screen *screen,
					       size_t *ret_count)
{
	const struct blocked_worker *longest = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < screen->worker_count; i++) {
		const struct blocked_worker *worker = &screen->workers[i];

		if (!worker->is_open)
			continue;
		++*ret_count;
		if (!longest || worker->open.duration_ns > longest->open.duration_ns)
			longest = worker;
	}
	return longest;
}

/* At the right end; returns the column before it. */
static int draw_stuck(const struct blocked_screen *screen, struct canvas *canvas)
{
	size_t count;
	const struct blocked_worker *stuck = find_stuck(screen, &count);
	char text[64], length[16];
	bool long_gone;
	int at;

	if (!stuck)
		return canvas->columns;
	long_gone = stuck->open.duration_ns >= BLOCKED_STUCK_NS;
	duration_format(length, sizeof(length), stuck->open.duration_ns);
	snprintf(text, sizeof(text), "%s NOW: %zu of %zu worker%s, %u for %s",
		 long_gone ? "STUCK" : "held", count, screen->living_count,
		 text_plural(screen->living_count), stuck->worker.last.tid, length);
	at = canvas->columns - (int)strlen(text);
	canvas_text(canvas, 1, at > 0 ? at : 0, canvas->columns,
		    long_gone ? ROLE_WARNING : ROLE_NORMAL, text);
	return at > 0 ? at - 1 : 0;
}

/* The state of things in one word, and its reason, as far as there is room. */
static void draw_health(const struct blocked_screen *screen, struct canvas *canvas)
{
	const struct stall_counts *counts = &screen->counts;
	uint64_t observed_ns = blocked_observed_ns(screen), runnable_ns = 0;
	uint64_t blamed = stall_counts_blamed(counts);
	size_t open;
	const struct blocked_worker *stuck = find_stuck(screen, &open);
	bool is_long = stuck && stuck->open.duration_ns >= BLOCKED_STUCK_NS;
	double share = observed_ns ? (double)counts->blamed_ns / (double)observed_ns : 0;
	char threshold[16], longest[16], known[64] = "", why[192];
	bool bad = share >= BLOCKED_SHARE || is_long, seen = stalls_seen(screen->options.stalls);
	int end = draw_stuck(screen, canvas), at;

	for (size_t i = 0; i < screen->hotspot_count; i++)
		if (screen->hotspots[i].cause == CAUSE_RUNNABLE)
			runnable_ns += screen->hotspots[i].total_ns;
	duration_format(threshold, sizeof(threshold), screen->runtime.threshold_ns);
	duration_format(longest, sizeof(longest), counts->max_blamed_ns);
	if (counts->in_place)
		snprintf(known, sizeof(known), ", and %llu in block_in_place",
			 (unsigned long long)counts->in_place);
	if (blamed)
		snprintf(why, sizeof(why), ": %.*f %% of worker time in %llu stall%s, worst %s%s",
			 share < 0.1, 100 * share, (unsigned long long)blamed, text_plural(blamed),
			 longest, known);
	else if (stuck)
		snprintf(why, sizeof(why), ": no stall has ended yet");
	else if (!seen)
		snprintf(why, sizeof(why), ": no poll or turn has been seen yet");
	else
		snprintf(why, sizeof(why), ": no stall has been longer than %s", threshold);
	at = canvas_text(canvas, 1, 0, end, ROLE_HEADER, "HEALTH");
	at += 2;
	at += canvas_text(canvas, 1, at, end - at, bad ? ROLE_WARNING : ROLE_TITLE,
			  !seen && !stuck				    ? "unknown"
			  : !counts->stalls && !stuck			    ? "good"
			  : !bad					    ? "fair"
			  : !is_long && runnable_ns > counts->blamed_ns / 2 ? "starved"
									    : "blocked");
	if (at + (int)strlen(why) / 2 < end)
		canvas_text(canvas, 1, at, end - at, ROLE_NORMAL, why);
}

/* What is not measured, and what that hides: a line, if there is something. */
static int draw_missing(const struct blocked_screen *screen, struct canvas *canvas, int row)
{
	for (size_t i = 0; screen->session && i < screen->session->missing_count; i++) {
		const struct wire_missing *missing = &screen->session->missing[i];

		if (!blocked_is_about_stalls(missing))
			continue;
		canvas_format(canvas, row, 0, canvas->columns, ROLE_WARNING, "not measured: %s: %s",
			      missing->source, missing->why);
		return row + 1;
	}
	return row;
}

/* Who had the CPUs that the workers waited for, if they did so for long enough to matter. */
static int draw_starved(const struct blocked_screen *screen, struct canvas *canvas, int row)
{
	uint64_t observed_ns = blocked_observed_ns(screen);
	double share = observed_ns ? (double)screen->starved_ns / (double)observed_ns : 0;
	char total[16];
	int at;

	if (share < STARVED_SHARE)
		return row;
	duration_format(total, sizeof(total), screen->starved_ns);
	at = canvas_text(canvas, row, 0, canvas->columns, ROLE_HEADER, "STARVED") + 1;
	at += canvas_format(canvas, row, at, canvas->columns - at, ROLE_NORMAL,
			    "%.1f %% of worker time, %s, by: ", 100 * share, total);
	canvas_text(canvas, row, at, canvas->columns - at, ROLE_NORMAL, screen->starved);
	return row + 1;
}

static void draw_lists(struct blocked_screen *screen, struct canvas *canvas, int first)
{
	int lines = canvas->rows - 1 - first;
	/* two headings; the workers get what they need, up to half */
	int workers = (int)(screen->worker_count < 1000 ? screen->worker_count : 1000) + 2;

	if (workers > lines / 2)
		workers = lines / 2;
	if (screen->shows_tasks)
		blocked_draw_tasks(screen, canvas, first, lines - workers);
	else
		blocked_draw_hotspots(screen, canvas, first, lines - workers);
	blocked_draw_workers(screen, canvas, first + lines - workers, workers);
}

void blocked_screen_draw(struct blocked_screen *screen, struct canvas *canvas)
{
	int first;

	screen->hotspot_lines = screen->worker_lines = 0;
	if (screen->options.glyphs)
		memset(canvas->solid, 0, sizeof(canvas->solid));
	if (screen->base.help) {
		screen_base_draw_help(&screen->base, blocked_keys.bindings, canvas);
	} else if (!screen->runtime.pid || !screen->session) {
		canvas_text(canvas, canvas->rows / 2, 2, canvas->columns, ROLE_DIM,
			    "looking at the workers…");
	} else {
		draw_title(screen, canvas);
		draw_health(screen, canvas);
		first = draw_starved(screen, canvas, draw_missing(screen, canvas, 2));
		if (screen->detail)
			blocked_draw_detail(screen, canvas, first, canvas->rows - 1 - first);
		else
			draw_lists(screen, canvas, first);
	}
	screen_base_draw_hints(&screen->base, blocked_keys.bindings, canvas, canvas->rows - 1);
}

void blocked_screen_message(struct blocked_screen *screen, const char *text)
{
	screen_base_message(&screen->base, text);
}
