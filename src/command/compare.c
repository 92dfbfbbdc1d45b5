// SPDX-License-Identifier: GPL-2.0-or-later
/* `dwell compare`: what two measurements differ in, of blocked workers or of loads. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "command/compare.h"
#include "command/watch_options.h"
#include "view/compare.h"

enum {
	OPTION_WORSE = 512,
	OPTION_TOP,
	OPTION_GATE,
	OPTION_ALL,
};

struct compare {
	struct parsing parsing;
	struct compare_options options;
	unsigned int path_count;
};

static const char doc[] =
	"Compares two measurements of one kind: of `dwell blocked`, recordings (--record) or JSON "
	"(--format json), which hotspots are gone, new, better or worse, as shares of the time "
	"measured; of `dwell load`, reports (--json, --save) or directories of them, which metrics "
	"of which group got worse or better, by more than chance where there are several runs."
	"\v"
	"Examples:\n"
	"  dwell compare before.dwell after.dwell\n"
	"  dwell compare before.json after.json --worse 10  exit status 3 if the time in stalls "
	"grew by more than 10 %\n"
	"  dwell compare runs/before runs/after             exit status 3 if a metric got worse\n"
	"  dwell compare runs/before runs/after --gate wake-p99=20us/10% --gate iterations=0/2%\n";

static const struct argp_option argp_options[] = {
	RESULT_OPTIONS(RESULT_FORMATS " (table)", 1),
	{0, 0, 0, 0, "Of blocked workers:", 2},
	{"top", OPTION_TOP, "N", 0, "rows of the table (20)", 2},
	{"worse", OPTION_WORSE, "PERCENT", 0,
	 "exit with status 3 if B spends more than PERCENT more time in stalls than A", 2},
	{0, 0, 0, 0, "Of loads:", 3},
	{"all", OPTION_ALL, 0, 0, "metrics that did not change too", 3},
	{"gate", OPTION_GATE, "METRIC=ABSOLUTE/RELATIVE%", 0,
	 "minimum absolute and relative change of a metric that counts", 3},
	{0, 'h', 0, OPTION_HIDDEN, 0, -1},
	{0},
};

static int take_worse(struct compare *compare, const char *value, struct error *error)
{
	char *end;

	compare->options.worse = strtod(value, &end) / 100;
	if (end == value || *end || !(compare->options.worse >= 0 && compare->options.worse < 1e6))
		return error_set(error, EINVAL, "--worse needs a percentage, not '%s'", value);
	compare->options.worse_given = true;
	return 0;
}

static int take_option(struct compare *compare, int key, const char *value, struct error *error)
{
	switch (key) {
	case OPTION_TOP:
		return parsing_count(value, "--top", &compare->options.top, error);
	case OPTION_WORSE:
		return take_worse(compare, value, error);
	case OPTION_ALL:
		compare->options.all = true;
		return 0;
	case OPTION_GATE:
		compare->options.gates_given = true;
		return load_gate_parse(compare->options.gates, value, error);
	case ARGP_KEY_ARG:
		if (compare->path_count == 2)
			return error_set(error, EINVAL, "two files are compared, not more");
		compare->options.paths[compare->path_count++] = value;
		return 0;
	case ARGP_KEY_END:
		return compare->path_count == 2
			       ? 0
			       : error_set(error, EINVAL, "which files? dwell compare A B");
	}
	return result_option(&compare->options.output, key, value, false, error);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct compare *compare = state->input;
	int result;

	if (!compare)
		return ARGP_ERR_UNKNOWN;
	if (parsing_helps(key, state))
		return 0;
	result = take_option(compare, key, value, &compare->parsing.error);
	return parsing_result(&compare->parsing, result);
}

static const struct argp compare_argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "A B",
	.doc = doc,
};

enum kind {
	KIND_BLOCKED, /* and unknown ones: compare_blocked() reports them */
	KIND_LOAD,
	KIND_ANY, /* a pipe, which can be read once only */
};

