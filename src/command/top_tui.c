// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top_tui.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/process_words.h"
#include "settings/settings.h"
#include "command/tui.h"
#include "session/replay.h"
#include "session/watch.h"
#include "tui/top_screen.h"

#define PROGRAM_BYTES 512
/* Something to read at once; the intervals that follow are as long as asked for. */
#define FIRST_INTERVAL_NS (50 * NS_PER_MS)

struct top_tui {
	struct tui tui;
	struct top_screen *screen;
	struct watch *watch;   /* live; else NULL */
	struct replay *replay; /* of a recording; else NULL */
	struct interval shown; /* the last: its times only */
	bool silent;	       /* on the way to somewhere: nothing is drawn */
	bool ended;	       /* the recording */
	struct settings settings;
	struct error complaint; /* of the settings */
};

static void draw_screen(void *data, struct canvas *canvas)
{
	struct top_tui *tui = data;

	top_screen_draw(tui->screen, canvas);
}

static int draw(struct top_tui *tui, struct error *error)
{
	return tui->silent ? 0 : tui_draw(&tui->tui, error);
}

static void describe_program(uint32_t pid, char line[PROGRAM_BYTES])
{
	size_t used;

	process_user(pid, line, PROGRAM_BYTES);
	used = strlen(line);
	if (!used)
		return;
	used += (size_t)snprintf(line + used, PROGRAM_BYTES - used, "  ");
	process_command(pid, line + used, PROGRAM_BYTES - used);
}

/* Whose sources and names are to be looked at more closely. */
static void look_at_selected(struct top_tui *tui)
{
	uint32_t pid = top_screen_selected_pid(tui->screen);
	char line[PROGRAM_BYTES] = "";

	if (!tui->watch)
		return;
	source_look_at(tui->watch->source, pid);
	if (pid)
		describe_program(pid, line);
	top_screen_program(tui->screen, line);
}

