// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

struct looking {
	bool once;  /* it runs, and not by turns; and has no name for its trace */
	bool saved; /* it keeps its report */
};

static void look(const struct command_option *option, const char *value, void *data)
{
	static const char *const names[] = {"ab", "list", "print", "dry-run", "trace"};
	struct looking *looking = data;

	(void)value;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(option->name, names[i]))
			looking->once = false;
	looking->saved |= !strcmp(option->name, "save");
}

/* A load that keeps its report keeps its trace with it, unless another place is named. */
static bool needs_place(char **command, bool is_named)
{
	const struct command *load = command_find(command[0]);
	struct looking looking = {.once = load && !strcmp(load->name, "load")};
	int count = 0;

	while (command[count])
		count++;
	if (looking.once)
		command_line_scan(load->line, count, command, look, &looking);
	return looking.once && (is_named || !looking.saved);
}

int guest_trace_choose(struct guest_trace *trace, const struct guest_options *options,
		       const char *time)
{
	size_t count = 0, used = 0;

	*trace = (struct guest_trace){.path = NULL};
	if (!(options->trace ? *options->trace != '\0' : options->scheduler != NULL) ||
	    !needs_place(options->command, options->trace != NULL))
		return 0;
	snprintf(trace->chosen, sizeof(trace->chosen), "scheduler-%s.json", time);
	trace->path = options->trace ? options->trace : trace->chosen;
	while (options->command[count])
		count++;
	trace->command = calloc(count + 3, sizeof(*trace->command));
	if (!trace->command)
		return -ENOMEM;
	trace->command[used++] = options->command[0];
	trace->command[used++] = (char *)"--trace";
	trace->command[used++] = (char *)trace->path;
	memcpy(trace->command + used, options->command + 1, (count - 1) * sizeof(*trace->command));
	trace->was_there = !stat(trace->path, &trace->before);
	return 0;
}

bool guest_trace_is_there(const struct guest_trace *trace)
{
	struct stat now;

	/* it comes back as a new file */
	return trace->path && !stat(trace->path, &now) &&
	       (!trace->was_there || now.st_ino != trace->before.st_ino ||
		now.st_mtim.tv_sec != trace->before.st_mtim.tv_sec ||
		now.st_mtim.tv_nsec != trace->before.st_mtim.tv_nsec);
}

void guest_trace_release(struct guest_trace *trace)
{
	free(trace->command);
	trace->command = NULL;
}
