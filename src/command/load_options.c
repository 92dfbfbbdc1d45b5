// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/load_group_options.h"
#include "command/parsing.h"
#include "load/ab_plan.h"
#include "load/sweep.h"
#include "view/compare.h"
#include "view/load.h"
#include "view/sweep.h"

static const char text[] =
	"Runs a defined scheduler workload, each worker a process, measures how each fared, and "
	"checks the results against limits."
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
	"  dwell load --ab before.yaml after.yaml          which is better, how much\n"
	"  dwell load mine.yaml --sweep load=10..95%       latency under load\n"
	"  dwell compare runs/A runs/B                     what kept runs differ in\n"
	"  dwell load --list                               types, scenarios, checks\n\n"
	"Exit status: 0 the verdict is pass, 1 it could not run, 2 a mistake in the spec or the "
	"command line, 3 fail, 4 inconclusive. Of --ab: 0 no difference beyond the gates, 3 they "
	"differ, 4 undecided. Of --sweep: 0 it is known whether there is a knee, 4 undecided.\n";

static int take_check(void *data, const char *value, struct error *error)
{
	struct load_given *given = data;

	if (given->check_count == ARRAY_SIZE(given->checks))
		return error_set(error, EINVAL, "too many checks");
	given->checks[given->check_count++] = value;
	return 0;
}

static int take_pid(void *pid, const char *value, struct error *error)
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

static int take_list(void *data, const char *value, struct error *error)
{
	struct load_options *options = data;

	options->subject = value;
	return take_action(options, LOAD_LIST, error);
}

static int take_print(void *data, const char *value, struct error *error)
{
	struct load_options *options = data;

	options->subject = value;
	return take_action(options, LOAD_PRINT, error);
}

static int take_ab(void *options, const char *value, struct error *error)
{
	(void)value;
	return take_action(options, LOAD_AB, error);
}

static int take_sweep(void *data, const char *value, struct error *error)
{
	struct load_options *options = data;

	options->sweep.what = value;
	return take_action(options, LOAD_SWEEP, error);
}

static int take_rounds(void *data, const char *value, struct error *error)
{
	struct sweep_options *options = data;
	int result = parsing_count(value, "--rounds", &options->rounds, error);

	if (result >= 0 && (!options->rounds || options->rounds > SWEEP_ROUNDS_MAX))
		return error_set(error, EINVAL, "--rounds %s: 1 to %d", value, SWEEP_ROUNDS_MAX);
	return result;
}

static int take_set(void *data, const char *value, struct error *error)
{
	struct load_given *given = data;

	if (given->set_count == ARRAY_SIZE(given->sets))
		return error_set(error, EINVAL, "too many values");
	given->sets[given->set_count++] = value;
	return 0;
}

static int take_pairs(void *data, const char *value, struct error *error)
{
	struct ab_options *options = data;
	int result = parsing_count(value, "--pairs", &options->pairs, error);

	if (result >= 0 && options->pairs > AB_PAIRS_MAX)
		return error_set(error, EINVAL, "--pairs %s: at most %d", value, AB_PAIRS_MAX);
	return result;
}

static int take_gate(void *data, const char *value, struct error *error)
{
	struct ab_options *options = data;

	options->gate_given = true;
	return load_gate_parse(options->question.gates, value, error);
}

static int take_metrics(void *data, const char *value, struct error *error)
{
	struct ab_options *options = data;

	options->question_given = true;
	return load_question_choose(&options->question, value, error);
}