static int show_interval(void *data, struct interval *interval, struct error *error)
{
	struct top_tui *tui = data;
	const struct intervals *intervals =
		tui->watch ? tui->watch->intervals : tui->replay->intervals;

	if (top_screen_update(tui->screen, intervals, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	tui->shown = *interval;
	/* the first row is selected from the start */
	look_at_selected(tui);
	return draw(tui, error);
}

/* The next interval on the screen, also when it is paused; at the end it says so. */
static int step(struct top_tui *tui, struct error *error)
{
	bool paused = top_screen_paused(tui->screen);
	int result;

	top_screen_pause(tui->screen, false);
	result = replay_step(tui->replay, error);
	top_screen_pause(tui->screen, paused);
	if (result == 0) {
		struct error damage;

		tui->ended = true;
		top_screen_pause(tui->screen, true);
		if (replay_check(tui->replay, &damage) < 0)
			top_screen_message(tui->screen, damage.text);
		else if (!*tui->complaint.text)
			top_screen_message(tui->screen, "end of the recording");
	}
	return result < 0 ? result : draw(tui, error);
}

/* Shows the interval that ends at `time_ns` or, between two, the one after it. */
static int go_to(struct top_tui *tui, uint64_t time_ns, struct error *error)
{
	int result = 1;

	recording_seek(tui->replay->recording, time_ns);
	top_screen_restart(tui->screen);
	tui->ended = false;
	tui->shown.end_ns = 0;
	tui->silent = true;
	while (result >= 0 && !tui->ended && tui->shown.end_ns < time_ns)
		result = step(tui, error);
	tui->silent = false;
	return result < 0 ? result : draw(tui, error);
}

/* A time of day on the day of the interval shown. */
static int seek(struct top_tui *tui, struct error *error)
{
	uint64_t ahead_ns = tui->shown.start_realtime_ns - tui->shown.start_ns;
	time_t now = (time_t)(tui->shown.start_realtime_ns / NS_PER_S);
	unsigned int seconds = top_screen_seek_seconds(tui->screen);
	struct tm tm;

	localtime_r(&now, &tm);
	tm.tm_hour = (int)(seconds / 3600);
	tm.tm_min = (int)(seconds / 60 % 60);
	tm.tm_sec = (int)(seconds % 60);
	tm.tm_isdst = -1;
	uint64_t target_ns = (uint64_t)mktime(&tm) * NS_PER_S;

	return go_to(tui, target_ns > ahead_ns ? target_ns - ahead_ns : 1, error);
}

/* What the user has chosen on the screen, beside what the file had. */
static int save(struct top_tui *tui, struct error *error)
{
	struct top_screen_options chosen;
	struct settings settings = tui->settings;
	char path[PATH_MAX], text[PATH_MAX + 16];
	struct error why;

	top_screen_options(tui->screen, &chosen);
	settings.marks = chosen.glyphs;
	settings.all_columns = chosen.all_columns;
	settings.hide_idle = chosen.hide_idle;
	settings.sort = chosen.sort;
	settings.by_given = true;
	settings.by = chosen.by;
	settings.tree = chosen.tree;
	settings.interval_ns = chosen.interval_ns;
	if (settings_save(&settings, &why) < 0) {
		top_screen_message(tui->screen, why.text);
	} else {
		tui->settings = settings;
		settings_path(path, sizeof(path));
		snprintf(text, sizeof(text), "kept in %s", path);
		top_screen_message(tui->screen, text);
	}
	return draw(tui, error);
}

static int obey(struct top_tui *tui, enum screen_request request, struct error *error)
{
	switch (request) {
	case SCREEN_NOTHING:
		return 0;
	case SCREEN_QUIT:
		tui_quit(&tui->tui);
		return 0;
	case SCREEN_YANK:
		return 0;
	case SCREEN_SELECTED:
		look_at_selected(tui);
		return draw(tui, error);
	case SCREEN_INTERVAL:
		loop_change_timer(tui->tui.loop, top_screen_interval_ns(tui->screen));
		if (tui->watch)
			source_set_interval(tui->watch->source,
					    top_screen_interval_ns(tui->screen));
		return draw(tui, error);
	case SCREEN_SAVE:
		return save(tui, error);
	case SCREEN_FORWARD:
		top_screen_pause(tui->screen, true);
		return step(tui, error);
	case SCREEN_BACK:
		top_screen_pause(tui->screen, true);
		return go_to(tui, tui->shown.start_ns, error);
	case SCREEN_SEEK:
		return seek(tui, error);
	case SCREEN_PAUSE:
	case SCREEN_REDRAW:
		return draw(tui, error);
	}
	return 0;
}

static int on_key(void *data, struct key key, struct error *error)
{
	struct top_tui *tui = data;

	*tui->complaint.text = '\0'; /* it was on the screen until now */
	return obey(tui, top_screen_key(tui->screen, key), error);
}

/* What auto did not get, where the first key takes it away. */
static void tell_source(struct top_tui *tui)
{
	const struct session_info *session = intervals_session(tui->watch->intervals);

	for (size_t i = 0; i < session->missing_count; i++)
		if (!strcmp(session->missing[i].source, "bpf"))
			top_screen_message(tui->screen, session->missing[i].why);
}

static int open_screen(struct top_tui *tui, const struct top_options *options, uint64_t interval_ns,
		       struct error *error)
{
	const struct terminal_options terminal = {.theme = tui->settings.theme,
						  .glyphs = tui->settings.marks};
	struct top_screen_options screen = {
		.by = options->by,
		.tree = tui->settings.tree && !options->by_given,
		.sort = options->sort,
		.interval_ns = interval_ns,
		.replay = tui->replay,
		.hide_idle = tui->settings.hide_idle && !options->show_idle,
		.all_columns = tui->settings.all_columns,
		.glyphs = tui->settings.marks,
		.blame = options->blame,
		.keymap = &tui->settings.keymap,
	};

	tui->screen = top_screen_new(&screen);
	if (!tui->screen)
		return error_set(error, ENOMEM, "out of memory");
	tui->tui = (struct tui){.data = tui, .draw = draw_screen, .key = on_key};
	if (*tui->complaint.text)
		top_screen_message(tui->screen, tui->complaint.text);
	return tui_open(&tui->tui, &terminal, error);
}

/* What the command line does not say, the user's file does. */
static void take_settings(struct top_tui *tui, struct top_options *options)
{
	struct settings *settings = &tui->settings;

	if (settings_load(settings, &tui->complaint) == 0)
		*tui->complaint.text = '\0';
	if (options->output.theme_given)
		settings->theme = options->output.theme;
	if (!options->by_given && settings->by_given)
		options->by = settings->by;
	if (!options->sort_given && settings->sort &&
	    field_applies(settings->sort, 1U << options->by))
		options->sort = settings->sort;
	if (!options->watch.interval_given && settings->interval_ns)
		options->watch.interval_ns = settings->interval_ns;
	/* the screen says because of whom: that is what most come for */
	options->watch.blame = !options->no_blame;
	options->watch.first_ns = FIRST_INTERVAL_NS;
}

static void close_screen(struct top_tui *tui)
{
	tui_close(&tui->tui);
	top_screen_free(tui->screen);
}

int top_tui_live(struct top_options *options, struct error *error)
{
	struct watch watch = WATCH_NONE;
	struct top_tui tui = {.watch = &watch};
	struct recorder *recorder = NULL;
	int result = 0;

	take_settings(&tui, options);
	watch.options = &options->watch;
	watch.audience = (struct audience){.data = &tui, .interval = show_interval};
	if (options->record)
		result = recorder_open(&recorder, options->record, options->force, error);
	watch.recorder = recorder;
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0)
		result = open_screen(&tui, options, options->watch.interval_ns, error);
	if (result >= 0) {
		tell_source(&tui);
		result = tui_begin(&tui.tui, &watch.loop, error);
	}
	if (result >= 0)
		result = watch_run(&watch, error);
	close_screen(&tui);
	if (result >= 0 && !tui.tui.quit && options->watch.targets.count &&
	    !targets_alive(&options->watch.targets))
		puts("dwell top: everything that was watched has ended");
	watch_release(&watch);
	recorder_close(recorder);
	return result;
}

static int on_tick(void *data, struct error *error)
{
	struct top_tui *tui = data;

	return top_screen_paused(tui->screen) || tui->ended ? 0 : step(tui, error);
}

static int on_end(void *data, struct error *error)
{
	struct top_tui *tui = data;

	(void)error;
	tui->tui.loop->stop = true;
	return 0;
}

/* At the speed it was recorded, which `i` changes. */
static int run_replay(struct top_tui *tui, const struct top_options *options, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	uint64_t interval_ns;
	/* what it is about is known, and something on the screen, before the first tick */
	int result = step(tui, error);

	if (result < 0)
		return result;
	if (replay_remark(tui->replay)) {
		top_screen_message(tui->screen, replay_remark(tui->replay));
		result = draw(tui, error);
	}
	interval_ns = tui->shown.end_ns - tui->shown.start_ns;
	if (tui->shown.session && tui->shown.session->wire.interval_ns)
		interval_ns = tui->shown.session->wire.interval_ns;
	if (interval_ns < NS_PER_MS)
		interval_ns = options->watch.interval_ns;
	result = loop_add_timer(tui->tui.loop, 0, interval_ns, on_tick, tui, error);
	if (result >= 0)
		result = loop_add_signals(tui->tui.loop, signals, ARRAY_SIZE(signals), on_end, tui,
					  error);
	return result < 0 ? result : loop_run(tui->tui.loop, error);
}

int top_tui_replay(struct top_options *options, struct error *error)
{
	struct loop loop = {.epoll_fd = -1};
	struct replay replay = {.shown = 0};
	struct top_tui tui = {.replay = &replay};
	int result;

	take_settings(&tui, options);
	replay.audience = (struct audience){.data = &tui, .interval = show_interval};
	result = replay_open(&replay, options->from, error);
	if (result >= 0)
		result = loop_init(&loop, error);
	if (result >= 0)
		result = open_screen(&tui, options, options->watch.interval_ns, error);
	if (result >= 0)
		result = tui_begin(&tui.tui, &loop, error);
	if (result >= 0)
		result = run_replay(&tui, options, error);
	close_screen(&tui);
	replay_release(&replay);
	loop_release(&loop);
	return result;
}
