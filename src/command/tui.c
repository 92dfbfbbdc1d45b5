// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/tui.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/array.h"

int tui_open(struct tui *tui, const struct terminal_options *options, struct error *error)
{
	(void)tui;
	return terminal_open(options, error);
}

int tui_draw(struct tui *tui, struct error *error)
{
	if (terminal_prepare(&tui->canvas) < 0)
		return error_set(error, ENOMEM, "out of memory");
	tui->draw(tui->data, &tui->canvas);
	terminal_show(&tui->canvas);
	return 0;
}

void tui_quit(struct tui *tui)
{
	tui->quit = tui->loop->stop = true;
}

static int on_keys(void *data, struct error *error)
{
	struct tui *tui = data;
	struct key key;
	int result = 0;

	while (result >= 0 && !tui->quit && (key = terminal_key()).kind != KEY_KIND_NONE) {
		if (key.kind == KEY_KIND_CLOSED)
			tui_quit(tui);
		else
			result = tui->key(tui->data, key, error);
	}
	return result;
}

static int on_window(void *data, struct error *error)
{
	struct tui *tui = data;

	if (tui->loop->signal == SIGTSTP)
		terminal_suspend();
	else
		terminal_resized();
	return tui_draw(tui, error);
}

int tui_begin(struct tui *tui, struct loop *loop, struct error *error)
{
	static const int signals[] = {SIGWINCH, SIGTSTP};
	int result;

	tui->loop = loop;
	result = loop_add(loop, STDIN_FILENO, on_keys, tui, error);
	if (result >= 0)
		result =
			loop_add_signals(loop, signals, ARRAY_SIZE(signals), on_window, tui, error);
	return result < 0 ? result : tui_draw(tui, error);
}

void tui_close(struct tui *tui)
{
	terminal_close();
	canvas_release(&tui->canvas);
}
