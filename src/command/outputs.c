// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/outputs.h"

#include <string.h>

struct reading {
	const struct command *command;
	struct pulled_files *pulled;
	const char *from;
	bool named; /* an output was */
	int result;
};

static bool is_output(const struct command *command, const char *name)
{
	for (const char *const *output = command->outputs; *output; output++)
		if (!strcmp(*output, name))
			return true;
	return false;
}

static void take(const struct command_option *option, const char *value, void *data)
{
	struct reading *reading = data;

	if (!value || reading->result < 0 || !is_output(reading->command, option->name))
		return;
	reading->named = true;
	reading->result = pulled_files_add(reading->pulled, reading->from, value,
					   !strcmp(option->argument, "DIRECTORY"));
}

int outputs_add(struct pulled_files *pulled, const char *from, char **arguments)
{
	struct reading reading = {
		.command = command_find(arguments[0]), .pulled = pulled, .from = from};
	int count = 0;

	if (!reading.command || !*reading.command->outputs)
		return 0;
	while (arguments[count])
		count++;
	/* what the command would refuse it refuses in the guest */
	command_line_scan(reading.command->line, count, arguments, take, &reading);
	if (!reading.result && !reading.named && reading.command->output)
		reading.result = pulled_files_add(pulled, from, reading.command->output, false);
	return reading.result;
}
