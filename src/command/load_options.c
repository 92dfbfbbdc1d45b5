// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_options.h"

#include "command/load_group_options.h"
#include "command/load_options_parts.h"

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

static const struct command_option load_option_table[] = {
	OPTIONS_OF(load_group_option_table, struct load_options, spec),
	OPTION_GROUP(1, NULL),
	TIME_OPTION("duration", 'd', struct load_options, given.duration_ns, "how long (5s)"),
	TEXT_OPTION("seed", 0, "N", struct load_options, given.seed, "repeats random choices"),
	TAKEN_MEMBER("check", 0, "NAME[=LIMIT]", struct load_options, given, load_take_check,
		     "a check that decides the verdict"),
	TAKEN_MEMBER("set", 0, "NAME=VALUE", struct load_options, given, load_take_set,
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
	TAKEN_OPTION("ab", 0, NULL, load_take_ab,
		     "run SPEC and OTHER by turns until it is clear whether they differ"),
	TAKEN_MEMBER("pairs", 0, "N", struct load_options, ab, load_take_pairs,
		     "run each at most N times (20)"),
	TIME_OPTION("budget", 0, struct load_options, ab.budget_ns,
		    "run as many pairs as fit into TIME"),
	TAKEN_MEMBER("metrics", 0, "NAME[,NAME]", struct load_options, ab, load_take_metrics,
		     METRICS_HELP),
	TAKEN_MEMBER("gate", 0, "METRIC=ABSOLUTE/RELATIVE%", struct load_options, ab,
		     load_take_gate, GATE_HELP),
	FLAG_OPTION("all", 0, struct load_options, ab.all, "metrics that did not change, too"),
	OPTION_GROUP(6, "One number of it at several values:"),
	TAKEN_OPTION("sweep", 0, "NAME=FROM..TO[:STEPS]", load_take_sweep,
		     "what changes with it, and where the curve has its knee (10 steps)"),
	TAKEN_MEMBER("rounds", 0, "N", struct load_options, sweep, load_take_rounds,
		     "run each step N times (3)"),
	OPTION_GROUP(3, "Instead of running:"),
	TAKEN_OPTION("list", 0, "WHAT", load_take_list,
		     "types, scenarios or checks (all three); or all about one type or scenario",
		     .is_optional = true),
	TAKEN_OPTION("print", 0, "SCENARIO", load_take_print, "its spec"),
	FLAG_OPTION("dry-run", 0, struct load_options, dry_run,
		    "print the plan: which workers, where"),
	OPTION_GROUP(4, "Surroundings:"),
	TAKEN_MEMBER("scheduler-pid", 0, "PID", struct load_options, scheduler_pid, load_take_pid,
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

const struct command_line load_line = {
	.options = load_option_table,
	.arguments = "[SPEC]\n--ab SPEC OTHER\n--sweep NAME=FROM..TO [SPEC]",
	.text = text,
	.take_argument = load_take_path,
	.end = load_options_end,
};

int load_options_parse(struct load_options *options, int argc, char **argv)
{
	*options = (struct load_options){.action = LOAD_RUN};
	spec_init(&options->spec);
	load_question_init(&options->ab.question);
	return command_line_parse(&load_line, argc, argv, options);
}
