// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/window_options.h"

static int take_since(void *data, const char *value, struct error *error)
{
	struct recording_window *window = data;

	return moment_parse(value, &window->since, error);
}

static int take_until(void *data, const char *value, struct error *error)
{
	struct recording_window *window = data;

	return moment_parse(value, &window->until, error);
}

const struct command_option window_option_table[] = {
	TAKEN_OPTION("since", 0, "TIME", take_since,
		     "of a recording only what is since: 14:05, '2026-11-27 14:05:30', local time "
		     "or with a Z or an offset (+02:00) behind it; or 10m, before its end"),
	TAKEN_OPTION("until", 0, "TIME", take_until, "and only what is until TIME"),
	END_OF_OPTIONS,
};

bool window_is_part(const struct recording_window *window)
{
	return window->since.kind != MOMENT_NONE || window->until.kind != MOMENT_NONE;
}