static const struct command_option load_option_table[] = {
	OPTIONS_OF(load_group_option_table, struct load_options, spec),
	OPTION_GROUP(1, NULL),
	TIME_OPTION("duration", 'd', struct load_options, given.duration_ns, "how long (5s)"),
	TEXT_OPTION("seed", 0, "N", struct load_options, given.seed, "repeats random choices"),
	TAKEN_MEMBER("check", 0, "NAME[=LIMIT]", struct load_options, given, take_check,
		     "a check that decides the verdict"),
	TAKEN_MEMBER("set", 0, "NAME=VALUE", struct load_options, given, take_set,
		     "workers, load or a parameter, of all groups or of GROUP.NAME"),
	OPTION_GROUP(2, "What to print:"),
	RESULT_OPTIONS(struct load_options, " (table)", ""),
	FLAG_OPTION("samples", 0, struct load_options, samples,
		    "in JSON: all samples, not only percentiles"),
	FLAG_OPTION("each", 0, struct load_options, workers, "in the table: a row for each worker"),
	FLAG_OPTION("observe", 0, struct load_options, observe,
		    "also account for the workers' states from outside, as dwell top does"),
	FLAG_OPTION("quiet", 'q', struct load_options, quiet, "no display of the progress"),
	TEXT_OPTION("save", 0, "DIRECTORY", struct load_options, save,
		    "keep report and spec in a new directory below it"),
	TEXT_OPTION("trace", 0, "FILE", struct load_options, trace,
		    "of a run that does not pass: what all threads did around the failure, for "
		    "Perfetto (with --save and a scheduler under test: trace.json)"),
	OPTION_GROUP(5, "Two specs against each other:"),
	TAKEN_OPTION("ab", 0, NULL, take_ab,
		     "run SPEC and OTHER by turns until it is clear whether they differ"),
	TAKEN_MEMBER("pairs", 0, "N", struct load_options, ab, take_pairs,
		     "run each at most N times (20)"),
	TIME_OPTION("budget", 0, struct load_options, ab.budget_ns,
		    "run as many pairs as fit into TIME"),
	TAKEN_MEMBER("metrics", 0, "NAME[,NAME]", struct load_options, ab, take_metrics,
		     METRICS_HELP),
	TAKEN_MEMBER("gate", 0, "METRIC=ABSOLUTE/RELATIVE%", struct load_options, ab, take_gate,
		     GATE_HELP),
	FLAG_OPTION("all", 0, struct load_options, ab.all, "metrics that did not change, too"),
	OPTION_GROUP(6, "One number of it at several values:"),
	TAKEN_OPTION("sweep", 0, "NAME=FROM..TO[:STEPS]", take_sweep,
		     "what changes with it, and where the curve has its knee (10 steps)"),
	TAKEN_MEMBER("rounds", 0, "N", struct load_options, sweep, take_rounds,
		     "run each step N times (3)"),
	OPTION_GROUP(3, "Instead of running:"),
	TAKEN_OPTION("list", 0, "WHAT", take_list,
		     "types, scenarios or checks (all three); or all about one type or scenario",
		     .is_optional = true),
	TAKEN_OPTION("print", 0, "SCENARIO", take_print, "its spec"),
	FLAG_OPTION("dry-run", 0, struct load_options, dry_run,
		    "print the plan: which workers, where"),
	OPTION_GROUP(4, "Surroundings:"),
	TAKEN_MEMBER("scheduler-pid", 0, "PID", struct load_options, scheduler_pid, take_pid,
		     "the scheduler under test: gets SIGUSR2 when a worker is stuck for 2 s; its "
		     "death fails the run"),
	FLAG_OPTION("repro", 0, struct load_options, repro,
		    "do not send SIGUSR2, so that a stuck scheduler stays up for debugging"),
	FLAG_OPTION("no-time-ops", 0, struct load_options, no_time_ops,
		    "do not let the kernel time the programs of sched_ext schedulers"),
	TEXT_OPTION("cgroup-root", 0, "DIRECTORY", struct load_options, cgroup_root,
		    "make the cgroups below this one"),
	TEXT_OPTION("scratch", 0, "DIRECTORY", struct load_options, scratch,
		    "for the workers' files (TMPDIR or /var/tmp)"),
	END_OF_OPTIONS,
};

