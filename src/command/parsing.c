// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/parsing.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/similar.h"
#include "base/size.h"
#include "base/text.h"
#include "command/command.h"

/* A line of a terminal has room for them, beside the rest of the message. */
#define CHOICES_SHOWN 60

int parsing_unknown(struct error *error, const char *what, const char *value, const char *choices)
{
	char shown[64], guess[64];

	text_printable(shown, sizeof(shown), value, 40);
	similar_choice(guess, sizeof(guess), value, choices);
	if (*guess)
		return error_set(error, EINVAL, "unknown %s '%s'; did you mean '%s'?", what, shown,
				 guess);
	if (strlen(choices) > CHOICES_SHOWN)
		return error_set(error, EINVAL, "unknown %s '%s': --help lists them", what, shown);
	return error_set(error, EINVAL, "unknown %s '%s': use %s", what, shown, choices);
}

int parsing_count(const char *text, const char *option, uint64_t *ret_count, struct error *error)
{
	char *end;

	errno = 0;
	*ret_count = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || !*ret_count)
		return error_set(error, EINVAL, "%s needs a number from 1 up, not '%s'", option,
				 text);
	return 0;
}

bool parsing_helps(int key, struct argp_state *state)
{
	if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	return key == 'h';
}

error_t parsing_result(struct parsing *parsing, int result)
{
	if (result >= 0)
		return result ? ARGP_ERR_UNKNOWN : 0;
	parsing->code = result == -EINVAL || result == -E2BIG ? EXIT_USAGE : EXIT_NOT_RUN;
	return -result;
}

int parsing_name(struct targets *targets, const char *name, struct error *error)
{
	int result = targets_add_name(targets, name, error);
	size_t used = strlen(error->text);

	if (result == -ESRCH)
		snprintf(error->text + used, sizeof(error->text) - used,
			 " (a program to run comes after --)");
	return result;
}

int plain_option(const struct plain_option *plain, size_t count, void *options, int key,
		 const char *value, struct error *error)
{
	const struct plain_option *end = plain + count;
	void *member;

	while (plain < end && plain->key != key)
		plain++;
	if (plain == end)
		return 1;
	member = (char *)options + plain->member;
	switch (plain->kind) {
	case PLAIN_FLAG:
		*(bool *)member = true;
		return 0;
	case PLAIN_TEXT:
		*(const char **)member = value;
		return 0;
	case PLAIN_TIME:
		return duration_parse(value, member, error);
	case PLAIN_SIZE:
		return size_parse(value, member, error);
	}
	return 1;
}

int parsing_run(const struct argp *argp, const char *program, int argc, char **argv, void *input,
		struct parsing *parsing)
{
	/* without the note on mandatory arguments; a help_filter does not see it */
	bool quiet = !setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
	error_t failed;

	argv[0] = (char *)program;
	argp_err_exit_status = EXIT_USAGE;
	failed = argp_parse(argp, argc, argv, ARGP_IN_ORDER, NULL, input);
	/* not for programs that we start, nor where the user has set it */
	if (quiet && !strcmp(getenv("ARGP_HELP_FMT"), "no-dup-args-note"))
		unsetenv("ARGP_HELP_FMT");
	if (parsing->code != EXIT_DONE)
		return command_fail(program + strlen("dwell "), parsing->code, &parsing->error);
	if (failed == ENOMEM) {
		error_set(&parsing->error, ENOMEM, "out of memory");
		return command_fail(program + strlen("dwell "), EXIT_NOT_RUN, &parsing->error);
	}
	return failed ? EXIT_USAGE : EXIT_DONE;
}
