// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/verify_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/duration.h"
#include "command/parsing.h"

#define ROUNDS "3"

static const char text[] =
	"Runs threads that measure themselves, in every way of waiting that dwell knows, and "
	"reports how far dwell's figures are from theirs on this machine."
	"\v"
	"Needs root, as exact figures do. About two minutes; the machine may be busy: what it "
	"leaves open is inconclusive. `dwell doctor` shows when it was last run.\n\n"
	"Exit status: 0 all patterns passed, 3 one failed, 4 inconclusive.\n\n"
	"Examples:\n"
	"  dwell verify --quick                   half a minute\n"
	"  dwell verify --patterns 'mutex*,pipe'  some, and what their waits are called\n"
	"  dwell verify --peers                   and how exact other tools are\n"
	"  dwell guest --kernel bzImage -- verify --quick\n";

static int take_limit(void *data, const char *value, struct error *error)
{
	struct verify_options *options = data;
	char *end;

	options->limit_percent = strtod(value, &end);
	if (end != value && !*end && options->limit_percent > 0 && options->limit_percent <= 100)
		return 0;
	return error_set(error, EINVAL, "--limit %s: a number of percent, above 0, at most 100",
			 value);
}

static int take_rounds(void *data, const char *value, struct error *error)
{
	struct verify_options *options = data;
	uint64_t rounds = 0;
	int result = parsing_count(value, "--rounds", &rounds, error);

	if (result >= 0 && rounds > 1000)
		return error_set(error, EINVAL, "--rounds %s: at most 1000", value);
	options->rounds = (unsigned int)rounds;
	return result;
}

static int take_duration(void *data, const char *value, struct error *error)
{
	struct verify_options *options = data;
	int result = duration_parse(value, &options->run_ns, error);

	if (result >= 0 && (options->run_ns < 200 * NS_PER_MS || options->run_ns > 60 * NS_PER_S))
		return error_set(error, EINVAL, "--duration %s: from 200ms to 60s", value);
	return result;
}

static int take_quick(void *data, const char *value, struct error *error)
{
	struct verify_options *options = data;

	(void)value;
	(void)error;
	options->rounds = 1;
	options->run_ns = NS_PER_S;
	return 0;
}

static const struct command_option verify_option_table[] = {
	OPTION_GROUP(1, "What to run:"),
	TAKEN_MEMBER("quick", 0, NULL, struct verify, options, take_quick,
		     "one round, of a second for each pattern"),
	TEXT_OPTION("patterns", 0, "NAME[,NAME]", struct verify, options.patterns,
		    "only these; * and ? as in file names"),
	FLAG_OPTION("list", 0, struct verify, list, "list them, and run nothing"),
	TAKEN_MEMBER("rounds", 0, "COUNT", struct verify, options, take_rounds,
		     "how often each one runs (" ROUNDS ")"),
	TAKEN_MEMBER("duration", 'd', "TIME", struct verify, options, take_duration,
		     "of each pattern (2s)"),
	TEXT_OPTION("directory", 0, "DIRECTORY", struct verify, options.directory,
		    "where patterns about disks have their file, of 64 MiB (/var/tmp)"),
	FLAG_OPTION("peers", 0, struct verify, options.peers,
		    "also measure with perf sched, runqlat, offcputime, schedstat and taskstats"),
	OPTION_GROUP(2, "What to judge:"),
	TAKEN_MEMBER("limit", 0, "PERCENT", struct verify, options, take_limit,
		     "the largest error that passes, in percent of a thread's time (1)"),
	OPTION_GROUP(3, "How to show it:"),
	FLAG_OPTION("all", 0, struct verify, all, "also the patterns that passed"),
	RESULT_OPTIONS(struct verify, " (a page of text)", ""),
	END_OF_OPTIONS,
};

static int end(void *data, struct error *error)
{
	struct verify *verify = data;
	const char *directory = verify->options.directory;
	struct stat found;
	int reason = stat(directory, &found) < 0 ? errno : S_ISDIR(found.st_mode) ? 0 : ENOTDIR;

	/* without the usual one only the patterns that need a file are skipped */
	if (reason && strcmp(directory, VERIFY_DIRECTORY) != 0)
		return error_set(error, reason, "--directory %s: %s", directory, strerror(reason));
	return result_options_end(&verify->output, &verify_schema, ~0U, error);
}

const struct command_line verify_line = {.options = verify_option_table, .text = text, .end = end};
