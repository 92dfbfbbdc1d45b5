// SPDX-License-Identifier: GPL-2.0-or-later
/* The first lines of the top screen: what the figures are worth, the load, and what is wrong. */
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "tui/parts.h"
#include "tui/top_state.h"
#include "view/findings.h"

#define NARROW_TITLE   80   /* what was lost comes before where figures are from */
#define STOLEN_WARNING 0.05 /* of busy CPU time: figures of speed mean little above it */
/* `exact (bpf, taskstats, verified)`, `sampled every 10ms (procfs)` */
static void add_source(struct parts *line, const struct session_info *session)
{
	char period[16] = "";

	if (session->wire.sample_ns)
		duration_format(period, sizeof(period), session->wire.sample_ns);
	parts_add(line, session->wire.sample_ns ? ROLE_WARNING : ROLE_NORMAL, "%s%s%s (%s%s%s)",
		  session_states_kind(session), *period ? " every " : "", period,
		  session_source(session), session_has_delays_beside(session) ? ", taskstats" : "",
		  session_is_verified(session) ? ", verified" : "");
}

static void draw_clock(const struct top_screen *screen, struct parts *line, uint64_t length_ns)
{
	time_t seconds = (time_t)((screen->interval.start_realtime_ns + length_ns) / NS_PER_S);
	char clock[24];
	struct tm tm;
	int width;

	localtime_r(&seconds, &tm);
	strftime(clock, sizeof(clock), screen->options.replay ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S",
		 &tm);
	width = (int)strlen(clock);
	if (line->end - width < 40)
		return;
	canvas_text(line->canvas, line->row, line->end - width, width, ROLE_NORMAL, clock);
	line->end -= width + 2;
}

/* Whose rows all are: what was asked for, or what is left of it. NULL: several processes'. */
static const struct row *only_process(const struct top_screen *screen)
{
	const struct interval *interval = &screen->interval;

	for (size_t i = 1; i < interval->row_count; i++)
		if (interval->rows[i].pid != interval->rows[0].pid)
			return NULL;
	return interval->row_count ? interval->rows : NULL;
}

/* How often there is an interval; or how long this one was, where that is another time. */
static uint64_t every(const struct top_screen *screen)
{
	return screen->options.replay ? screen->interval.session->wire.interval_ns
				      : screen->interval_ns;
}

static void add_length(const struct top_screen *screen, struct parts *line, uint64_t length_ns)
{
	uint64_t every_ns = every(screen);
	bool is_regular =
		length_ns >= every_ns - every_ns / 20 && length_ns <= every_ns + every_ns / 20;
	char length[16];

	duration_format(length, sizeof(length), is_regular ? every_ns : length_ns);
	parts_add(line, ROLE_DIM, "%s %s", is_regular ? "every" : "over", length);
}

/* Of an interval that is much shorter than others, as the first one, most of it was used before:
 * helpers report what they have used when they have answered. */
static void add_self(const struct top_screen *screen, struct parts *line, uint64_t length_ns)
{
	if (length_ns < every(screen) / 2)
		parts_add(line, ROLE_DIM, "self -");
	else
		parts_add(line, ROLE_DIM, "self %.1f%%",
			  100.0 * (double)screen->interval.self_cpu_ns / (double)length_ns);
}

static void add_lost(struct parts *line, const struct wire_losses *losses)
{
	uint64_t lost = losses_all(losses);

	parts_add(line, lost ? ROLE_WARNING : ROLE_DIM, "lost %llu", (unsigned long long)lost);
}

