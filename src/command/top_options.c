// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "command/top_options.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "command/command.h"

enum {
	OPTION_CGROUP = 256,
	OPTION_CHILDREN,
	OPTION_FORMAT,
	OPTION_SORT,
	OPTION_TOP,
	OPTION_BY,
	OPTION_SOURCE,
};

static const char doc[] =
	"Shows how every thread spends its time: eleven states that sum to the time it existed."
	"\v"
	"Without a target: every thread of the machine. With COMMAND: it and its children, from "
	"the "
	"first instruction to the end. Ctrl-C and the end of all targets print the last, shorter "
	"interval.\n\n"
	"Examples:\n"
	"  dwell top                            the whole machine, every second\n"
	"  dwell top -p 1234 -i 200ms           a process, five times a second\n"
	"  dwell top -n postgres --children     a process and its children\n"
	"  dwell top --by process --top 10      the ten most active processes\n"
	"  dwell top -d 10s -i 10s --sort p99   who waits longest for a CPU\n"
	"  dwell top --format json -- make -j4  a build, for a program to read\n";

static const struct argp_option argp_options[] = {
	{0, 0, 0, 0, "What to watch:", 1},
	{"pid", 'p', "PID[,PID]", 0, "processes", 1},
	{"name", 'n', "NAME", 0, "the process of this name", 1},
	{"tid", 't', "TID[,TID]", 0, "single threads", 1},
	{"cgroup", OPTION_CGROUP, "PATH", 0, "threads of a cgroup (v2) and those below it", 1},
	{"children", OPTION_CHILDREN, 0, 0, "with -p and -n: child processes too, however deep", 1},
	{0, 0, 0, 0, "How long:", 2},
	{"interval", 'i', "TIME", 0, "length of an interval, 1ms at least (1s)", 2},
	{"count", 'c', "COUNT", 0, "end after so many intervals", 2},
	{"duration", 'd', "TIME", 0, "end after this time", 2},
	{0, 0, 0, 0, "What to print:", 3},
	{"format", OPTION_FORMAT, "FORMAT", 0, "table, json or csv (table)", 3},
	{"sort", OPTION_SORT, "FIELD", 0,
	 "largest first; names first to last (active); fields:", 3},
	{"top", OPTION_TOP, "N", 0, "only the first N rows", 3},
	{"by", OPTION_BY, "WHAT", 0, "a row per thread, process or cgroup (thread)", 3},
	{"all", 'a', 0, 0, "in tables: also threads that did nothing but wait", 3},
	{"source", OPTION_SOURCE, "SOURCE", 0, "where figures come from: auto or bpf (auto)", 3},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1}, /* what most people try first */
	{0},
};

struct parsing {
	struct top_options *options;
	struct error error;
	int code; /* exit status of the first mistake */
	bool stopped;
};

/* Names of all fields, for messages and help; static storage. */
static const char *field_names(void)
{
	static char names[512];

	if (!*names)
		for (size_t i = 0; i < field_count; i++)
			snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
				 i ? " " : "", fields[i].name);
	return names;
}

static int usage(struct error *error, const char *what, const char *value, const char *choices)
{
	char shown[64];

	text_printable(shown, sizeof(shown), value, 40);
	return error_set(error, EINVAL, "unknown %s '%s': use %s", what, shown, choices);
}

static int parse_count(const char *text, const char *option, uint64_t *ret_count,
		       struct error *error)
{
	char *end;

	errno = 0;
	*ret_count = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || !*ret_count)
		return error_set(error, EINVAL, "%s needs a number from 1 up, not '%s'", option,
				 text);
	return 0;
}

static int parse_by(struct top_options *options, const char *value, struct error *error)
{
	for (int by = 0; by < GROUPINGS_COUNT; by++) {
		if (!strcmp(grouping_keys[by], value)) {
			options->by = (enum grouping)by;
			return 0;
		}
	}
	return usage(error, "grouping", value, "thread, process or cgroup");
}

static int parse_interval(const char *value, uint64_t *ret_ns, struct error *error)
{
	int result = duration_parse(value, ret_ns, error);

	if (result == 0 && *ret_ns < NS_PER_MS)
		return error_set(error, EINVAL, "interval '%s' is too short (1ms at least)", value);
	return result;
}

