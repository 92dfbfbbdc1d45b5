// SPDX-License-Identifier: GPL-2.0-or-later
/* What the options of `dwell load` need of each other. */
#include "command/load_options_parts.h"

#include <errno.h>
#include <string.h>

#include "view/compare.h"
#include "view/load.h"
#include "view/sweep.h"

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
			"--observe, --samples, --each and --trace apply to one run: --save "
			"writes the report of every run of --ab");
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
		return error_set(error, EINVAL,
				 "--pairs, --budget, --gate and --all belong to --ab");
	if (options->action != LOAD_SWEEP && (options->ab.question_given || options->sweep.rounds))
		return error_set(error, EINVAL,
				 "--metrics belongs to --ab and --sweep, --rounds to "
				 "--sweep");
	return 0;
}

/* Of `--sweep`, whose runs are many. */
static int end_sweep(const struct load_options *options, struct error *error)
{
	int result = end_run(options, error);

	if (result >= 0 && (options->observe || options->samples || options->workers))
		return error_set(error, EINVAL,
				 "--observe, --samples and --each apply to one run: --save "
				 "writes the report of every run of --sweep");
	return result;
}

int load_options_end(void *data, struct error *error)
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
