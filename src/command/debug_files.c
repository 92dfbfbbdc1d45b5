// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/debug_files.h"

#include <stdio.h>

#include "base/print.h"
#include "base/status_line.h"
#include "base/text.h"
#include "capture/debug_files.h"

static void show(void *line, size_t done, size_t count)
{
	status_line_show(line, "fetching debug files from debuginfod: %zu of %zu", done + 1, count);
}

void command_fetch_debug_files(const char *program, const struct targets *targets,
			       const struct stack_options *options)
{
	struct debug_files_found all = {0}, found;
	struct status_line line;
	struct error error;
	int result = 0;

	status_line_begin(&line, true);
	for (unsigned int i = 0; result >= 0 && i < targets->count; i++) {
		result = debug_files_fetch(targets->items[i].id, options, show, &line, &found,
					   &error);
		all.wanted += found.wanted;
		all.fetched += found.fetched;
	}
	status_line_clear(&line);
	if (line.shown && all.fetched)
		print_text(stderr, "dwell %s: debuginfod has %zu of %zu debug files\n", program,
			   all.fetched, all.wanted);
	/* a server that is misspelt looks like this, and no other line says that it is used */
	if (result >= 0 && all.wanted && !all.fetched)
		print_text(stderr,
			   "dwell %s: debuginfod has none of %zu debug file%s; functions of "
			   "stripped files have no names\n",
			   program, all.wanted, text_plural(all.wanted));
	if (result < 0)
		print_text(stderr, "dwell %s: %s; functions of stripped files have no names\n",
			   program, error.text);
}
