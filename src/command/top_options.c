// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top_options.h"

#include <errno.h>
#include <string.h>

#include "command/command.h"

enum {
	OPTION_BY = 512,
	OPTION_FROM,
	OPTION_RECORD,
	OPTION_BLAME,
	OPTION_NO_BLAME,
	OPTION_FORCE,
};

static const char doc[] =
	"Shows how every thread spends its time: thirteen states that sum to the time it existed."
	"\v"
	"Without a target: every thread of the machine. With COMMAND: it and its children, from "
	"the "
	"first instruction to the end. Ctrl-C and the end of all targets print the last, shorter "
	"interval.\n\n"
	"Examples:\n"
	"  dwell top                            the whole machine, every second\n"
	"  dwell top -p 1234 -i 200ms           a process, five times a second\n"
	"  dwell top --by process --theme light  for a screen that is light\n"
	"  dwell top postgres --children        a process and its children\n"
	"  dwell top --by process --top 10      the ten most active processes\n"
	"  dwell top -d 10s -i 10s --sort p99   who waits longest for a CPU\n"
	"  dwell top --format json -- make -j4  a build, for a program to read\n"
	"  dwell top -n postgres --blame        because of whom it waits\n"
	"  dwell top --by process --blame=caused  who makes others wait\n"
	"  dwell top --from yesterday.dwell     what `dwell record` has written\n";

static const struct argp_option argp_options[] = {
	{0, 0, 0, 0, "What to print:", 3},
	{"blame", OPTION_BLAME, "SIDE", OPTION_ARG_OPTIONAL,
	 "also because of whom threads wait; `caused`: by culprit, whom they make wait", 1},
	{"no-blame", OPTION_NO_BLAME, 0, 0, "not even on the screen, which measures it by default",
	 1},
	RESULT_OPTIONS("tui, " RESULT_FORMATS " (tui on a terminal, else table)", "", 3),
	SCREEN_OPTIONS(3),
	{"by", OPTION_BY, "WHAT", 0, "a row per thread, process or cgroup (thread)", 3},
	{"all", 'a', 0, 0, "in tables, include idle threads", 3},
	{0, 0, 0, 0, "Recordings:", 4},
	{"from", OPTION_FROM, "FILE", 0, "show a recording instead of this machine", 4},
	{"record", OPTION_RECORD, "FILE", 0, "also write what is shown to a recording", 4},
	{"force", OPTION_FORCE, 0, 0, "with --record: replace an existing file", 4},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1}, /* what most people try first */
	{0},
};

struct top_parsing {
	struct top_options *options;
	struct parsing parsing;
	struct watch_parsing watch;
};

static int parse_by(struct top_options *options, const char *value, struct error *error)
{
	for (int by = 0; by < GROUPINGS_COUNT; by++) {
		if (!strcmp(grouping_keys[by], value)) {
			options->by = (enum grouping)by;
			options->by_given = true;
			return 0;
		}
	}
	return parsing_unknown(error, "grouping", value, "thread, process or cgroup");
}

static int parse_blame(struct top_options *options, const char *value, struct error *error)
{
	options->watch.blame = true;
	options->blame = value && !strcmp(value, "caused") ? BLAME_CAUSED : BLAME_SUFFERED;
	options->watch.caused = options->blame == BLAME_CAUSED;
	if (value && options->blame != BLAME_CAUSED && strcmp(value, "suffered"))
		return parsing_unknown(error, "side of blame", value, "suffered or caused");
	return 0;
}

static const struct plain_option plain[] = {
	FLAG_OPTION(OPTION_NO_BLAME, struct top_options, no_blame),
	FLAG_OPTION('a', struct top_options, show_idle),
	TEXT_OPTION(OPTION_FROM, struct top_options, from),
	TEXT_OPTION(OPTION_RECORD, struct top_options, record),
	FLAG_OPTION(OPTION_FORCE, struct top_options, force),
};

/* 1: it is none of these. */
static int take_option(struct top_options *options, int key, char *value, struct error *error)
{
	int result = plain_option(plain, ARRAY_SIZE(plain), options, key, value, error);

	if (result <= 0)
		return result;
	if (key == OPTION_BY)
		return parse_by(options, value, error);
	if (key == OPTION_BLAME)
		return parse_blame(options, value, error);
	return result_option(&options->output, key, value, true, error);
}

/*
 * Threads, processes and cgroups are sorted where they are; by what only a column has, or as the
 * shares of --blame in formats of rows, when they are written.
 */
static int take_order(struct top_options *options, struct error *error)
{
	struct order *order = &options->output.order;
	bool is_page = !options->output.fields &&
		       (!options->output.format || options->output.format == &format_table);
	const struct field *field = order->field ? field_find(order->field) : NULL;

	if (!field || (options->blame != BLAME_NONE && !is_page))
		return 0;
	if (!field_orders(field, 1U << options->by))
		return error_set(error, EINVAL, "rows by %s have no field '%s' to sort by",
				 grouping_keys[options->by], field->name);
	options->sort = field;
	options->sort_given = true;
	order->field = NULL;
	return 0;
}

static int check_together(struct top_options *options, struct error *error)
{
	int result = take_order(options, error);

	if (result < 0)
		return result;
	if (options->from && (options->record || options->watch.command ||
			      !targets_everything(&options->watch.targets)))
		return error_set(
			error, EINVAL,
			"--from shows what was recorded: it takes no target, no command and "
			"no --record");
	if (options->from &&
	    (options->watch.interval_given || options->watch.source != SOURCE_AUTO))
		return error_set(error, EINVAL,
				 "--from shows intervals as they were recorded: it takes no "
				 "--interval and no --source");
	if (options->output.screen && options->watch.command)
		return error_set(error, EINVAL,
				 "the command would share the screen: use --format table, or dwell "
				 "record");
	if (options->blame != BLAME_NONE && options->no_blame)
		return error_set(error, EINVAL, "--blame and --no-blame do not go together");
	if (options->force && !options->record)
		return error_set(error, EINVAL, "--force needs --record");
	return result_options_end(&options->output, interval_schema_for(options->blame),
				  1U << options->by, error);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct top_parsing *input = state->input;
	int result;

	if (!input)
		return ARGP_ERR_UNKNOWN;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &input->watch;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_END:
		return parsing_result(&input->parsing,
				      check_together(input->options, &input->parsing.error));
	}
	result = take_option(input->options, key, value, &input->parsing.error);
	return parsing_result(&input->parsing, result);
}

static const struct argp_child children[] = {{&watch_argp, 0, NULL, 0}, {0}};

const struct argp top_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "[NAME | -- COMMAND [ARG...]]",
	.doc = doc,
	.children = children,
};

int top_options_parse(struct top_options *options, int argc, char **argv)
{
	struct top_parsing input = {
		.options = options,
		.watch = {&options->watch, &input.parsing},
	};

	*options = (struct top_options){.sort = field_find("active"),
					.output = {.page_keeps = PAGE_CUTS}};
	watch_options_init(&options->watch);
	return parsing_run(&top_argp, "dwell top", argc, argv, &input, &input.parsing);
}
