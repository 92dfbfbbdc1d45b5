// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top_tui_state.h"

#include <errno.h>
#include <string.h>

#include "base/process_words.h"

#define PROGRAM_BYTES 512

static void draw_screen(void *data, struct canvas *canvas)
{
	struct top_tui *tui = data;

	top_screen_draw(tui->screen, canvas);
}

int top_tui_draw(struct top_tui *tui, struct error *error)
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

int top_tui_interval(void *data, struct interval *interval, struct error *error)
{
	struct top_tui *tui = data;
	const struct intervals *intervals =
		tui->watch ? tui->watch->intervals : tui->replay->intervals;

	if (top_screen_update(tui->screen, intervals, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	tui->shown = *interval;
	/* the first row is selected from the start */
	look_at_selected(tui);
	return top_tui_draw(tui, error);
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
	case SCREEN_REPAINT:
		terminal_resized();
		return top_tui_draw(tui, error);
	case SCREEN_SELECTED:
		look_at_selected(tui);
		return top_tui_draw(tui, error);
	case SCREEN_INTERVAL:
		loop_change_timer(tui->tui.loop, top_screen_interval_ns(tui->screen));
		if (tui->watch)
			source_set_interval(tui->watch->source,
					    top_screen_interval_ns(tui->screen));
		return top_tui_draw(tui, error);
	case SCREEN_SAVE:
		return top_tui_save(tui, error);
	case SCREEN_FORWARD:
		top_screen_pause(tui->screen, true);
		return top_tui_step(tui, error);
	case SCREEN_BACK:
		top_screen_pause(tui->screen, true);
		return top_tui_go_to(tui, tui->shown.start_ns, error);
	case SCREEN_SEEK:
		return top_tui_seek(tui, error);
	case SCREEN_PAUSE:
	case SCREEN_REDRAW:
		return top_tui_draw(tui, error);
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

int top_tui_open(struct top_tui *tui, const struct top_options *options, uint64_t interval_ns,
		 struct error *error)
{
	const struct terminal_options terminal = {.theme = tui->settings.theme,
						  .glyphs = tui->settings.marks};
	struct top_screen_options screen = {
		.by = options->by,
		.tree = tui->settings.tree && !options->by_given,
		.sort = options->sort,
		.reverse = tui->settings.reverse,
		.interval_ns = interval_ns,
		.top = options->output.order.top,
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

void top_tui_close(struct top_tui *tui)
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

	top_tui_settings(&tui, options);
	watch.options = &options->watch;
	watch.audience = (struct audience){.data = &tui, .interval = top_tui_interval};
	if (options->record)
		result = recorder_open(&recorder, options->record, options->force, error);
	watch.recorder = recorder;
	/* before what takes seconds on a busy machine: until then there is nothing to be seen */
	if (result >= 0)
		result = top_tui_open(&tui, options, options->watch.interval_ns, error);
	if (result >= 0)
		result = top_tui_draw(&tui, error);
	if (result >= 0)
		result = watch_open(&watch, error);
	if (result >= 0) {
		tell_source(&tui);
		result = tui_begin(&tui.tui, &watch.loop, error);
	}
	if (result >= 0)
		result = watch_run(&watch, error);
	top_tui_close(&tui);
	if (result >= 0 && !tui.tui.quit && watch_targets_gone(&watch))
		puts("dwell top: everything that was watched has ended");
	watch_release(&watch);
	recorder_close(recorder);
	return result;
}
