// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/debug_files.h"

#include <stdio.h>
#include <unistd.h>

#include "base/print.h"
#include "capture/debug_files.h"

static void show(void *is_terminal, size_t done, size_t count)
{
	if (*(bool *)is_terminal)
		print_text(stderr, "\rfetching debug files from debuginfod: %zu of %zu\033[K",
			   done + 1, count);
}

void command_fetch_debug_files(const char *program, const struct targets *targets,
			       const struct stack_options *options)
{
	struct debug_files_found all = {0}, found;
	bool is_terminal = isatty(STDERR_FILENO);
	struct error error;
	int result = 0;

	for (unsigned int i = 0; result >= 0 && i < targets->count; i++) {
		result = debug_files_fetch(targets->items[i].id, options, show, &is_terminal,
					   &found, &error);
		all.wanted += found.wanted;
		all.fetched += found.fetched;
	}
	if (is_terminal && all.wanted)
		fputs("\r\033[K", stderr);
	if (is_terminal && all.fetched)
		print_text(stderr, "dwell %s: debuginfod has %zu of %zu debug files\n", program,
			   all.fetched, all.wanted);
	if (result < 0)
		print_text(stderr, "dwell %s: %s; functions of stripped files have no names\n",
			   program, error.text);
}