/* By the first line; what is no JSON may be a recording. */
static int kind_of_file(FILE *file, const char *path, enum kind *ret_kind, struct error *error)
{
	int first = getc(file);
	json_error_t why;
	json_t *line;
	const char *type;

	*ret_kind = KIND_BLOCKED;
	if (first != '{')
		return 0;
	ungetc(first, file);
	line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &why);
	if (!line)
		return error_set(error, EBADMSG, "%s: damaged: at byte %d: %s", path, why.position,
				 why.text);
	type = json_string_value(json_object_get(line, "type"));
	if (type && (!strcmp(type, "worker") || !strcmp(type, "load")))
		*ret_kind = KIND_LOAD;
	json_decref(line);
	return 0;
}

static int kind_of(const char *path, enum kind *ret_kind, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	struct stat status;

	*ret_kind = KIND_ANY;
	if (!file || fstat(fileno(file), &status) < 0)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	/* only `dwell load` keeps things in directories */
	if (S_ISDIR(status.st_mode))
		*ret_kind = KIND_LOAD;
	return S_ISREG(status.st_mode) ? kind_of_file(file, path, ret_kind, error) : 0;
}

/* A pipe is taken to be what the other one is. */
static int kinds_of(const struct compare_options *options, enum kind kinds[2], struct error *error)
{
	int result = kind_of(options->paths[0], &kinds[0], error);

	if (result >= 0)
		result = kind_of(options->paths[1], &kinds[1], error);
	for (int i = 0; result >= 0 && i < 2; i++)
		if (kinds[i] == KIND_ANY)
			kinds[i] = kinds[!i] == KIND_LOAD ? KIND_LOAD : KIND_BLOCKED;
	return result;
}

/* Options of the other kind are a mistake, not something to leave out silently. */
static int check_options(struct compare_options *options, enum kind kind, struct error *error)
{
	const char *foreign = NULL;

	if (kind == KIND_LOAD)
		foreign = options->worse_given ? "--worse" : options->top ? "--top" : NULL;
	else
		foreign = options->gates_given ? "--gate" : options->all ? "--all" : NULL;
	if (!foreign)
		return result_options_end(&options->output,
					  kind == KIND_LOAD ? &compare_load_schema
							    : &compare_blocked_schema,
					  ~0U, error);
	return error_set(error, EINVAL,
			 "%s is for measurements of `dwell %s`, these are of `dwell %s`", foreign,
			 kind == KIND_LOAD ? "blocked" : "load",
			 kind == KIND_LOAD ? "load" : "blocked");
}

static int compare_kinds(const struct compare_options *options, const enum kind kinds[2],
			 enum exit_code *ret_code, struct error *error)
{
	if (kinds[0] != kinds[1])
		return error_set(error, EBADMSG,
				 "%s is of `dwell load`, %s is not: only two of one kind can be "
				 "compared",
				 options->paths[kinds[0] == KIND_LOAD ? 0 : 1],
				 options->paths[kinds[0] == KIND_LOAD ? 1 : 0]);
	return kinds[0] == KIND_LOAD ? compare_load(options, ret_code, error)
				     : compare_blocked(options, ret_code, error);
}

static int compare_run(int argc, char **argv)
{
	struct compare compare = {.path_count = 0};
	const struct compare_options *options = &compare.options;
	enum kind kinds[2];
	enum exit_code compared = EXIT_DONE;
	struct error error = {""};
	int result, code;

	load_gates_init(compare.options.gates);
	code = parsing_run(&compare_argp, "dwell compare", argc, argv, &compare, &compare.parsing);
	if (code != EXIT_DONE)
		return code;
	result = kinds_of(options, kinds, &error);
	if (result >= 0 && kinds[0] == kinds[1] &&
	    check_options(&compare.options, kinds[0], &error) < 0)
		return command_fail("compare", EXIT_USAGE, &error);
	if (result >= 0)
		result = compare_kinds(options, kinds, &compared, &error);
	return result < 0 ? command_fail("compare", EXIT_NOT_RUN, &error) : (int)compared;
}

const struct command command_compare = {
	.name = "compare",
	.summary = "compare two blocked recordings, or two load reports",
	.argp = &compare_argp,
	.run = compare_run,
};
