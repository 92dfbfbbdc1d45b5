// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell compare`: what two measurements differ in, of threads, blocked workers or loads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command/compare.h"
#include "results/measurement_kind.h"
#include "view/compare.h"
#include "view/compare_threads.h"

static const char text[] =
	"Compares two measurements of one kind. Of `dwell record`: which programs lost more time "
	"in "
	"B, in which state and because of whom, by more than chance. Of `dwell blocked`, "
	"recordings "
	"(--record) or JSON (--format json): which hotspots are gone, new, better or worse, as "
	"shares of the time measured. Of `dwell load`, reports (--json, --save) or directories of "
	"them: which metrics of which group got worse or better, by more than chance, and by how "
	"much."
	"\v"
	"Examples:\n"
	"  dwell compare monday.dwell today.dwell  who lost more time, because of whom\n"
	"  dwell compare monday.dwell today.dwell --worse 20\n"
	"      exit status 3 if a program lost more than 20 % more\n"
	"  dwell compare before.json after.json --worse 10\n"
	"      exit status 3 if the time in stalls grew by more than 10 %\n"
	"  dwell compare runs/before runs/after    exit status 3 if a metric is worse\n"
	"  dwell compare runs/before runs/after --gate wake-p99=20us/10%\n";

static int take_worse(void *data, const char *value, struct error *error)
{
	struct compare_options *options = data;
	char *end;

	options->worse = strtod(value, &end) / 100;
	if (end == value || *end || !(options->worse >= 0 && options->worse < 1e6))
		return error_set(error, EINVAL,
				 "--worse needs a number of percent, as 10, not '%s'", value);
	options->worse_given = true;
	return 0;
}

static int take_gate(void *data, const char *value, struct error *error)
{
	struct compare_options *options = data;

	options->gates_given = true;
	return load_gate_parse(options->question.gates, value, error);
}

static int take_metrics(void *data, const char *value, struct error *error)
{
	struct compare_options *options = data;

	options->metrics_given = true;
	return load_question_choose(&options->question, value, error);
}

static const struct command_option compare_option_table[] = {
	OPTION_GROUP(1, NULL),
	RESULT_OPTIONS(struct compare_options, " (table)", " (20 on the page)"),
	OPTION_GROUP(2, "Threads and blocked workers:"),
	TAKEN_OPTION("worse", 0, "PERCENT", take_worse,
		     "exit with status 3 if in B a program lost, by more than chance, more than "
		     "PERCENT more of the time than in A; of blocked workers, if B spends more "
		     "than PERCENT more time in stalls"),
	OPTION_GROUP(4, "Threads and loads:"),
	FLAG_OPTION("all", 0, struct compare_options, all,
		    "rows or metrics that did not change too"),
	OPTION_GROUP(5, "Loads:"),
	TAKEN_OPTION("gate", 0, "METRIC=ABSOLUTE/RELATIVE%", take_gate, GATE_HELP),
	TAKEN_OPTION("metrics", 0, "NAME[,NAME]", take_metrics, METRICS_HELP),
	END_OF_OPTIONS,
};

static int take_path(void *data, char **rest, bool is_behind_dashes, struct error *error)
{
	struct compare_options *options = data;

	(void)is_behind_dashes;
	if (options->paths[1])
		return error_set(error, EINVAL, "two files are compared, not more");
	options->paths[options->paths[0] != NULL] = rest[0];
	return ARGUMENT_TAKEN;
}

static int end(void *data, struct error *error)
{
	const struct compare_options *options = data;

	if (options->paths[1])
		return 0;
	return error_set(error, EINVAL, "which files? dwell compare A B%s",
			 options->output.fields && !strcmp(options->output.fields, "help")
				 ? " --fields help, as each kind of measurement has its own"
				 : "");
}

static const struct command_line compare_line = {
	.options = compare_option_table,
	.arguments = "A B",
	.text = text,
	.take_argument = take_path,
	.end = end,
};

/* An option of other kinds, or NULL; *ret_kinds are those that have it. */
static const char *foreign_option(const struct compare_options *options, enum measurement_kind kind,
				  const char **ret_kinds)
{
	static const char of_recordings[] = "`dwell record` and `dwell blocked`";

	*ret_kinds = of_recordings;
	if (kind == MEASURED_LOAD && options->worse_given)
		return "--worse";
	*ret_kinds = "`dwell load`";
	if (kind != MEASURED_LOAD && (options->gates_given || options->metrics_given))
		return options->gates_given ? "--gate" : "--metrics";
	*ret_kinds = "`dwell record` and `dwell load`";
	return kind == MEASURED_BLOCKED && options->all ? "--all" : NULL;
}

/* Options of the other kind are a mistake, not something to leave out silently. */
static int check_options(struct compare_options *options, enum measurement_kind kind,
			 struct error *error)
{
	static const struct schema *const schemas[] = {
		[MEASURED_BLOCKED] = &compare_blocked_schema,
		[MEASURED_LOAD] = &compare_load_schema,
		[MEASURED_THREADS] = &compare_threads_schema,
	};
	static const unsigned int page_keeps[] = {
		[MEASURED_BLOCKED] = PAGE_CUTS,
		[MEASURED_LOAD] = 0,
		[MEASURED_THREADS] = PAGE_SORTS | PAGE_CUTS,
	};
	const char *kinds, *foreign = foreign_option(options, kind, &kinds);

	if (foreign)
		return error_set(error, EINVAL,
				 "%s is for measurements of %s, these come from `dwell %s`",
				 foreign, kinds, measurement_kinds[kind]);
	options->output.page_keeps = page_keeps[kind];
	return result_options_end(&options->output, schemas[kind], ~0U, error);
}

static int compare_kinds(const struct compare_options *options,
			 const enum measurement_kind kinds[2], enum exit_code *ret_code,
			 struct error *error)
{
	static int (*const compare[])(const struct compare_options *options,
				      enum exit_code *ret_code, struct error *error) = {
		[MEASURED_BLOCKED] = compare_blocked,
		[MEASURED_LOAD] = compare_load,
		[MEASURED_THREADS] = compare_threads,
	};
	/* what is not known to be anything counts as blocked */
	int known = kinds[0] == MEASURED_BLOCKED;

	if (kinds[0] != kinds[1])
		return error_set(
			error, EBADMSG,
			"%s comes from `dwell %s`, %s does not: only two of one kind can be "
			"compared",
			options->paths[known], measurement_kinds[kinds[known]],
			options->paths[!known]);
	return compare[kinds[0]](options, ret_code, error);
}

static int compare_run(int argc, char **argv)
{
	struct compare_options options = {.all = false};
	enum measurement_kind kinds[2];
	enum exit_code compared = EXIT_DONE;
	struct error error = {""};
	int result, code;

	load_question_init(&options.question);
	code = command_line_parse(&compare_line, argc, argv, &options);
	if (code != EXIT_DONE)
		return code;
	result = measurement_kinds_of(options.paths, kinds, &error);
	if (result >= 0 && kinds[0] == kinds[1] && check_options(&options, kinds[0], &error) < 0)
		return command_fail("compare", EXIT_USAGE, &error);
	if (result >= 0)
		result = compare_kinds(&options, kinds, &compared, &error);
	return result < 0 ? command_fail("compare", EXIT_NOT_RUN, &error) : (int)compared;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "compare two recordings, or two load reports",
	.line = &compare_line,
	.argument = ARGUMENT_FILE,
	.run = compare_run,
};
