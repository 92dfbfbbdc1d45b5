// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/profile_options.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "command/window_options.h"

#define FREQUENCY_MAX	    2500

#define FORMATS_OF_PROFILES "tui, " RESULT_FORMATS ", html, folded, pprof, chrome"

static const char text[] =
	"Shows which code each state's time was spent in: exact totals, divided by stacks of what "
	"runs and of what waits. Any process, or the whole machine; nothing is rebuilt."
	"\v"
	"On a terminal, without -d, a command, --format, --by, --top and -o: a flame graph on the "
	"screen, until q; else until Ctrl-C, or until the target ends. Time waiting for work "
	"(idle) has no stacks unless --state asks for them.\n\n"
	"Examples:\n"
	"  dwell profile postgres                         a flame graph on the screen\n"
	"  dwell profile postgres -d 10s                  where its time goes\n"
	"  dwell profile -p 1234 -d 10s --state lock,disk\n"
	"  dwell profile -d 5s                            the whole machine\n"
	"  dwell profile -p 1234 -d 10s --format html -o slow.html\n"
	"  dwell profile --format folded -o out.folded -- ./import data.csv\n";

int profile_take_frequency(void *data, const char *value, struct error *error)
{
	struct profile_options *options = data;
	uint64_t frequency;
	int result = parsing_count(value, "--freq", &frequency, error);

	if (result == 0 && frequency > FREQUENCY_MAX)
		return error_set(error, EINVAL, "--freq %s is too much: %u at most", value,
				 FREQUENCY_MAX);
	options->frequency = (unsigned int)frequency;
	return result;
}

int profile_take_rate(void *data, const char *value, struct error *error)
{
	struct profile_options *options = data;
	uint64_t rate;
	int result = parsing_count(value, "--rate", &rate, error);

	if (result == 0 && rate > FREQUENCY_MAX)
		return error_set(error, EINVAL, "--rate %s is too much: %u at most", value,
				 FREQUENCY_MAX);
	options->rate = (unsigned int)rate;
	return result;
}

/* 1 << enum state; 0: there is no such name. */
static uint32_t states_named(const char *name, size_t length)
{
	static const struct {
		const char *name;
		uint32_t states;
	} groups[] = {
		{"all", PROFILE_STATES},
		{"cpu", 1U << STATE_USER | 1U << STATE_KERNEL},
		{"waits", PROFILE_STATES_USUAL & ~(1U << STATE_USER | 1U << STATE_KERNEL)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (strlen(groups[i].name) == length && !strncmp(groups[i].name, name, length))
			return groups[i].states;
	for (int state = 0; state < STATES; state++)
		if (strlen(state_info[state].key) == length &&
		    !strncmp(state_info[state].key, name, length))
			return PROFILE_STATES & 1U << state;
	return 0;
}

static int take_states(void *data, const char *value, struct error *error)
{
	struct command_profile_options *options = data;

	for (;;) {
		size_t length = strcspn(value, ",");
		uint32_t states = states_named(value, length);
		char name[32];

		if (!states) {
			snprintf(name, sizeof(name), "%.*s", (int)(length < 31 ? length : 31),
				 value);
			return parsing_unknown(error, "state", name,
					       "all, cpu, waits, " PROFILE_STATE_KEYS);
		}
		options->states |= states;
		if (!value[length])
			return 0;
		value += length + 1;
	}
}

static int take_by(void *data, const char *value, struct error *error)
{
	struct command_profile_options *options = data;

	for (int i = 0; i < PROFILE_GROUPINGS_COUNT; i++) {
		if (!strcmp(profile_grouping_keys[i], value)) {
			options->by = (enum profile_grouping)i;
			options->by_given = true;
			return 0;
		}
	}
	return parsing_unknown(error, "grouping", value, "function, file, line, thread or state");
}

static int take_root(void *data, const char *value, struct error *error)
{
	struct command_profile_options *options = data;

	for (int i = 0; i < PROFILE_ROOTS_COUNT; i++) {
		if (!strcmp(profile_root_keys[i], value)) {
			options->root = (enum profile_root)i;
			return 0;
		}
	}
	return parsing_unknown(error, "root", value, "state, thread or none");
}

static int take_format(void *data, const char *value, struct error *error)
{
	struct command_profile_options *options = data;

	options->export = profile_export_find(value);
	if (!options->export && !format_find(value) && strcmp(value, "tui"))
		return parsing_unknown(error, "format", value, FORMATS_OF_PROFILES);
	if (!options->export)
		return result_take_view(&options->output, value, error);
	options->output.screen = false;
	options->output.given = true;
	options->output.named = value;
	return 0;
}

static const struct command_option profile_option_table[] = {
	OPTION_GROUP(3, "What to show:"),
	TAKEN_OPTION("state", 0, "STATE[,STATE]", take_states,
		     "only time in these: all, cpu, waits, or single ones (all but idle and "
		     "stopped)"),
	TAKEN_OPTION("by", 0, "WHAT", take_by,
		     "rows by function, file, line, thread or state (function)"),
	TAKEN_OPTION("format", 0, "FORMAT", take_format, FORMATS_OF_PROFILES),
	TEXT_OPTION("fields", 0, "NAME[,NAME]", struct command_profile_options, output.fields,
		    FIELDS_HELP),
	TEXT_OPTION("sort", 0, "FIELD", struct command_profile_options, output.order.field,
		    SORT_HELP),
	TAKEN_MEMBER("top", 0, "N", struct command_profile_options, output, result_take_top,
		     TOP_HELP " (20 on the page)"),
	TAKEN_MEMBER("json", 0, NULL, struct command_profile_options, output, result_take_json,
		     JSON_HELP),
	TAKEN_MEMBER("theme", 0, "THEME", struct command_profile_options, output, result_take_theme,
		     THEME_HELP),
	TAKEN_OPTION("root", 0, "WHAT", take_root,
		     "what stacks begin with in folded and chrome: state, thread or none (state)"),
	FLAG_OPTION("kernel", 0, struct command_profile_options, kernel,
		    "all of the kernel's part of waits, not only the system call"),
	TEXT_OPTION("output", 'o', "FILE", struct command_profile_options, path,
		    "write to FILE (standard output)"),
	FLAG_OPTION("force", 0, struct command_profile_options, force, "replace an existing file"),
	TEXT_OPTION("from", 0, "FILE", struct command_profile_options, from,
		    "from a recording with stacks, in place of a process"),
	TEXT_OPTION("before", 0, "FILE", struct command_profile_options, before,
		    "with --format html: mark what takes more or less than in this recording"),
	OPTIONS_OF(window_option_table, struct command_profile_options, window),
	OPTION_GROUP(4, "How stacks are taken:"),
	STACK_RATE_OPTIONS(struct command_profile_options, profile),
	TAKEN_MEMBER("unwind", 0, "HOW", struct command_profile_options, profile.stacks,
		     parsing_unwind,
		     "auto: by unwind tables; dwarf: the same; fp: by frame pointers (auto)"),
	TEXT_OPTION("target", 0, "FILE", struct command_profile_options, profile.stacks.symbols,
		    "the program with its symbols, if it runs stripped"),
	WATCH_OPTIONS(struct command_profile_options, watch, "auto or bpf: stacks need BPF (auto)",
		      "1s"),
	END_OF_OPTIONS,
};

const struct command_line profile_line = {
	.options = profile_option_table,
	.arguments = "[NAME | -- COMMAND [ARG...]]",
	.text = text,
	.argument_member = offsetof(struct command_profile_options, watch),
	.take_argument = watch_take_argument,
	.end = profile_options_end,
};
