// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell top --from` on the screen. */
#include "command/top_tui_state.h"

#include <signal.h>
#include <time.h>

#include "base/duration.h"

int top_tui_step(struct top_tui *tui, struct error *error)
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
	return result < 0 ? result : top_tui_draw(tui, error);
}

int top_tui_go_to(struct top_tui *tui, uint64_t time_ns, struct error *error)
{
	int result = 1;

	replay_seek(tui->replay, time_ns);
	top_screen_restart(tui->screen);
	tui->ended = false;
	tui->shown.end_ns = 0;
	tui->silent = true;
	while (result >= 0 && !tui->ended && tui->shown.end_ns < time_ns)
		result = top_tui_step(tui, error);
	tui->silent = false;
	return result < 0 ? result : top_tui_draw(tui, error);
}

int top_tui_seek(struct top_tui *tui, struct error *error)
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

	return top_tui_go_to(tui, target_ns > ahead_ns ? target_ns - ahead_ns : 1, error);
}

static int on_tick(void *data, struct error *error)
{
	struct top_tui *tui = data;

	return top_screen_paused(tui->screen) || tui->ended ? 0 : top_tui_step(tui, error);
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
	int result = top_tui_step(tui, error);

	if (result < 0)
		return result;
	if (replay_remark(tui->replay)) {
		top_screen_message(tui->screen, replay_remark(tui->replay));
		result = top_tui_draw(tui, error);
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
	const struct recording_choice choice = {
		.paths = &options->from, .count = 1, .window = options->window};
	int result;

	top_tui_settings(&tui, options);
	replay.audience = (struct audience){.data = &tui, .interval = top_tui_interval};
	result = replay_choose(&replay, &choice, error);
	if (result >= 0)
		result = loop_init(&loop, error);
	if (result >= 0)
		result = top_tui_open(&tui, options, options->watch.interval_ns, error);
	if (result >= 0)
		result = tui_begin(&tui.tui, &loop, error);
	if (result >= 0)
		result = run_replay(&tui, options, error);
	top_tui_close(&tui);
	replay_release(&replay);
	loop_release(&loop);
	return result;
}
