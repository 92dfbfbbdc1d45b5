// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sched_getaffinity */
#include "command/guest_matrix_options.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "command/guest_matrix.h"
#include "matrix/fields.h"
#include "matrix/runner.h"

#define JOBS_MAX 1024

enum {
	OPTION_MATRIX = 1024,
	OPTION_MAX_CPUS,
	OPTION_JOBS,
	OPTION_OUT,
	OPTION_RESUME,
	OPTION_LIST,
};

static const struct argp_option argp_options[] = {
	{0, 0, 0, 0, "Many guests:", 5},
	{"matrix", OPTION_MATRIX, "FILE", 0,
	 "one command in guests of all kernels, topologies and schedulers of a file", 5},
	{"max-cpus", OPTION_MAX_CPUS, "N", 0,
	 "skip topologies with more CPUs (four times those of this host)", 5},
	{"jobs", OPTION_JOBS, "N", 0, "guests in parallel (as many as CPUs and memory allow)", 5},
	{"out", OPTION_OUT, "FILE", 0, "JSON, rewritten after each guest", 5},
	{"resume", OPTION_RESUME, 0, 0, "skip cells that --out already has a verdict for", 5},
	RESULT_OPTIONS(RESULT_FORMATS " (table)", "", 5),
	{"list", OPTION_LIST, 0, 0, "list the topologies that have a name", 5},
	{0},
};

void guest_matrix_options_init(struct guest_matrix_options *options, struct parsing *parsing)
{
	/* emulated, 4 CPUs on one of the host's still boot within a few times the time of one */
	*options = (struct guest_matrix_options){.parsing = parsing,
						 .max_cpus = 4ULL * matrix_host_cpus()};
}

static int take_option(struct guest_matrix_options *options, int key, const char *value,
		       struct error *error)
{
	switch (key) {
	case OPTION_MATRIX:
		options->file = value;
		return 0;
	case OPTION_MAX_CPUS:
		options->alone = "--max-cpus";
		return parsing_count(value, "--max-cpus", &options->max_cpus, error);
	case OPTION_JOBS:
		options->alone = "--jobs";
		if (parsing_count(value, "--jobs", &options->jobs, error) < 0)
			return -EINVAL;
		return options->jobs <= JOBS_MAX
			       ? 0
			       : error_set(error, EINVAL, "--jobs: %d at most", JOBS_MAX);
	case OPTION_OUT:
		options->alone = "--out";
		options->out = value;
		return 0;
	case OPTION_RESUME:
		options->alone = "--resume";
		options->resume = true;
		return 0;
	case OPTION_FORMAT:
	case OPTION_JSON:
		options->alone = "--format";
		break;
	case OPTION_FIELDS:
		options->alone = "--fields";
		break;
	case OPTION_SORT:
		options->alone = "--sort";
		break;
	case OPTION_TOP:
		options->alone = "--top";
		break;
	case OPTION_LIST:
		options->list = true;
		return 0;
	}
	return result_option(&options->output, key, value, false, error);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct guest_matrix_options *options = state->input;
	int result;

	if (!options) /* for the lists of options only */
		return ARGP_ERR_UNKNOWN;
	result = take_option(options, key, value, &options->parsing->error);
	return parsing_result(options->parsing, result);
}

const struct argp guest_matrix_argp = {.options = argp_options, .parser = parse_option};

/* What the file says of each guest, and what would be one file for all of them. */
static bool is_of_one_guest(const char *name)
{
	static const char *const names[] = {"kernel",	 "topology", "memory",	"scheduler",
					    "keep-dump", "result",   "keep-log"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

int guest_matrix_hand_on(struct guest_matrix_options *options, const struct argp_option *table,
			 int key, const char *value, struct error *error)
{
	/* what comes before any option, arguments and the end have no name */
	while ((table->name || table->key || table->doc) && (!table->name || table->key != key))
		table++;
	if (!table->name)
		return 0;
	if (is_of_one_guest(table->name)) {
		options->refused = options->refused ? options->refused : table->name;
		return 0;
	}
	if (options->handed_count == GUEST_MATRIX_HANDED_MAX)
		return error_set(error, EINVAL, "too many options");
	options->handed[options->handed_count++] =
		(struct guest_matrix_handed){table->name, table->arg ? value : NULL};
	return 0;
}

bool guest_matrix_asked(const struct guest_matrix_options *options)
{
	return options->file || options->list || options->alone;
}

int guest_matrix_check(struct guest_matrix_options *options, bool has_command, struct error *error)
{
	if (result_options_end(&options->output, &matrix_schema, ~0U, error) < 0)
		return -EINVAL;
	if (options->list)
		return 0;
	if (!options->file)
		return error_set(error, EINVAL, "%s is for many guests: --matrix FILE",
				 options->alone);
	if (has_command)
		return error_set(error, EINVAL,
				 "the matrix says which command is run: `command` in %s",
				 options->file);
	if (options->refused)
		return error_set(error, EINVAL, "--%s is for one guest, not for a matrix of them",
				 options->refused);
	if (options->resume && !options->out)
		return error_set(error, EINVAL, "--resume of what? --out FILE");
	return 0;
}
