// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/screen_base.h"

#include <stdio.h>

static enum screen_request type(struct screen_base *base, const struct screen_keys *keys,
				struct key key)
{
	switch (typing_key(base->typed, key)) {
	case TYPING_ACCEPTED:
		base->typing = false;
		return SCREEN_REDRAW;
	case TYPING_CANCELLED:
		base->typing = false;
		*base->typed = '\0';
		break;
	case TYPING_IGNORED:
		return SCREEN_NOTHING;
	case TYPING_CHANGED:
		break;
	}
	snprintf(base->filter, sizeof(base->filter), "%s", base->typed);
	return keys->search(base);
}

enum screen_request screen_base_key(struct screen_base *base, const struct screen_keys *keys,
				    struct key key)
{
	*base->message = '\0';
	if (base->typing)
		return type(base, keys, key);
	switch (key.kind) {
	case KEY_KIND_CLICK:
		return key.row == base->hints.row && base->hints.count
			       ? hints_click(&base->hints, base, key)
			       : keys->click(base, key);
	case KEY_KIND_WHEEL_UP:
		return keys->move(base, -3);
	case KEY_KIND_WHEEL_DOWN:
		return keys->move(base, 3);
	default:
		return bindings_act(keys->bindings, base, key, base->replay, base->keymap);
	}
}

enum screen_request screen_base_move_help(struct screen_base *base, int offset)
{
	base->help_offset = offset;
	return SCREEN_REDRAW;
}

void screen_base_message(struct screen_base *base, const char *text)
{
	snprintf(base->message, sizeof(base->message), "%s", text);
}

void screen_base_draw_hints(struct screen_base *base, const struct bindings *bindings,
			    struct canvas *canvas, int row)
{
	const struct last_line line = {.typed = base->typing ? base->typed : NULL,
				       .message = base->message,
				       .replay = base->replay};

	search_line_draw(bindings, canvas, row, line, base->filter, base->found, &base->hints);
}

void screen_base_draw_help(struct screen_base *base, const struct bindings *bindings,
			   struct canvas *canvas)
{
	base->help_page = canvas->rows > 3 ? canvas->rows - 2 : 1;
	base->help_offset = help_draw(bindings, canvas, base->replay, base->help_offset);
}

enum screen_request screen_base_help(void *screen, uint32_t character)
{
	struct screen_base *base = screen;

	(void)character;
	base->help = !base->help;
	return SCREEN_REDRAW;
}

enum screen_request screen_base_quit(void *screen, uint32_t character)
{
	(void)screen;
	(void)character;
	return SCREEN_QUIT;
}

enum screen_request screen_base_repaint(void *screen, uint32_t character)
{
	(void)screen;
	(void)character;
	return SCREEN_REPAINT;
}

enum screen_request screen_base_yank(void *screen, uint32_t character)
{
	(void)screen;
	(void)character;
	return SCREEN_YANK;
}

enum screen_request screen_base_changes_process(void *screen, uint32_t character)
{
	(void)character;
	screen_base_message(screen, CHANGES_NO_PROCESS);
	return SCREEN_REDRAW;
}
