// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/tui.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/print.h"

/* What terminals take in one sequence at least; xterm and others take more. */
#define CLIPBOARD_MAX 74994

bool tui_can_open(const char *command)
{
	const char *name = getenv("TERM");
	enum terminal_use use = terminal_use();

	if (use == TERMINAL_UNKNOWN && name && *name)
		print_text(stderr,
			   "dwell %s: terminfo does not know the terminal '%s' (TERM): tables are "
			   "printed in place of the screen; try TERM=xterm-256color\n",
			   command, name);
	else if (use == TERMINAL_UNKNOWN)
		print_text(stderr,
			   "dwell %s: TERM is not set: tables are printed in place of the screen; "
			   "try TERM=xterm-256color\n",
			   command);
	return use == TERMINAL_USABLE;
}

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
	if (result >= 0)
		result = tui_draw(tui, error);
	/* what was typed ahead, of which the terminal says nothing any more */
	return result < 0 ? result : on_keys(tui, error);
}

static int on_end(void *data, struct error *error)
{
	struct tui *tui = data;

	(void)error;
	tui->loop->stop = true;
	return 0;
}

int tui_stay(struct tui *tui, struct error *error)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct loop loop = {.epoll_fd = -1};
	int result = loop_init(&loop, error);

	if (result >= 0)
		result = loop_add_signals(&loop, signals, ARRAY_SIZE(signals), on_end, tui, error);
	if (result >= 0)
		result = tui_begin(tui, &loop, error);
	if (result >= 0)
		result = loop_run(&loop, error);
	loop_release(&loop);
	return result;
}

/* "ESC ] 52 ; c ; base64 BEL": the terminal's own clipboard, also through ssh. 0 or -ENOMEM. */
static int put_in_clipboard(const char *text, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *out, *at;

	if (length > CLIPBOARD_MAX)
		length = CLIPBOARD_MAX;
	out = at = malloc(length / 3 * 4 + 16);
	if (!out)
		return -ENOMEM;
	at = stpcpy(at, "\033]52;c;");
	for (size_t i = 0; i < length; i += 3) {
		uint32_t three = 0;

		for (size_t j = 0; j < 3; j++)
			three = three << 8 | (i + j < length ? (unsigned char)text[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			*at++ = i + j > length ? '=' : digits[three >> (18 - 6 * j) & 63];
	}
	stpcpy(at, "\a");
	terminal_write(out);
	free(out);
	return 0;
}

static int copy_selected(struct tui *tui, struct error *error)
{
	cleanup(output_release) struct output text = {0};

	if (output_init(&text, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	tui->yank(tui->data, &text);
	tui->message(tui->data, text.used ? "sent to the clipboard, if the terminal supports OSC 52"
					  : "nothing is selected that can be copied");
	if (text.error || (text.used && put_in_clipboard(text.buffer, text.used) < 0))
		return error_set(error, ENOMEM, "out of memory");
	return tui_draw(tui, error);
}

int tui_obey(struct tui *tui, enum screen_request request, struct error *error)
{
	switch (request) {
	case SCREEN_NOTHING:
		return 0;
	case SCREEN_QUIT:
		tui_quit(tui);
		return 0;
	case SCREEN_YANK:
		return copy_selected(tui, error);
	case SCREEN_REPAINT:
		terminal_resized();
		return tui_draw(tui, error);
	default:
		return tui_draw(tui, error);
	}
}

void tui_settings(struct settings *settings, const struct result_options *output,
		  struct error *ret_complaint)
{
	*ret_complaint = (struct error){""};
	if (settings_load(settings, ret_complaint) == 0)
		*ret_complaint->text = '\0';
	if (output->theme_given)
		settings->theme = output->theme;
}

void tui_close(struct tui *tui)
{
	terminal_close();
	canvas_release(&tui->canvas);
}
