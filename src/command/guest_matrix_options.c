// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sched_getaffinity */
#include "command/guest_matrix_options.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "command/guest_matrix.h"
#include "matrix/fields.h"
#include "matrix/runner.h"
#include "matrix/scorecard.h"

#define JOBS_MAX 1024

static int take_max_cpus(void *data, const char *value, struct error *error)
{
	struct guest_matrix_options *options = data;

	return parsing_count(value, "--max-cpus", &options->max_cpus, error);
}

static int take_jobs(void *data, const char *value, struct error *error)
{
	struct guest_matrix_options *options = data;

	if (parsing_count(value, "--jobs", &options->jobs, error) < 0)
		return -EINVAL;
	return options->jobs <= JOBS_MAX ? 0
					 : error_set(error, EINVAL, "--jobs: %d at most", JOBS_MAX);
}

static int take_shard(void *data, const char *value, struct error *error)
{
	struct guest_matrix_options *options = data;
	unsigned long number, of;
	char end;

	if (sscanf(value, "%lu/%lu%c", &number, &of, &end) != 2 || !number || number > of ||
	    of > MATRIX_CELLS_MAX || *value < '0' || *value > '9')
		return error_set(error, EINVAL,
				 "--shard needs K/N, part K of N, from 1 to N, not '%s'", value);
	options->shard = number - 1;
	options->shards = of;
	return 0;
}

static int take_merge(void *data, const char *value, struct error *error)
{
	struct guest_matrix_options *options = data;

	if (options->merged_count == GUEST_MATRIX_MERGED_MAX)
		return error_set(error, EINVAL, "--merge: %d files at most",
				 GUEST_MATRIX_MERGED_MAX);
	options->merged[options->merged_count++] = value;
	return 0;
}

const struct command_option guest_matrix_option_table[] = {
	OPTION_GROUP(5, "Many guests:"),
	TEXT_OPTION("matrix", 0, "FILE", struct guest_matrix_options, file,
		    "one command in guests of all kernels, topologies and schedulers of a file"),
	TAKEN_OPTION("max-cpus", 0, "N", take_max_cpus,
		     "skip topologies with more CPUs (four times those of this host)"),
	TAKEN_OPTION("jobs", 0, "N", take_jobs,
		     "guests in parallel (as many as CPUs and memory allow)"),
	TEXT_OPTION("out", 0, "FILE", struct guest_matrix_options, out,
		    "JSON, rewritten after each guest"),
	FLAG_OPTION("no-rerun", 0, struct guest_matrix_options, no_rerun,
		    "with --out: do not run once more, with a recording, what has failed"),
	FLAG_OPTION("resume", 0, struct guest_matrix_options, resume,
		    "skip cells that --out already has a verdict for"),
	TAKEN_OPTION("shard", 0, "K/N", take_shard,
		     "run part K of N only, as one of N jobs; --merge puts them together"),
	TAKEN_OPTION("merge", 0, "FILE", take_merge,
		     "run nothing: what the --out files of all parts have, together"),
	TEXT_OPTION("scorecard", 0, "FILE", struct guest_matrix_options, scorecard,
		    "how the schedulers compare, with confidence: .md or .html"),
	RESULT_OPTIONS(struct guest_matrix_options, " (table)", ""),
	FLAG_OPTION("list", 0, struct guest_matrix_options, list,
		    "list the topologies that have a name"),
	END_OF_OPTIONS,
};

void guest_matrix_options_init(struct guest_matrix_options *options)
{
	/* emulated, 4 CPUs on one of the host's still boot within a few times the time of one */
	*options = (struct guest_matrix_options){.max_cpus = 4ULL * matrix_host_cpus()};
}

/* What the file says of each guest, and what would be one file for all of them. */
static bool is_of_one_guest(const char *name)
{
	static const char *const names[] = {"kernel",	 "topology",  "memory",
					    "scheduler", "keep-dump", "keep-trace",
					    "record",	 "result",    "keep-log"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool is_of_matrix(const struct command_option *option)
{
	return option >= guest_matrix_option_table &&
	       option < guest_matrix_option_table + ARRAY_SIZE(guest_matrix_option_table);
}

int guest_matrix_note(struct guest_matrix_options *options, const struct command_option *option,
		      const char *value, struct error *error)
{
	if (is_of_matrix(option)) {
		options->alone = option->name;
		return 0;
	}
	if (is_of_one_guest(option->name)) {
		options->refused = options->refused ? options->refused : option->name;
		return 0;
	}
	if (options->handed_count == GUEST_MATRIX_HANDED_MAX)
		return error_set(error, EINVAL, "too many options");
	options->handed[options->handed_count++] =
		(struct guest_matrix_handed){option->name, option->argument ? value : NULL};
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
	if (options->list && (has_command || options->output.given))
		return error_set(error, EINVAL, "--list prints text: it takes no %s",
				 has_command ? "command" : "--format");
	if (options->list)
		return 0;
	if (!options->file)
		return error_set(error, EINVAL, "--%s is for many guests: --matrix FILE",
				 options->alone);
	if (has_command)
		return error_set(error, EINVAL,
				 "the matrix says which command is run: `command` in %s",
				 options->file);
	if (options->refused)
		return error_set(error, EINVAL, "--%s is for one guest, not for a matrix of them",
				 options->refused);
	if (options->scorecard && scorecard_check(options->scorecard, error) < 0)
		return -EINVAL;
	if (options->merged_count && (options->shards || options->resume))
		return error_set(error, EINVAL,
				 "--merge runs nothing: it takes neither --shard nor --resume");
	if (options->resume && !options->out)
		return error_set(error, EINVAL, "--resume of what? --out FILE");
	return 0;
}