/* Options about form. 0, a negative errno, or 1 if it is none of them. */
static int parse_output(struct top_options *options, int key, const char *value,
			struct error *error)
{
	uint64_t count;
	int result;

	switch (key) {
	case OPTION_FORMAT:
		options->format = view_find(value);
		return options->format ? 0 : usage(error, "format", value, "table, json or csv");
	case OPTION_SORT:
		options->sort = field_find(value);
		return options->sort ? 0 : usage(error, "field", value, field_names());
	case OPTION_BY:
		return parse_by(options, value, error);
	case OPTION_TOP:
		result = parse_count(value, "--top", &count, error);
		options->top = (size_t)count;
		return result;
	case 'a':
		options->show_idle = true;
		return 0;
	case OPTION_SOURCE:
		if (strcmp(value, "auto") && strcmp(value, "bpf"))
			return usage(error, "source", value, "auto or bpf");
		return 0;
	}
	return 1;
}

/* Options about what to watch and how long; 1 if it is none of them. */
static int parse_target(struct top_options *options, int key, const char *value,
			struct error *error)
{
	switch (key) {
	case 'p':
		return targets_parse(&options->targets, value, TARGET_PROCESS, error);
	case 't':
		return targets_parse(&options->targets, value, TARGET_THREAD, error);
	case 'n':
		return targets_add_name(&options->targets, value, error);
	case OPTION_CGROUP:
		return targets_set_cgroup(&options->targets, value, error);
	case OPTION_CHILDREN:
		options->targets.children = true;
		return 0;
	case 'i':
		return parse_interval(value, &options->interval_ns, error);
	case 'd':
		return duration_parse(value, &options->duration_ns, error);
	case 'c':
		return parse_count(value, "--count", &options->count, error);
	}
	return 1;
}

static int check_together(const struct top_options *options, struct error *error)
{
	if (options->command && !targets_everything(&options->targets))
		return error_set(error, EINVAL, "give a target or a command to run, not both");
	if (options->targets.children && !options->targets.count && !options->command)
		return error_set(error, EINVAL, "--children needs -p or -n");
	if (!field_applies(options->sort, options->by))
		return error_set(error, EINVAL, "rows by %s have no field '%s' to sort by",
				 grouping_keys[options->by], options->sort->name);
	return 0;
}

/* A target that is not there is no mistake in the command line: exit 1, not 2. */
static error_t mistake(struct parsing *parsing, int result)
{
	if (result == -EINVAL || result == -E2BIG)
		parsing->code = EXIT_USAGE;
	else
		parsing->code = EXIT_NOT_RUN;
	parsing->stopped = true;
	return -result;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct top_options *options = parsing->options;
	int result;

	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_ARG:
		return ARGP_ERR_UNKNOWN; /* then ARGP_KEY_ARGS, with all that are left */
	case ARGP_KEY_END:
		result = check_together(options, &parsing->error);
		return result < 0 ? mistake(parsing, result) : 0;
	}
	result = parse_target(options, key, value, &parsing->error);
	if (result > 0)
		result = parse_output(options, key, value, &parsing->error);
	if (result > 0)
		return ARGP_ERR_UNKNOWN;
	return result < 0 ? mistake(parsing, result) : 0;
}

static char *add_field_names(int key, const char *text, void *input)
{
	char *longer = NULL;

	(void)input;
	if (key != (OPTION_SORT) || !text)
		return (char *)text;
	return asprintf(&longer, "%s %s", text, field_names()) < 0 ? (char *)text : longer;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "[-- COMMAND [ARG...]]",
	.doc = doc,
	.help_filter = add_field_names,
};

int top_options_parse(struct top_options *options, int argc, char **argv)
{
	static char name[] = "dwell top";
	struct parsing parsing = {.options = options, .code = EXIT_DONE};
	error_t failed;

	*options = (struct top_options){
		.interval_ns = NS_PER_S,
		.format = &view_table,
		.sort = field_find("active"),
	};
	argv[0] = name;
	argp_err_exit_status = EXIT_USAGE;
	failed = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &parsing);
	if (parsing.stopped)
		return command_fail("top", parsing.code, &parsing.error);
	return failed ? EXIT_USAGE : EXIT_DONE;
}
