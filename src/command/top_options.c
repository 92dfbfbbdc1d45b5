// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top_options.h"

#include <errno.h>
#include <string.h>

#include "command/command.h"

static const char text[] =
	"Shows how every thread spends its time: in states that sum to the time it existed."
	"\v"
	"Without a target: every thread of the machine. With COMMAND: it and its children, from "
	"the "
	"first instruction to the end. Ctrl-C and the end of all targets print the last, shorter "
	"interval.\n\n"
	"Examples:\n"
	"  dwell top                            the whole machine, every second\n"
	"  dwell top -p 1234 -i 200ms           a process, five times a second\n"
	"  dwell top --by process --theme light  for a screen that is light\n"
	"  dwell top postgres                   a process, and its forked workers\n"
	"  dwell top --by process --top 10      the ten most active processes\n"
	"  dwell top -d 10s -i 10s --sort p99   who waits longest for a CPU\n"
	"  dwell top --format json -- make -j4  a build, for a program to read\n"
	"  dwell top -n postgres --blame        because of whom it waits\n"
	"  dwell top --by process --blame=caused  who makes others wait\n"
	"  dwell top --from yesterday.dwell     what `dwell record` has written\n";

static int take_by(void *data, const char *value, struct error *error)
{
	struct top_options *options = data;

	options->by_given = true;
	return parsing_grouping(value, true, &options->by, error);
}

static int take_blame(void *data, const char *value, struct error *error)
{
	struct top_options *options = data;

	options->watch.blame = true;
	options->blame = value && !strcmp(value, "caused") ? BLAME_CAUSED : BLAME_SUFFERED;
	options->watch.caused = options->blame == BLAME_CAUSED;
	if (value && options->blame != BLAME_CAUSED && strcmp(value, "suffered"))
		return parsing_unknown(error, "side of blame", value, "suffered or caused");
	return 0;
}

static const struct command_option top_option_table[] = {
	OPTION_GROUP(3, "What to print:"),
	OPTION_GROUP(1, NULL),
	TAKEN_OPTION("blame", 0, "SIDE", take_blame,
		     "also because of whom threads wait; `caused`: by culprit, whom they make wait",
		     .is_optional = true),
	FLAG_OPTION("no-blame", 0, struct top_options, no_blame,
		    "do not measure blame, which the screen does by default"),
	OPTION_GROUP(3, NULL),
	SCREEN_OPTIONS(struct top_options, " (tui on a terminal, else table)", ""),
	TAKEN_OPTION("by", 0, "WHAT", take_by, "a row per thread, process or cgroup (thread)"),
	FLAG_OPTION("all", 'a', struct top_options, show_idle, "in tables, include idle threads"),
	OPTION_GROUP(4, "Recordings:"),
	TEXT_OPTION("from", 0, "FILE", struct top_options, from,
		    "show a recording instead of this machine"),
	OPTIONS_OF(window_option_table, struct top_options, window),
	TEXT_OPTION("record", 0, "FILE", struct top_options, record,
		    "also write what is shown to a recording"),
	FLAG_OPTION("force", 0, struct top_options, force,
		    "with --record: replace an existing file"),
	WATCH_OPTIONS(struct top_options, watch, WATCH_SOURCES, "1s"),
	END_OF_OPTIONS,
};

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

	if (options->blame != BLAME_NONE && !is_page)
		return 0;
	options->output.ordering = field_find("active");
	if (!field)
		return 0;
	if (!field_orders(field, 1U << options->by))
		return error_set(error, EINVAL, "rows by %s have no field '%s' to sort by",
				 grouping_keys[options->by], field->name);
	options->sort = field;
	options->sort_given = true;
	order->field = NULL;
	return 0;
}

static int end(void *data, struct error *error)
{
	struct top_options *options = data;
	int result = watch_options_end(&options->watch, error);

	if (result >= 0)
		result = take_order(options, error);
	if (result < 0)
		return result;
	if (options->from && (options->record || options->watch.command ||
			      !targets_everything(&options->watch.targets)))
		return error_set(
			error, EINVAL,
			"--from shows what was recorded: it takes no target, no command and "
			"no --record");
	if (!options->from && window_is_part(&options->window))
		return error_set(error, EINVAL, "--since and --until are for --from");
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
	options->watch.command_to_stderr = result_is_for_programs(&options->output);
	return result_options_end(&options->output, interval_schema_for(options->blame),
				  1U << options->by, error);
}

const struct command_line top_line = {
	.options = top_option_table,
	.arguments = "[NAME | -- COMMAND [ARG...]]",
	.text = text,
	.argument_member = offsetof(struct top_options, watch),
	.take_argument = watch_take_argument,
	.end = end,
};

int top_options_parse(struct top_options *options, int argc, char **argv)
{
	*options = (struct top_options){.sort = field_find("active"),
					.output = {.page_keeps = PAGE_CUTS}};
	watch_options_init(&options->watch);
	options->watch.targets.forked_are_one = true;
	return command_line_parse(&top_line, argc, argv, options);
}
