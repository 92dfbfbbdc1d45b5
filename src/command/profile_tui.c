// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/profile_tui.h"

#include <errno.h>

static void draw_screen(void *data, struct canvas *canvas)
{
	struct profile_tui *tui = data;

	profile_screen_draw(tui->screen, canvas);
}

static void yank(void *data, struct output *into)
{
	struct profile_tui *tui = data;

	profile_screen_yank(tui->screen, into);
}

static void show_message(void *data, const char *text)
{
	struct profile_tui *tui = data;

	profile_screen_message(tui->screen, text);
}

static int on_key(void *data, struct key key, struct error *error)
{
	struct profile_tui *tui = data;

	return tui_obey(&tui->tui, profile_screen_key(tui->screen, key), error);
}

int profile_tui_open(struct profile_tui *tui, const struct profile_screen_options *options,
		     const struct result_options *output, struct error *error)
{
	struct profile_screen_options chosen = *options;
	struct terminal_options terminal;
	struct error complaint;

	tui_settings(&tui->settings, output, &complaint);
	chosen.glyphs = tui->settings.marks;
	chosen.keymap = &tui->settings.keymap;
	tui->tui = (struct tui){.data = tui,
				.draw = draw_screen,
				.key = on_key,
				.yank = yank,
				.message = show_message};
	tui->screen = profile_screen_new(&chosen);
	if (!tui->screen)
		return error_set(error, ENOMEM, "out of memory");
	if (*complaint.text)
		profile_screen_message(tui->screen, complaint.text);
	terminal = (struct terminal_options){.theme = tui->settings.theme,
					     .glyphs = tui->settings.marks};
	return tui_open(&tui->tui, &terminal, error);
}

int profile_tui_update(struct profile_tui *tui, struct error *error)
{
	if (profile_screen_update(tui->screen) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return tui_draw(&tui->tui, error);
}

int profile_tui_stay(struct profile_tui *tui, const char *remark, struct error *error)
{
	if (profile_screen_update(tui->screen) < 0)
		return error_set(error, ENOMEM, "out of memory");
	profile_screen_end(tui->screen);
	if (remark)
		profile_screen_message(tui->screen, remark);
	return tui_stay(&tui->tui, error);
}

void profile_tui_close(struct profile_tui *tui)
{
	if (!tui->screen)
		return;
	tui_close(&tui->tui);
	profile_screen_free(tui->screen);
	*tui = (struct profile_tui){0};
}