static void draw_title(const struct top_screen *screen, struct canvas *canvas)
{
	const struct interval *interval = &screen->interval;
	const struct wire_session *session = &interval->session->wire;
	const struct row *only = only_process(screen);
	bool is_narrow = canvas->columns < NARROW_TITLE;
	uint64_t length_ns = interval->end_ns - interval->start_ns;
	struct parts line = {canvas, 0, 0, canvas->columns};

	draw_clock(screen, &line, length_ns);
	parts_add(&line, ROLE_TITLE, "dwell top");
	if (is_narrow)
		add_lost(&line, &interval->losses);
	if (only)
		parts_add(&line, ROLE_TITLE, "%s %u", only->process, only->pid);
	if (screen->options.replay)
		parts_add(&line, ROLE_TITLE, "(recording)");
	if (screen->frozen)
		parts_add(&line, ROLE_WARNING, screen->options.replay ? "PAUSED" : "FROZEN");
	if (session_misses(interval->session, "processes"))
		parts_add(&line, ROLE_WARNING, "other users left out");
	add_source(&line, interval->session);
	if (!is_narrow)
		add_lost(&line, &interval->losses);
	if (session->flags & WIRE_SESSION_DELAYS && session_misses(interval->session, "delayacct"))
		parts_add(&line, ROLE_DIM, "delay accounting off (see dwell doctor)");
	if (session_has_machine(interval->session))
		parts_add(&line,
			  interval_stolen_share(interval) >= STOLEN_WARNING ? ROLE_WARNING
									    : ROLE_DIM,
			  "stolen %.0f%%", 100 * interval_stolen_share(interval));
	add_length(screen, &line, length_ns);
	add_self(screen, &line, length_ns);
	parts_add(&line, ROLE_DIM, "%s", session->host);
	parts_add(&line, ROLE_DIM, "%u CPUs", session->cpus);
	parts_add(&line, ROLE_DIM, "Linux %.20s", session->kernel);
}

/* Beside a bar of all: what it consists of, the largest first, in threads on average. */
static void draw_legend(struct parts *line, const uint64_t total[STATES], uint64_t length_ns)
{
	bool shown[STATES] = {false};
	char text[32];

	for (int i = 0; i < STATES; i++) {
		int largest = -1;

		for (int j = 0; j < STATES; j++)
			if (!shown[j] && (largest < 0 || total[j] > total[largest]))
				largest = j;
		shown[largest] = true;
		if ((double)total[largest] < 0.005 * (double)length_ns)
			return;
		snprintf(text, sizeof(text), "%s %.2f", state_info[largest].key,
			 (double)total[largest] / (double)length_ns);
		if (!parts_fit(line, 2 + (int)strlen(text)))
			return;
		canvas_state(line->canvas, line->row, line->at, (enum state)largest);
		line->at += 2;
		parts_add(line, ROLE_NORMAL, "%s", text);
	}
}

/* How many threads were in each state on average: the load, by what it consists of. */
static void draw_load(const struct top_screen *screen, struct canvas *canvas)
{
	uint64_t length_ns = screen->interval.end_ns - screen->interval.start_ns;
	uint64_t total[STATES] = {0}, busy = 0;
	struct parts line = {canvas, 1, 0, canvas->columns};
	int width = canvas->columns / 8;
	size_t active = 0;

	for (size_t i = 0; i < screen->row_count; i++) {
		active += row_active_ns(&screen->rows[i]) > 0;
		for (int j = 0; j < STATES; j++)
			total[j] += screen->rows[i].states_ns[j];
	}
	parts_add(&line, ROLE_NORMAL, "%zu %s, %zu active", screen->row_count,
		  grouping_noun(screen->by, screen->row_count), active);
	total[STATE_SLEEP] = total[STATE_IDLE] = total[STATE_STOPPED] = 0;
	for (int i = 0; i < STATES; i++)
		busy += total[i];
	if (length_ns && parts_fit(&line, width)) {
		canvas_bar(canvas, 1, line.at, width, total, busy);
		line.at += width + 2;
		draw_legend(&line, total, length_ns);
	}
}

void top_draw_header(const struct top_screen *screen, struct canvas *canvas)
{
	draw_title(screen, canvas);
	draw_load(screen, canvas);
}

void top_draw_findings(const struct top_screen *screen, struct canvas *canvas, int first, int count)
{
	char text[FINDING_BYTES];

	for (int i = 0; i < count && i < (int)screen->findings.count; i++) {
		finding_format(text, &screen->findings.items[i], screen->interval.session);
		if (parts_width(canvas, text) > canvas->columns - 2)
			finding_format_brief(text, &screen->findings.items[i],
					     screen->interval.session);
		canvas_put(canvas, first + i, 0, ROLE_WARNING, 0x25b6, '>');
		canvas_text(canvas, first + i, 2, canvas->columns, ROLE_FINDING, text);
	}
}
