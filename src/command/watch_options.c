// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/watch_options.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"

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
