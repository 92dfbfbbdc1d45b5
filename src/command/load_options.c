// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* asprintf */
#include "command/load_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "command/command.h"
#include "command/watch_options.h"
#include "load/scenarios.h"
#include "load/spec_yaml.h"
#include "view/load.h"

enum {
	OPTION_WORK = 512,
	OPTION_CPUS,
	OPTION_AFFINITY,
	OPTION_POLICY,
	OPTION_NICE,
	OPTION_MODE,
	OPTION_SEED,
	OPTION_CHECK,
	OPTION_SAMPLES,
	OPTION_EACH,
	OPTION_SAVE,
	OPTION_LIST,
	OPTION_PRINT,
	OPTION_DRY_RUN,
	OPTION_OBSERVE,
	OPTION_SCHEDULER_PID,
	OPTION_REPRO,
	OPTION_CGROUP_ROOT,
	OPTION_SCRATCH,
	OPTION_QUIET,
};

static const char doc[] =
	"Makes scheduler load of a known shape by workers, each a process, measures what happens "
	"to "
	"them, and judges it."
	"\v"
	"SPEC is a file, or a built-in scenario. Without one, --work "
	"says "
	"what to run; options of a group follow its --work.\n\n"
	"Examples:\n"
	"  dwell load steady                               a scenario\n"
	"  dwell load --work futex-ping-pong --workers 4 --duration 5s\n"
	"  dwell load --work pipe-io:burst_iters=0 --cpus 0 --check wake-p99=50us\n"
	"  dwell load --observe oversubscribed             and every worker's states\n"
	"  dwell load --print mixed-workloads > mine.yaml  a spec to start from\n"
	"  dwell load mine.yaml --save runs                keeps the report\n"
	"  dwell compare runs/A runs/B                     what two of them differ in\n"
	"  dwell load --list                               types, scenarios, checks\n\n"
	"Exit status: 0 the verdict is pass, 1 it could not run, 2 a mistake in the spec or the "
	"command line, 3 fail, 4 inconclusive.\n";

