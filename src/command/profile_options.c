// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/profile_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/build_options.h"
#include "runtime/runtime.h"

#define DEFAULT_FREQUENCY   99
#define DEFAULT_RATE	    150
#define FREQUENCY_MAX	    2500

#define FORMATS_OF_PROFILES "tui, " RESULT_FORMATS ", html, folded, pprof, chrome"

#define USUAL_STATES	    (PROFILE_STATES & ~(1U << STATE_IDLE | 1U << STATE_STOPPED))

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
		{"waits", USUAL_STATES & ~(1U << STATE_USER | 1U << STATE_KERNEL)},
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
	OPTION_GROUP(4, "How stacks are taken:"),
	STACK_RATE_OPTIONS(struct command_profile_options, profile),
	TAKEN_MEMBER("unwind", 0, "HOW", struct command_profile_options, profile.stacks,
		     parsing_unwind,
		     "auto: by unwind tables; dwarf: the same; fp: by frame pointers (auto)"),
	TEXT_OPTION("target", 0, "FILE", struct command_profile_options, profile.stacks.symbols,
		    "the program with its symbols, if it runs stripped"),
	WATCH_OPTIONS(struct command_profile_options, watch, "1s"),
	END_OF_OPTIONS,
};

static uint32_t wire_states(uint32_t states)
{
	uint32_t wire = 0;

	for (int state = 0; state < STATES; state++)
		if (states & 1U << state)
			wire |= 1U << wire_of_state((enum state)state);
	return wire;
}

void profile_options_usual(struct profile_options *options)
{
	*options = (struct profile_options){.frequency = DEFAULT_FREQUENCY,
					    .rate = DEFAULT_RATE,
					    .states = wire_states(USUAL_STATES),
					    .stacks.packages = runtime_packages};
}

void profile_options_init(struct command_profile_options *options)
{
	*options = (struct command_profile_options){.output = {.page_keeps = PAGE_CUTS}};
	profile_options_usual(&options->profile);
	watch_options_init(&options->watch);
	options->watch.targets.forked_are_one = true;
	options->watch.source = SOURCE_BPF;
}

/* What is asked for of a profile that is taken now. */
static bool asks_of_taking(const struct command_profile_options *options)
{
	const struct watch_options *watch = &options->watch;

	return watch->interval_given || watch->count || watch->duration_ns ||
	       options->profile.frequency != DEFAULT_FREQUENCY ||
	       options->profile.rate != DEFAULT_RATE || options->profile.stacks.symbols;
}

/* Options that others need, or exclude. */
static int check_together(const struct command_profile_options *options, struct error *error)
{
	const char *symbols = options->profile.stacks.symbols;

	if (options->from && (options->watch.targets.count || options->watch.targets.cgroup_id ||
			      options->watch.command))
		return error_set(error, EINVAL, "give a target, a command or --from");
	if (options->from && asks_of_taking(options))
		return error_set(error, EINVAL,
				 "--from: stacks have been taken; -i, -c, -d, --freq, --rate and "
				 "--target are for taking them");
	if (options->force && !options->path)
		return error_set(error, EINVAL, "--force needs -o");
	if (options->root != PROFILE_ROOT_STATE && !options->export && !options->output.screen)
		return error_set(error, EINVAL, "--root is for --format folded and chrome");
	if (symbols && access(symbols, R_OK) < 0)
		return error_set(error, errno, "cannot read %s: %s", symbols, strerror(errno));
	return 0;
}

static int end(void *data, struct error *error)
{
	struct command_profile_options *options = data;
	int result = watch_options_end(&options->watch, error);

	if (result >= 0)
		result = result_options_end(&options->output, &profile_schema, ~0U, error);
	if (result < 0)
		return result;
	if (options->watch.source != SOURCE_BPF && options->watch.source != SOURCE_AUTO)
		return error_set(error, EINVAL, "stacks need --source bpf");
	options->watch.source = SOURCE_BPF;
	if (options->export && options->export->is_binary && !options->path &&
	    isatty(STDOUT_FILENO))
		return error_set(error, EINVAL,
				 "--format %s is nothing for a terminal: add -o FILE",
				 options->export->name);
	if (options->output.screen && options->output.order.top)
		return error_set(error, EINVAL, "--top is for rows: use it with --format table");
	if (options->output.screen && (options->watch.command || options->path))
		return error_set(
			error, EINVAL,
			options->path ? "the screen is not written to a file: --format html is"
				      : "the command would share the screen: use --format table, "
					"or dwell record --stacks");
	if (options->export && !strcmp(options->export->name, "html") &&
	    !build_option_enabled(BUILD_PAGE))
		return build_option_missing(BUILD_PAGE, error);
	if (options->before && (!options->export || strcmp(options->export->name, "html") != 0))
		return error_set(error, EINVAL,
				 "--before is for --format html; dwell compare is for the rest");
	result = check_together(options, error);
	if (result < 0)
		return result;
	if (!options->states)
		options->states = USUAL_STATES;
	options->profile.states = wire_states(options->states);
	return 0;
}

const struct command_line profile_line = {
	.options = profile_option_table,
	.arguments = "[NAME | -- COMMAND [ARG...]]",
	.text = text,
	.argument_member = offsetof(struct command_profile_options, watch),
	.take_argument = watch_take_argument,
	.end = end,
};
