// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/describe.h"

#include <stdio.h>
#include <string.h>

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

static void manual_option(const struct command_option *option, void *data)
{
	(void)data;
	if (!option->name) {
		printf(".SS %.*s\n", (int)strcspn(option->help, ":"), option->help);
		return;
	}
	puts(".TP");
	printf(".B ");
	if (option->letter)
		printf("\\-%c, ", option->letter);
	printf("\\-\\-");
	print_escaped(option->name);
	if (option->argument)
		printf(option->is_optional ? "[=\\fI%s\\fP]" : "=\\fI%s\\fP", option->argument);
	putchar('\n');
	print_escaped(option->help);
	putchar('\n');
}

void describe_manual(const struct command *command)
{
	each_option(command->line, manual_option, NULL);
}
