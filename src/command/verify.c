// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell verify`: how exact dwell's own figures are on this machine. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/print.h"
#include "capture/verified.h"
#include "command/command.h"
#include "command/result_options.h"
#include "command/watch_options.h"
#include "view/verify.h"

enum {
	OPTION_QUICK = 512,
	OPTION_PATTERNS,
	OPTION_ROUNDS,
	OPTION_LIMIT,
	OPTION_DIRECTORY,
	OPTION_ALL,
	OPTION_LIST,
	OPTION_PEERS,
};

#define ROUNDS	      "3"
#define LIMIT_PERCENT 1

struct verify {
	struct parsing parsing;
	struct result_options output;
	struct verify_options options;
	bool all, list;
};

static const char doc[] =
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

static const struct argp_option argp_options[] = {
	{0, 0, 0, 0, "What to run:", 1},
	{"quick", OPTION_QUICK, 0, 0, "one round, of a second for each pattern", 1},
	{"patterns", OPTION_PATTERNS, "NAME[,NAME]", 0, "only these; * and ? as in file names", 1},
	{"list", OPTION_LIST, 0, 0, "list them, and run nothing", 1},
	{"rounds", OPTION_ROUNDS, "COUNT", 0, "how often each one runs (" ROUNDS ")", 1},
	{"duration", 'd', "TIME", 0, "of each pattern (2s)", 1},
	{"directory", OPTION_DIRECTORY, "DIRECTORY", 0,
	 "where patterns about disks have their file, of 64 MiB (/var/tmp)", 1},
	{"peers", OPTION_PEERS, 0, 0,
	 "also measure with perf sched, runqlat, offcputime, schedstat and taskstats", 1},
	{0, 0, 0, 0, "What to judge:", 2},
	{"limit", OPTION_LIMIT, "PERCENT", 0,
	 "the largest error that passes, in percent of a thread's time (1)", 2},
	{0, 0, 0, 0, "How to show it:", 3},
	{"all", OPTION_ALL, 0, 0, "also the patterns that passed", 3},
	RESULT_OPTIONS(RESULT_FORMATS " (a page of text)", "", 3),
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static int take_limit(struct verify_options *options, const char *value, struct error *error)
{
	char *end;

	options->limit_percent = strtod(value, &end);
	if (end != value && !*end && options->limit_percent > 0 && options->limit_percent <= 100)
		return 0;
	return error_set(error, EINVAL, "--limit %s: a number of percent, above 0", value);
}

static int take_rounds(struct verify_options *options, const char *value, struct error *error)
{
	uint64_t rounds = 0;
	int result = parsing_count(value, "--rounds", &rounds, error);

	if (result >= 0 && rounds > 1000)
		return error_set(error, EINVAL, "--rounds %s: at most 1000", value);
	options->rounds = (unsigned int)rounds;
	return result;
}

static int take_duration(struct verify_options *options, const char *value, struct error *error)
{
	int result = duration_parse(value, &options->run_ns, error);

	if (result >= 0 && (options->run_ns < 200 * NS_PER_MS || options->run_ns > 60 * NS_PER_S))
		return error_set(error, EINVAL, "--duration %s: from 200ms to 60s", value);
	return result;
}

static int take_option(struct verify *verify, int key, const char *value)
{
	struct verify_options *options = &verify->options;
	struct error *error = &verify->parsing.error;

	switch (key) {
	case OPTION_QUICK:
		options->rounds = 1;
		options->run_ns = NS_PER_S;
		return 0;
	case OPTION_PATTERNS:
		options->patterns = value;
		return 0;
	case OPTION_ROUNDS:
		return take_rounds(options, value, error);
	case 'd':
		return take_duration(options, value, error);
	case OPTION_LIMIT:
		return take_limit(options, value, error);
	case OPTION_PEERS:
		options->peers = true;
		return 0;
	case OPTION_DIRECTORY:
		options->directory = value;
		return 0;
	case OPTION_ALL:
		verify->all = true;
		return 0;
	case OPTION_LIST:
		verify->list = true;
		return 0;
	case ARGP_KEY_END:
		return result_options_end(&verify->output, &verify_schema, ~0U, error);
	}
	return result_option(&verify->output, key, value, false, error);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct verify *verify = state->input;

	if (!verify)
		return ARGP_ERR_UNKNOWN;
	if (parsing_helps(key, state))
		return 0;
	return parsing_result(&verify->parsing, take_option(verify, key, value));
}

static const struct argp verify_argp = {
	.options = argp_options, .parser = parse_option, .doc = doc};

static void list_one(void *data, const char *name, const char *help, enum state state)
{
	(void)data;
	if (help)
		print_text(stdout, "%-16s %s\n", name, help);
	else
		print_text(stdout, "%-16s a call that waits: %s\n", name, state_info[state].key);
}

static void show_progress(void *data, unsigned int round, const char *what)
{
	const struct verify *verify = data;

	print_text(stderr, "\rround %u of %u: %s\033[K", round + 1, verify->options.rounds, what);
}

static int write_page(struct output *out, const void *result)
{
	const struct verification *verification = result;
	const struct verify *verify = verification->options->data;

	verify_table(out, verification, verify->all || verify->options.patterns);
	return 0;
}

static const struct result_kind kind = {.schema = &verify_schema, .page = write_page};

/* For `dwell doctor`, of a machine without other tools, by the limit that it knows; users without
 * the rights keep nothing. */
static void store(const struct verification *result)
{
	struct item item = {result, NULL};
	struct output line;
	int code;

	if (result->options->patterns || result->options->peers ||
	    result->options->limit_percent > LIMIT_PERCENT || result->interrupted ||
	    output_init(&line, -1) < 0)
		return;
	emit_json_line(&line, &verify_schema, &item);
	code = line.error ? -line.error : verified_write(VERIFIED_PATH, line.buffer, line.used);
	output_release(&line);
	if (code < 0 && code != -EACCES)
		print_text(stderr, "dwell verify: " VERIFIED_PATH " is not written: %s\n",
			   strerror(-code));
}

static int verify_run_command(int argc, char **argv)
{
	struct verify verify = {
		.options = {.limit_percent = LIMIT_PERCENT,
			    .rounds = 3,
			    .run_ns = 2 * NS_PER_S,
			    .directory = "/var/tmp",
			    .data = &verify},
	};
	struct verification result;
	struct error error = {""};
	int code = parsing_run(&verify_argp, "dwell verify", argc, argv, &verify, &verify.parsing);

	if (code != EXIT_DONE)
		return code;
	if (verify.list && verify.output.given) {
		(void)error_set(
			&error, EINVAL,
			"--list prints text: it takes no --format, --fields, --sort or --top");
		return command_fail("verify", EXIT_USAGE, &error);
	}
	if (verify.list) {
		verify_each(list_one, NULL);
		return EXIT_DONE;
	}
	if (isatty(STDERR_FILENO))
		verify.options.progress = show_progress;
	code = verify_run(&result, &verify.options, &error);
	if (verify.options.progress)
		fputs("\r\033[K", stderr);
	if (code >= 0) {
		store(&result);
		code = result_print(&verify.output, &kind, &result, &error);
	}
	if (code >= 0)
		code = (int)verdict_exit_code(result.verdict);
	else
		code = command_fail("verify", code == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN, &error);
	verify_release(&result);
	return code;
}

const struct command command_verify = {
	.name = "verify",
	.summary = "how exact dwell's figures are on this machine",
	.argp = &verify_argp,
	.run = verify_run_command,
};
