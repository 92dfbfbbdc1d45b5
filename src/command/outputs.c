// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/outputs.h"

#include <errno.h>
#include <string.h>

#define DEPTH	 4 /* of argps in argps, and children of each */
#define CHILDREN 4

/* A command's argp with a parser of ours in place of each of its own. */
struct reading {
	const struct command *command;
	struct pulled_files *pulled;
	const char *from;
	struct argp argps[DEPTH * CHILDREN];
	struct argp_child children[DEPTH * CHILDREN][CHILDREN + 1];
	size_t used;
	bool named; /* an output was */
	int result;
};

/* argp hands its input to the outermost parser only. */
static struct reading *reading;

static const struct argp_option *find_key(const struct argp *argp, int key)
{
	for (const struct argp_option *option = argp->options;
	     option && (option->name || option->key || option->doc); option++)
		if (option->key == key && option->name)
			return option;
	for (const struct argp_child *child = argp->children; child && child->argp; child++) {
		const struct argp_option *found = find_key(child->argp, key);

		if (found)
			return found;
	}
	return NULL;
}

static bool is_output(const char *name)
{
	for (const char *const *output = reading->command->outputs; *output; output++)
		if (!strcmp(*output, name))
			return true;
	return false;
}

static error_t take(int key, char *value, struct argp_state *state)
{
	const struct argp_option *option;

	(void)state;
	/* arguments, the end and the like, which are nothing to us */
	if (key == ARGP_KEY_ARG || key >= ARGP_KEY_ARGS)
		return 0;
	option = value ? find_key(reading->command->argp, key) : NULL;
	if (!option || !is_output(option->name))
		return 0;
	reading->named = true;
	reading->result = pulled_files_add(reading->pulled, reading->from, value,
					   !strcmp(option->arg, "DIRECTORY"));
	return reading->result < 0 ? ENOMEM : 0;
}

static struct argp *copy(const struct argp *argp)
{
	struct argp *into = &reading->argps[reading->used];
	struct argp_child *children = reading->children[reading->used];
	size_t count = 0;

	reading->used++;
	*into = (struct argp){.options = argp->options, .parser = take, .children = children};
	for (const struct argp_child *child = argp->children;
	     child && child->argp && count < CHILDREN && reading->used < ARRAY_SIZE(reading->argps);
	     child++)
		children[count++] = (struct argp_child){.argp = copy(child->argp)};
	return into;
}

int outputs_add(struct pulled_files *pulled, const char *from, char **arguments)
{
	struct reading mine = {
		.command = command_find(arguments[0]), .pulled = pulled, .from = from};
	int count = 0;

	if (!mine.command || !*mine.command->outputs)
		return 0;
	while (arguments[count])
		count++;
	reading = &mine;
	/* what the command would refuse it refuses in the guest */
	argp_parse(copy(mine.command->argp), count, arguments,
		   ARGP_IN_ORDER | ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT, NULL, NULL);
	if (!mine.result && !mine.named && mine.command->output)
		mine.result = pulled_files_add(pulled, from, mine.command->output, false);
	return mine.result;
}
