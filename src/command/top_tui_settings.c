// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of settings, before the screen and from it. */
#include <limits.h>
#include <stdio.h>

#include "base/duration.h"
#include "command/top_tui_state.h"

/* Something to read at once; the intervals that follow are as long as asked for. */
#define FIRST_INTERVAL_NS (50 * NS_PER_MS)

void top_tui_settings(struct top_tui *tui, struct top_options *options)
{
	struct settings *settings = &tui->settings;

	tui_settings(settings, &options->output, &tui->complaint);
	if (!options->by_given && settings->by_given)
		options->by = settings->by;
	/* the direction is that of the file's order, not of another one */
	if (options->sort_given ||
	    (settings->sort && !field_applies(settings->sort, 1U << options->by)))
		settings->reverse = false;
	else if (settings->sort)
		options->sort = settings->sort;
	if (!options->watch.interval_given && settings->interval_ns)
		options->watch.interval_ns = settings->interval_ns;
	/* the screen says because of whom: that is what most come for */
	options->watch.blame = !options->no_blame;
	options->watch.first_ns = FIRST_INTERVAL_NS;
}

int top_tui_save(struct top_tui *tui, struct error *error)
{
	struct top_screen_options chosen;
	struct settings settings = tui->settings;
	char path[PATH_MAX], text[PATH_MAX + 16];
	struct error why;

	top_screen_options(tui->screen, &chosen);
	settings.marks = chosen.glyphs;
	settings.all_columns = chosen.all_columns;
	settings.hide_idle = chosen.hide_idle;
	settings.sort = chosen.sort;
	settings.reverse = chosen.reverse;
	settings.by_given = true;
	settings.by = chosen.by;
	settings.tree = chosen.tree;
	/* of a recording it is how fast that plays */
	if (!tui->replay)
		settings.interval_ns = chosen.interval_ns;
	if (settings_save(&settings, &why) < 0) {
		top_screen_message(tui->screen, why.text);
	} else {
		tui->settings = settings;
		settings_path(path, sizeof(path));
		snprintf(text, sizeof(text), "kept in %s", path);
		top_screen_message(tui->screen, text);
	}
	return top_tui_draw(tui, error);
}
