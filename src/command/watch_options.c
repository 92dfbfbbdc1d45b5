// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/watch_options.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"

void watch_options_init(struct watch_options *options)
{
	*options = (struct watch_options){.interval_ns = NS_PER_S};
}

int watch_take_interval(void *data, const char *value, struct error *error)
{
	struct watch_options *options = data;
	int result = duration_parse(value, &options->interval_ns, error);

	options->interval_given = true;
	if (result == 0 && options->interval_ns < NS_PER_MS)
		return error_set(error, EINVAL, "interval '%s' is too short (1ms at least)", value);
	return result;
}

int watch_take_source(void *data, const char *value, struct error *error)
{
	struct watch_options *options = data;
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

static int take_processes(void *targets, const char *value, struct error *error)
{
	return targets_parse(targets, value, TARGET_PROCESS, error);
}

static int take_threads(void *targets, const char *value, struct error *error)
{
	return targets_parse(targets, value, TARGET_THREAD, error);
}

static int take_name(void *targets, const char *value, struct error *error)
{
	return targets_add_name(targets, value, error);
}

static int take_cgroup(void *targets, const char *value, struct error *error)
{
	return targets_set_cgroup(targets, value, error);
}

static int take_count(void *data, const char *value, struct error *error)
{
	struct watch_options *options = data;

	return parsing_count(value, "--count", &options->count, error);
}

const struct command_option watch_option_table[] = {
	OPTION_GROUP(1, "What to watch:"),
	TAKEN_MEMBER("pid", 'p', "PID[,PID]", struct watch_options, targets, take_processes,
		     "processes"),
	TAKEN_MEMBER("name", 'n', "NAME", struct watch_options, targets, take_name,
		     "the process of this name, of a server with what it has forked; or all of a "
		     "pattern: 'postg*'"),
	TAKEN_MEMBER("tid", 't', "TID[,TID]", struct watch_options, targets, take_threads,
		     "single threads"),
	TAKEN_MEMBER("cgroup", 0, "PATH", struct watch_options, targets, take_cgroup,
		     "threads of a cgroup (v2) and those below it"),
	FLAG_OPTION("children", 0, struct watch_options, targets.children,
		    "with -p and -n: child processes too, and theirs"),
	OPTION_GROUP(2, "How long:"),
	TAKEN_OPTION("count", 'c', "COUNT", take_count, "stop after COUNT intervals"),
	TIME_OPTION("duration", 'd', struct watch_options, duration_ns, "stop after TIME"),
	END_OF_OPTIONS,
};

int watch_take_argument(void *data, char **rest, bool is_behind_dashes, struct error *error)
{
	struct watch_options *options = data;

	if (!is_behind_dashes)
		return parsing_name(&options->targets, rest, error);
	options->command = rest;
	return ARGUMENTS_TAKEN;
}

int watch_options_end(const struct watch_options *options, struct error *error)
{
	if (options->command && !targets_everything(&options->targets))
		return error_set(error, EINVAL, "give a target or a command to run, not both");
	if (options->targets.children && !options->targets.count && !options->command)
		return error_set(error, EINVAL, "--children needs -p or -n");
	return 0;
}
