// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes what the options of `dwell load` are given. */
#include "command/load_options_parts.h"

#include <errno.h>

#include "command/parsing.h"
#include "load/ab_plan.h"
#include "load/sweep.h"

int load_take_check(void *data, const char *value, struct error *error)
{
	struct load_given *given = data;

	if (given->check_count == ARRAY_SIZE(given->checks))
		return error_set(error, EINVAL, "too many checks");
	given->checks[given->check_count++] = value;
	return 0;
}

int load_take_pid(void *pid, const char *value, struct error *error)
{
	uint64_t number;
	int result = parsing_count(value, "--scheduler-pid", &number, error);

	if (result >= 0 && number > 4194304)
		return error_set(error, EINVAL, "--scheduler-pid: %s is not a process", value);
	if (result >= 0)
		*(pid_t *)pid = (pid_t)number;
	return result;
}

static int take_action(struct load_options *options, enum load_action action, struct error *error)
{
	static const char *const names[] = {
		[LOAD_LIST] = "--list",
		[LOAD_PRINT] = "--print",
		[LOAD_AB] = "--ab",
		[LOAD_SWEEP] = "--sweep",
	};

	if (options->action != LOAD_RUN && options->action != action)
		return error_set(error, EINVAL, "%s and %s: one of them", names[options->action],
				 names[action]);
	options->action = action;
	return 0;
}

int load_take_list(void *data, const char *value, struct error *error)
{
	struct load_options *options = data;

	options->subject = value;
	return take_action(options, LOAD_LIST, error);
}

int load_take_print(void *data, const char *value, struct error *error)
{
	struct load_options *options = data;

	options->subject = value;
	return take_action(options, LOAD_PRINT, error);
}

int load_take_ab(void *options, const char *value, struct error *error)
{
	(void)value;
	return take_action(options, LOAD_AB, error);
}

int load_take_sweep(void *data, const char *value, struct error *error)
{
	struct load_options *options = data;

	options->sweep.what = value;
	return take_action(options, LOAD_SWEEP, error);
}

int load_take_rounds(void *data, const char *value, struct error *error)
{
	struct sweep_options *options = data;
	int result = parsing_count(value, "--rounds", &options->rounds, error);

	if (result >= 0 && (!options->rounds || options->rounds > SWEEP_ROUNDS_MAX))
		return error_set(error, EINVAL, "--rounds %s: 1 to %d", value, SWEEP_ROUNDS_MAX);
	return result;
}

int load_take_set(void *data, const char *value, struct error *error)
{
	struct load_given *given = data;

	if (given->set_count == ARRAY_SIZE(given->sets))
		return error_set(error, EINVAL, "too many values");
	given->sets[given->set_count++] = value;
	return 0;
}

int load_take_pairs(void *data, const char *value, struct error *error)
{
	struct ab_options *options = data;
	int result = parsing_count(value, "--pairs", &options->pairs, error);

	if (result >= 0 && options->pairs > AB_PAIRS_MAX)
		return error_set(error, EINVAL, "--pairs %s: at most %d", value, AB_PAIRS_MAX);
	return result;
}

int load_take_gate(void *data, const char *value, struct error *error)
{
	struct ab_options *options = data;

	options->gate_given = true;
	return load_gate_parse(options->question.gates, value, error);
}

int load_take_metrics(void *data, const char *value, struct error *error)
{
	struct ab_options *options = data;

	options->question_given = true;
	return load_question_choose(&options->question, value, error);
}

int load_take_path(void *data, char **rest, bool is_behind_dashes, struct error *error)
{
	struct load_options *options = data;

	(void)is_behind_dashes;
	if (options->ab.other)
		return error_set(error, EINVAL, "two specs are compared, not more: %s", rest[0]);
	if (options->given.path)
		options->ab.other = rest[0];
	else
		options->given.path = rest[0];
	return ARGUMENT_TAKEN;
}
