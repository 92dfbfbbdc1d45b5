// SPDX-License-Identifier: GPL-2.0-or-later
/* A build without ncurses (-Dscreens=disabled): no terminal opens, so the rest is never called. */
#include <errno.h>

#include "base/build_options.h"
#include "tui/terminal.h"

int terminal_open(const struct terminal_options *options, struct error *error)
{
	(void)options;
	return build_option_missing(BUILD_SCREENS, error);
}

void terminal_close(void)
{
}

enum terminal_use terminal_use(void)
{
	return TERMINAL_NONE;
}

int terminal_prepare(struct canvas *canvas)
{
	(void)canvas;
	return -ENOTSUP;
}

void terminal_show(const struct canvas *canvas)
{
	(void)canvas;
}

void terminal_resized(void)
{
}

void terminal_suspend(void)
{
}

struct key terminal_key(void)
{
	return (struct key){.kind = KEY_KIND_NONE};
}

void terminal_write(const char *bytes)
{
	(void)bytes;
}
