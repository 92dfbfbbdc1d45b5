// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/watch_options.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "base/similar.h"
#include "base/text.h"
#include "command/command.h"

enum {
	OPTION_CGROUP = 256,
	OPTION_CHILDREN,
	OPTION_SOURCE,
};

static const struct argp_option watch_argp_options[] = {
	{0, 0, 0, 0, "What to watch:", 1},
	{"pid", 'p', "PID[,PID]", 0, "processes", 1},
	{"name", 'n', "NAME", 0, "the process of this name, or of a pattern: 'postg*'", 1},
	{"tid", 't', "TID[,TID]", 0, "single threads", 1},
	{"cgroup", OPTION_CGROUP, "PATH", 0, "threads of a cgroup (v2) and those below it", 1},
	{"children", OPTION_CHILDREN, 0, 0, "with -p and -n: child processes too, and theirs", 1},
	{"source", OPTION_SOURCE, "SOURCE", 0,
	 "where figures come from: auto, bpf, taskstats or procfs (auto)", 1},
	{0, 0, 0, 0, "How long:", 2},
	{"interval", 'i', "TIME", 0, "length of an interval, 1ms at least (1s)", 2},
	{"count", 'c', "COUNT", 0, "stop after COUNT intervals", 2},
	{"duration", 'd', "TIME", 0, "stop after TIME", 2},
	{0},
};

void watch_options_init(struct watch_options *options)
{
	*options = (struct watch_options){.interval_ns = NS_PER_S};
}

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

static int parse_interval(const char *value, uint64_t *ret_ns, struct error *error)
{
	int result = duration_parse(value, ret_ns, error);

	if (result == 0 && *ret_ns < NS_PER_MS)
		return error_set(error, EINVAL, "interval '%s' is too short (1ms at least)", value);
	return result;
}

static int parse_source(struct watch_options *options, const char *value, struct error *error)
{
	static const char *const names[] = {
		[SOURCE_AUTO] = "auto",
		[SOURCE_BPF] = "bpf",
		[SOURCE_TASKSTATS] = "taskstats",
		[SOURCE_PROCFS] = "procfs",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], value)) {
			options->source = (enum source_choice)i;
			return 0;
		}
	}
	return parsing_unknown(error, "source", value, "auto, bpf, taskstats or procfs");
}

/* 1: it is none of these. */
static int parse_option(struct watch_options *options, int key, const char *value,
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
	case OPTION_SOURCE:
		return parse_source(options, value, error);
	case 'i':
		options->interval_given = true;
		return parse_interval(value, &options->interval_ns, error);
	case 'd':
		return duration_parse(value, &options->duration_ns, error);
	case 'c':
		return parsing_count(value, "--count", &options->count, error);
	}
	return 1;
}

static int check_together(const struct watch_options *options, struct error *error)
{
	if (options->command && !targets_everything(&options->targets))
		return error_set(error, EINVAL, "give a target or a command to run, not both");
	if (options->targets.children && !options->targets.count && !options->command)
		return error_set(error, EINVAL, "--children needs -p or -n");
	return 0;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct watch_parsing *input = state->input;
	int result;

	if (!input) /* for the lists of options only */
		return ARGP_ERR_UNKNOWN;
	switch (key) {
	case ARGP_KEY_ARGS:
		input->options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_ARG:
		if (state->quoted && state->next > state->quoted)
			return ARGP_ERR_UNKNOWN; /* then ARGP_KEY_ARGS, with all that are left */
		return parsing_result(input->parsing, parsing_name(&input->options->targets, value,
								   &input->parsing->error));
	case ARGP_KEY_END:
		return parsing_result(input->parsing,
				      check_together(input->options, &input->parsing->error));
	}
	result = parse_option(input->options, key, value, &input->parsing->error);
	return parsing_result(input->parsing, result);
}

const struct argp watch_argp = {.options = watch_argp_options, .parser = parse};

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
