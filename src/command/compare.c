// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell compare`: what two measurements of blocked workers differ in. */
#include <errno.h>
#include <string.h>

#include "command/compare.h"
#include "command/watch_options.h"

enum {
	OPTION_FORMAT = 512,
	OPTION_WORSE,
	OPTION_TOP,
};

struct compare {
	struct parsing parsing;
	struct compare_options options;
	unsigned int path_count;
};

static const char doc[] =
	"Compares two measurements of `dwell blocked`, recordings (--record) or JSON (--format "
	"json): which hotspots are gone, new, better or worse, as shares of the time measured."
	"\v"
	"Examples:\n"
	"  dwell compare before.dwell after.dwell\n"
	"  dwell compare before.json after.json --worse 10  exit status 3 if the time in stalls "
	"grew by more than 10 %\n";

static const struct argp_option argp_options[] = {
	{"format", OPTION_FORMAT, "FORMAT", 0, "table or json (table)", 1},
	{"top", OPTION_TOP, "N", 0, "rows of the table (20)", 1},
	{"worse", OPTION_WORSE, "PERCENT", 0,
	 "exit with status 3 if the second has by so much more time in stalls", 1},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static int take_worse(struct compare *compare, const char *value, struct error *error)
{
	char *end;

	compare->options.worse = strtod(value, &end) / 100;
	if (end == value || *end || !(compare->options.worse >= 0 && compare->options.worse < 1e6))
		return error_set(error, EINVAL, "--worse needs a percentage, not '%s'", value);
	compare->options.worse_given = true;
	return 0;
}

static int take_option(struct compare *compare, int key, const char *value, struct error *error)
{
	switch (key) {
	case OPTION_FORMAT:
		compare->options.json = !strcmp(value, "json");
		return compare->options.json || !strcmp(value, "table")
			       ? 0
			       : parsing_unknown(error, "format", value, "table or json");
	case OPTION_TOP:
		return parsing_count(value, "--top", &compare->options.top, error);
	case OPTION_WORSE:
		return take_worse(compare, value, error);
	case ARGP_KEY_ARG:
		if (compare->path_count == 2)
			return error_set(error, EINVAL, "two files are compared, not more");
		compare->options.paths[compare->path_count++] = value;
		return 0;
	case ARGP_KEY_END:
		return compare->path_count == 2
			       ? 0
			       : error_set(error, EINVAL, "which files? dwell compare A B");
	}
	return 1;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct compare *compare = state->input;
	int result;

	if (!compare)
		return ARGP_ERR_UNKNOWN;
	if (key == 'h') {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	result = take_option(compare, key, value, &compare->parsing.error);
	return result > 0 ? ARGP_ERR_UNKNOWN : parsing_result(&compare->parsing, result);
}

static const struct argp compare_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "A B",
	.doc = doc,
};

static int compare_run(int argc, char **argv)
{
	struct compare compare = {.path_count = 0};
	enum exit_code compared = EXIT_DONE;
	struct error error = {""};
	int result, code = parsing_run(&compare_argp, "dwell compare", argc, argv, &compare,
				       &compare.parsing);

	if (code != EXIT_DONE)
		return code;
	result = compare_blocked(&compare.options, &compared, &error);
	return result < 0 ? command_fail("compare", EXIT_NOT_RUN, &error) : (int)compared;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "what two measurements of blocked workers differ in",
	.argp = &compare_argp,
	.run = compare_run,
};
