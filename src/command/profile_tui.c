// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/profile_tui.h"

#include <errno.h>

static void draw_screen(void *data, struct canvas *canvas)
{
	struct profile_tui *tui = data;

	profile_screen_draw(tui->screen, canvas);
}

static int yank(struct profile_tui *tui, struct error *error)
{
	struct output text = {0};
	int result = output_init(&text, -1);

	if (result >= 0) {
		profile_screen_yank(tui->screen, &text);
		profile_screen_message(tui->screen, text.used ? TUI_COPIED : "nothing is selected");
		result = text.used ? tui_copy(text.buffer, text.used) : 0;
		output_release(&text);
	}
	return result < 0 ? error_set(error, ENOMEM, "out of memory") : tui_draw(&tui->tui, error);
}

static int on_key(void *data, struct key key, struct error *error)
{
	struct profile_tui *tui = data;

	switch (profile_screen_key(tui->screen, key)) {
	case SCREEN_NOTHING:
		return 0;
	case SCREEN_QUIT:
		tui_quit(&tui->tui);
		return 0;
	case SCREEN_YANK:
		return yank(tui, error);
	default:
		return tui_draw(&tui->tui, error);
	}
}

int profile_tui_open(struct profile_tui *tui, const struct profile_screen_options *options,
		     const struct result_options *output, struct error *error)
{
	struct profile_screen_options chosen = *options;
	struct terminal_options terminal;
	struct error complaint = {""};

	if (settings_load(&tui->settings, &complaint) == 0)
		*complaint.text = '\0';
	if (output->theme_given)
		tui->settings.theme = output->theme;
	chosen.glyphs = tui->settings.marks;
	chosen.keymap = &tui->settings.keymap;
	tui->tui = (struct tui){.data = tui, .draw = draw_screen, .key = on_key};
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
