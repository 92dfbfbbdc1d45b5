// SPDX-License-Identifier: GPL-2.0-or-later
/* What the options of `dwell profile` are without a command line, and together. */
#include "command/profile_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/build_options.h"
#include "command/window_options.h"
#include "runtime/runtime.h"

#define DEFAULT_FREQUENCY 99
#define DEFAULT_RATE	  150

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
					    .states = wire_states(PROFILE_STATES_USUAL),
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
	if (!options->from && window_is_part(&options->window))
		return error_set(error, EINVAL, "--since and --until are for --from");
	if (options->force && !options->path)
		return error_set(error, EINVAL, "--force needs -o");
	if (options->root != PROFILE_ROOT_STATE && !options->export && !options->output.screen)
		return error_set(error, EINVAL, "--root is for --format folded and chrome");
	if (symbols && access(symbols, R_OK) < 0)
		return error_set(error, errno, "cannot read %s: %s", symbols, strerror(errno));
	return 0;
}

int profile_options_end(void *data, struct error *error)
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
		options->states = PROFILE_STATES_USUAL;
	options->profile.states = wire_states(options->states);
	options->watch.command_to_stderr =
		!options->path && (options->export || result_is_for_programs(&options->output));
	return 0;
}
