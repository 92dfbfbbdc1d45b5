// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/describe.h"

#include <ctype.h>
#include <string.h>

void each_option(const struct argp *argp,
		 void (*call)(const struct argp_option *option, void *data), void *data)
{
	for (const struct argp_option *option = argp->options;
	     option && (option->name || option->key || option->doc); option++)
		if (!(option->flags & OPTION_HIDDEN))
			call(option, data);
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		each_option(child->argp, call, data);
}

bool option_is_short(const struct argp_option *option)
{
	return option->key > 0 && option->key < 128 && isalnum(option->key);
}

static void print_escaped(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			putchar('\\');
		if (*text == '-')
			putchar('\\');
		putchar(*text);
	}
}

static void manual_option(const struct argp_option *option, void *data)
{
	(void)data;
	if (!option->name) {
		printf(".SS %.*s\n", (int)strcspn(option->doc, ":"), option->doc);
		return;
	}
	puts(".TP");
	printf(".B ");
	if (option_is_short(option))
		printf("\\-%c, ", option->key);
	printf("\\-\\-");
	print_escaped(option->name);
	if (option->arg)
		printf(option->flags & OPTION_ARG_OPTIONAL ? "[=\\fI%s\\fP]" : "=\\fI%s\\fP",
		       option->arg);
	putchar('\n');
	print_escaped(option->doc);
	putchar('\n');
}

void describe_manual(const struct command *command)
{
	if (command->argp)
		each_option(command->argp, manual_option, NULL);
}