static int take_path(void *data, char **rest, bool is_behind_dashes, struct error *error)
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

/* Of `--ab`, which runs this same command for each run: some options would mean two things. */
static int end_ab(struct load_options *options, struct error *error)
{
	if (!options->ab.other || options->spec.cgroups.count)
		return error_set(error, EINVAL, "which specs? dwell load --ab SPEC OTHER");
	if (!strcmp(options->given.path, "-") || !strcmp(options->ab.other, "-"))
		return error_set(error, EINVAL,
				 "--ab reads a spec for each run: standard input has it once");
	if (options->ab.pairs && options->ab.budget_ns)
		return error_set(error, EINVAL, "--pairs or --budget, not both");
	if (options->observe || options->samples || options->workers || options->trace)
		return error_set(
			error, EINVAL,
			"--observe, --samples, --each and --trace are of one run: with --save "
			"every run of --ab is kept");
	return 0;
}

/* What is of --ab only is no mistake to leave out silently. */
static int end_run(const struct load_options *options, struct error *error)
{
	if (options->ab.other)
		return error_set(error, EINVAL,
				 "one spec at a time: %s or %s (--ab runs two by turns)",
				 options->given.path, options->ab.other);
	if (options->ab.pairs || options->ab.budget_ns || options->ab.all || options->ab.gate_given)
		return error_set(error, EINVAL, "--pairs, --budget, --gate and --all are of --ab");
	if (options->action != LOAD_SWEEP && (options->ab.question_given || options->sweep.rounds))
		return error_set(error, EINVAL,
				 "--metrics is of --ab and --sweep, --rounds of "
				 "--sweep");
	return 0;
}

/* Of `--sweep`, whose runs are many. */
static int end_sweep(const struct load_options *options, struct error *error)
{
	int result = end_run(options, error);

	if (result >= 0 && (options->observe || options->samples || options->workers))
		return error_set(error, EINVAL,
				 "--observe, --samples and --each are of one run: with --save "
				 "every run of --sweep is kept");
	return result;
}

static int end(void *data, struct error *error)
{
	struct load_options *options = data;
	bool is_text = options->action == LOAD_LIST || options->action == LOAD_PRINT;
	bool is_ab = options->action == LOAD_AB, is_sweep = options->action == LOAD_SWEEP;
	const struct schema *schema = is_ab	 ? &compare_load_schema
				      : is_sweep ? &sweep_schema
						 : &load_schema;
	int result = is_ab	? end_ab(options, error)
		     : is_sweep ? end_sweep(options, error)
				: end_run(options, error);

	if (result >= 0)
		result = result_options_end(&options->output, schema, ~0U, error);
	if (result < 0 || is_ab)
		return result;
	if (is_text && options->dry_run)
		return error_set(error, EINVAL,
				 "--list and --print run nothing: they take no --dry-run");
	if (is_text && options->output.given)
		return error_set(error, EINVAL,
				 "--list and --print print text: they take no --format, --fields, "
				 "--sort or --top");
	if (is_text) {
		if (!options->subject)
			options->subject = options->given.path;
		return 0;
	}
	if (!options->given.path && !options->spec.cgroups.count)
		return error_set(
			error, EINVAL,
			"nothing to run: give a spec, a scenario, or --work TYPE; --list shows "
			"them all");
	return load_given_add(&options->given, &options->spec, error);
}

const struct command_line load_line = {
	.options = load_option_table,
	.arguments = "[SPEC]\n--ab SPEC OTHER\n--sweep NAME=FROM..TO [SPEC]",
	.text = text,
	.take_argument = take_path,
	.end = end,
};

int load_options_parse(struct load_options *options, int argc, char **argv)
{
	*options = (struct load_options){.action = LOAD_RUN};
	spec_init(&options->spec);
	load_question_init(&options->ab.question);
	return command_line_parse(&load_line, argc, argv, options);
}
