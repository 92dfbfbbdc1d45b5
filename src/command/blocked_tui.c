// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/blocked_tui.h"

#include <errno.h>
#include <string.h>

#include "tui/terminal.h"

static void draw_screen(void *data, struct canvas *canvas)
{
	struct blocked_tui *tui = data;

	blocked_screen_draw(tui->screen, canvas);
}

static void yank(void *data, struct output *into)
{
	struct blocked_tui *tui = data;

	blocked_screen_yank(tui->screen, into);
}

static void show_message(void *data, const char *text)
{
	struct blocked_tui *tui = data;

	blocked_screen_message(tui->screen, text);
}

static int on_key(void *data, struct key key, struct error *error)
{
	struct blocked_tui *tui = data;

	return tui_obey(&tui->tui, blocked_screen_key(tui->screen, key), error);
}

int blocked_tui_open(struct blocked_tui *tui, const struct blocked_screen_options *options,
		     const struct result_options *output, struct error *error)
{
	struct blocked_screen_options chosen = *options;

	tui_settings(&tui->settings, output, &tui->complaint);
	chosen.glyphs = tui->settings.marks;
	chosen.keymap = &tui->settings.keymap;
	tui->tui = (struct tui){.data = tui,
				.draw = draw_screen,
				.key = on_key,
				.yank = yank,
				.message = show_message};
	tui->screen = blocked_screen_new(&chosen);
	if (!tui->screen)
		return error_set(error, ENOMEM, "out of memory");
	if (*tui->complaint.text)
		blocked_screen_message(tui->screen, tui->complaint.text);
	return 0;
}

static int open_terminal(struct blocked_tui *tui, struct error *error)
{
	const struct terminal_options options = {.theme = tui->settings.theme,
						 .glyphs = tui->settings.marks};

	return tui_open(&tui->tui, &options, error);
}

int blocked_tui_await(struct blocked_tui *tui, struct error *error)
{
	int result = open_terminal(tui, error);

	return result < 0 ? result : tui_draw(&tui->tui, error);
}

int blocked_tui_begin(struct blocked_tui *tui, struct loop *loop, struct error *error)
{
	return tui_begin(&tui->tui, loop, error);
}

void blocked_tui_stall(struct blocked_tui *tui, const struct stall *stall)
{
	blocked_screen_stall(tui->screen, stall);
}

int blocked_tui_interval(struct blocked_tui *tui, const struct interval *interval,
			 struct error *error)
{
	if (blocked_screen_interval(tui->screen, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	/* a recording is drawn when it is there as a whole */
	if (!tui->tui.loop)
		return 0;
	if (blocked_screen_update(tui->screen) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return tui_draw(&tui->tui, error);
}

int blocked_tui_stay(struct blocked_tui *tui, const char *remark, struct error *error)
{
	if (blocked_screen_update(tui->screen) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (remark)
		blocked_screen_message(tui->screen, remark);
	return tui_stay(&tui->tui, error);
}

int blocked_tui_show(struct blocked_tui *tui, const char *remark, struct error *error)
{
	int result = open_terminal(tui, error);

	return result < 0 ? result : blocked_tui_stay(tui, remark, error);
}

void blocked_tui_close(struct blocked_tui *tui)
{
	if (!tui->screen)
		return;
	tui_close(&tui->tui);
	blocked_screen_free(tui->screen);
	*tui = (struct blocked_tui){0};
}