static const struct argp_option argp_options[] = {
	{0, 0, 0, 0, "What to run:", 1},
	{"work", OPTION_WORK, "TYPE[:NAME=VALUE,...]", 0, "a group of workers of that type", 1},
	{"workers", 'w', "N", 0, "how many (one team of the type)", 1},
	{"cpus", OPTION_CPUS, "CPUS", 0,
	 "where: 0-3, llc:0, numa:0, disjoint:0/2, overlap:0/2:0.5, 0.0-0.5", 1},
	{"affinity", OPTION_AFFINITY, "HOW", 0,
	 "inherit, single, spread, random:N, llc, smt-pair, cross-cgroup, or CPUS", 1},
	{"policy", OPTION_POLICY, "POLICY", 0,
	 "normal, batch, idle, fifo:PRIORITY, rr:PRIORITY, deadline:RUNTIME/DEADLINE/PERIOD or ext",
	 1},
	{"nice", OPTION_NICE, "N", 0, "-20 to 19", 1},
	{"mode", OPTION_MODE, "MODE", 0, "fork, or thread: one process, for comparison (fork)", 1},
	{"duration", 'd', "TIME", 0, "how long (5s)", 1},
	{"seed", OPTION_SEED, "N", 0, "repeats random choices", 1},
	{"check", OPTION_CHECK, "NAME[=LIMIT]", 0, "a check that decides the verdict", 1},
	{0, 0, 0, 0, "What to print:", 2},
	RESULT_OPTIONS(RESULT_FORMATS " (table)", "", 2),
	{"samples", OPTION_SAMPLES, 0, 0, "in JSON: all samples, not only percentiles", 2},
	{"each", OPTION_EACH, 0, 0, "in the table: a row for each worker", 2},
	{"observe", OPTION_OBSERVE, 0, 0,
	 "also account for the workers' states from outside, as dwell top does", 2},
	{"quiet", 'q', 0, 0, "no display of the progress", 2},
	{"save", OPTION_SAVE, "DIRECTORY", 0, "keep report and spec in a new directory below it",
	 2},
	{0, 0, 0, 0, "Instead of running:", 3},
	{"list", OPTION_LIST, "WHAT", OPTION_ARG_OPTIONAL,
	 "types, scenarios and checks; with WHAT all about one of them", 3},
	{"print", OPTION_PRINT, "SCENARIO", 0, "its spec", 3},
	{"dry-run", OPTION_DRY_RUN, 0, 0, "print the plan: which workers, where", 3},
	{0, 0, 0, 0, "Surroundings:", 4},
	{"scheduler-pid", OPTION_SCHEDULER_PID, "PID", 0,
	 "the scheduler under test: gets SIGUSR2 when a worker is stuck for 2 s; its death fails "
	 "the run",
	 4},
	{"repro", OPTION_REPRO, 0, 0,
	 "do not send SIGUSR2, so that a stuck scheduler stays up for debugging", 4},
	{"cgroup-root", OPTION_CGROUP_ROOT, "DIRECTORY", 0, "make the cgroups below this one", 4},
	{"scratch", OPTION_SCRATCH, "DIRECTORY", 0, "for the workers' files (TMPDIR or /var/tmp)",
	 4},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

struct load_parsing {
	struct load_options *options;
	struct parsing parsing;
	const char *path;	/* of the spec */
	uint64_t duration_ns;	/* 0: as the spec says */
	const char *checks[64]; /* after the spec, which they add to */
	unsigned int check_count;
	const char *seed;
};

static struct spec_work *last_work(struct load_options *options)
{
	struct spec_cgroups *cgroups = &options->spec.cgroups;
	struct spec_works *works =
		cgroups->count ? &cgroups->items[cgroups->count - 1].works : NULL;

	return works && works->count ? &works->items[works->count - 1] : NULL;
}

static int take_work(struct load_options *options, const char *value, struct error *error)
{
	struct spec_cgroups *cgroups = &options->spec.cgroups;
	struct spec_work *work;

	if (!cgroups->count && !spec_add_cgroup(cgroups))
		return error_set(error, ENOMEM, "out of memory");
	work = spec_add_work(&cgroups->items[0].works);
	return work ? spec_parse_work(work, value, error)
		    : error_set(error, ENOMEM, "out of memory");
}

static int take_workers(struct spec_work *work, const char *value, struct error *error)
{
	char *end;
	unsigned long workers = strtoul(value, &end, 10);

	if (*value < '0' || *value > '9' || *end || !workers || workers > SPEC_MAX_WORKERS)
		return error_set(error, EINVAL, "--workers needs a number from 1 to %u, not '%s'",
				 SPEC_MAX_WORKERS, value);
	work->workers = (unsigned int)workers;
	return 0;
}

static int take_nice(struct spec_work *work, const char *value, struct error *error)
{
	char *end;
	long nice = strtol(value, &end, 10);

	if (end == value || *end || nice < -20 || nice > 19)
		return error_set(error, EINVAL, "--nice needs a number from -20 to 19, not '%s'",
				 value);
	work->nice_given = true;
	work->nice = (int)nice;
	return 0;
}

static int take_mode(struct spec_work *work, const char *value, struct error *error)
{
	work->threads = !strcmp(value, "thread");
	return work->threads || !strcmp(value, "fork")
		       ? 0
		       : parsing_unknown(error, "mode", value, "fork or thread");
}

/* 1: not an option of a group. */
static int take_group_option(struct load_options *options, int key, const char *value,
			     struct error *error)
{
	struct spec_work *work = last_work(options);

	if (key != 'w' && key != OPTION_CPUS && key != OPTION_AFFINITY && key != OPTION_POLICY &&
	    key != OPTION_NICE && key != OPTION_MODE)
		return 1;
	if (!work)
		return error_set(error, EINVAL,
				 "options of a group (--workers, --cpus, --affinity, --policy, "
				 "--nice, --mode) follow its --work; a spec says them itself");
	switch (key) {
	case 'w':
		return take_workers(work, value, error);
	case OPTION_CPUS:
	case OPTION_AFFINITY:
		return spec_parse_affinity(&work->affinity, value, error);
	case OPTION_POLICY:
		return spec_parse_policy(&work->policy, value, error);
	case OPTION_NICE:
		return take_nice(work, value, error);
	default:
		return take_mode(work, value, error);
	}
}

static int take_pid(pid_t *pid, const char *value, struct error *error)
{
	uint64_t number;
	int result = parsing_count(value, "--scheduler-pid", &number, error);

	if (result >= 0 && number > 4194304)
		return error_set(error, EINVAL, "--scheduler-pid: %s is not a process", value);
	if (result >= 0)
		*pid = (pid_t)number;
	return result;
}

static const struct plain_option plain[] = {
	FLAG_OPTION(OPTION_REPRO, struct load_options, repro),
	TEXT_OPTION(OPTION_CGROUP_ROOT, struct load_options, cgroup_root),
	TEXT_OPTION(OPTION_SCRATCH, struct load_options, scratch),
	FLAG_OPTION(OPTION_SAMPLES, struct load_options, samples),
	FLAG_OPTION(OPTION_EACH, struct load_options, workers),
	FLAG_OPTION(OPTION_OBSERVE, struct load_options, observe),
	FLAG_OPTION('q', struct load_options, quiet),
	TEXT_OPTION(OPTION_SAVE, struct load_options, save),
};

static int take_run_option(struct load_parsing *parsing, int key, char *value, struct error *error)
{
	struct load_options *options = parsing->options;

	switch (key) {
	case 'd':
		return duration_parse(value, &parsing->duration_ns, error);
	case OPTION_SEED:
		parsing->seed = value;
		return 0;
	case OPTION_CHECK:
		if (parsing->check_count == ARRAY_SIZE(parsing->checks))
			return error_set(error, EINVAL, "too many checks");
		parsing->checks[parsing->check_count++] = value;
		return 0;
	case OPTION_SCHEDULER_PID:
		return take_pid(&options->scheduler_pid, value, error);
	}
	return 1;
}

static int take_output_option(struct load_options *options, int key, const char *value,
			      struct error *error)
{
	switch (key) {
	case OPTION_LIST:
		options->action = LOAD_LIST;
		options->subject = value;
		return 0;
	case OPTION_PRINT:
		options->action = LOAD_PRINT;
		options->subject = value;
		return 0;
	case OPTION_DRY_RUN:
		options->action = LOAD_DRY_RUN;
		return 0;
	}
	return result_option(&options->output, key, value, false, error);
}

static int parse_seed(struct spec *spec, const char *value, struct error *error)
{
	char *end;

	errno = 0;
	spec->seed = strtoull(value, &end, 0);
	if (*value < '0' || *value > '9' || *end || errno)
		return error_set(error, EINVAL, "--seed needs a whole number, not '%s'", value);
	spec->seed_given = true;
	return 0;
}

static int read_spec(struct load_parsing *parsing, struct error *error)
{
	const char *path = parsing->path;
	const struct scenario *scenario = scenario_find(path);

	if (parsing->options->spec.cgroups.count)
		return error_set(error, EINVAL,
				 "a spec (%s) and --work cannot be combined: write the group into "
				 "the spec",
				 path);
	/* a file wins: its name may well be that of a scenario */
	if (scenario && access(path, F_OK) < 0)
		return spec_read_text(&parsing->options->spec, scenario->text, scenario->name,
				      error);
	if (!scenario && strcmp(path, "-") != 0 && access(path, F_OK) < 0)
		return scenario_unknown(path, error);
	return spec_read_file(&parsing->options->spec, path, error);
}

/* After all options: what the command line adds to the spec. */
static int complete(struct load_parsing *parsing, struct error *error)
{
	struct load_options *options = parsing->options;
	struct spec *spec = &options->spec;
	int result = result_options_end(&options->output, &load_schema, ~0U, error);

	if (result < 0)
		return result;
	if (options->output.given &&
	    (options->action == LOAD_LIST || options->action == LOAD_PRINT))
		return error_set(error, EINVAL,
				 "--list and --print print text: they take no --format, --fields, "
				 "--sort or --top");
	if (options->action == LOAD_LIST || options->action == LOAD_PRINT) {
		if (parsing->path && !options->subject)
			options->subject = parsing->path;
		return 0;
	}
	if (parsing->path)
		result = read_spec(parsing, error);
	else if (!spec->cgroups.count)
		return error_set(
			error, EINVAL,
			"nothing to run: give a spec, a scenario, or --work TYPE; --list shows "
			"them all");
	if (result >= 0 && parsing->duration_ns)
		spec->duration_ns = parsing->duration_ns;
	if (result >= 0 && parsing->seed)
		result = parse_seed(spec, parsing->seed, error);
	for (unsigned int i = 0; result >= 0 && i < parsing->check_count; i++) {
		char *name = strdup(parsing->checks[i]);
		char *value = name ? strchr(name, '=') : NULL;

		if (value)
			*value++ = '\0';
		result = name ? spec_parse_check(&spec->checks, name, value ? value : "true", error)
			      : -ENOMEM;
		free(name);
	}
	if (result >= 0 && !*spec->name)
		snprintf(spec->name, sizeof(spec->name), "%s",
			 spec->cgroups.items[0].works.items[0].type->name);
	return result;
}

static int take_option(struct load_parsing *parsing, int key, char *value, struct error *error)
{
	int result;

	if (key == OPTION_WORK)
		return take_work(parsing->options, value, error);
	if (key == ARGP_KEY_ARG) {
		if (parsing->path)
			return error_set(error, EINVAL, "one spec at a time: %s or %s",
					 parsing->path, value);
		parsing->path = value;
		return 0;
	}
	if (key == ARGP_KEY_END)
		return complete(parsing, error);
	result = take_group_option(parsing->options, key, value, error);
	if (result > 0)
		result =
			plain_option(plain, ARRAY_SIZE(plain), parsing->options, key, value, error);
	if (result > 0)
		result = take_run_option(parsing, key, value, error);
	return result > 0 ? take_output_option(parsing->options, key, value, error) : result;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct load_parsing *parsing = state->input;
	int result;

	if (!parsing)
		return ARGP_ERR_UNKNOWN;
	if (parsing_helps(key, state))
		return 0;
	result = take_option(parsing, key, value, &parsing->parsing.error);
	return parsing_result(&parsing->parsing, result);
}

const struct argp load_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "[SPEC]",
	.doc = doc,
};

int load_options_parse(struct load_options *options, int argc, char **argv)
{
	struct load_parsing parsing = {.options = options};

	*options = (struct load_options){.action = LOAD_RUN};
	spec_init(&options->spec);
	return parsing_run(&load_argp, "dwell load", argc, argv, &parsing, &parsing.parsing);
}
