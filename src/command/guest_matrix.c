// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_matrix.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/print.h"
#include "command/command.h"
#include "command/guest_matrix_cells.h"
#include "matrix/fields.h"
#include "matrix/runner.h"
#include "matrix/scorecard.h"
#include "matrix/state.h"
#include "matrix/table.h"

static int write_page(struct output *out, const void *matrix)
{
	return matrix_table(out, matrix);
}

static int emit_verdicts(const struct emit *emit, const void *matrix)
{
	return matrix_emit(emit, matrix);
}

static const struct result_kind kind = {
	.schema = &matrix_schema, .page = write_page, .emit = emit_verdicts};

/* A scheduler that failed is news; that other guests could not be run is not more so. */
static enum exit_code exit_code_of(const struct matrix *matrix)
{
	size_t counts[MATRIX_VERDICTS];

	matrix_count(matrix, counts);
	if (counts[MATRIX_FAIL] || counts[MATRIX_DIED])
		return EXIT_CHECK_FAILED;
	if (counts[MATRIX_ERROR])
		return EXIT_NOT_RUN;
	return counts[MATRIX_INCONCLUSIVE] ? EXIT_INCONCLUSIVE : EXIT_DONE;
}

static int fail_interrupted(const struct matrix *matrix, const char *out)
{
	size_t counts[MATRIX_VERDICTS], count = matrix->cell_count;
	struct error error;

	matrix_count(matrix, counts);
	error_set(&error, EINTR, "interrupted: %zu of %zu cells done%s",
		  count - counts[MATRIX_PENDING], count, out ? "; go on with --resume" : "");
	return command_fail("guest", EXIT_NOT_RUN, &error);
}

/* The files of all parts; the file of --out is then as if one process had run them all. */
static int merge(struct matrix *matrix, const struct guest_matrix_options *options,
		 struct error *error)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < options->merged_count; i++)
		result = matrix_state_merge(matrix, options->merged[i], error);
	if (result >= 0 && options->out && !access(options->out, F_OK))
		return error_set(error, EEXIST, "%s is there already: remove it, or use another",
				 options->out);
	return result >= 0 && options->out ? matrix_state_write(matrix, options->out, error)
					   : result;
}

static bool lacks_cells(const struct matrix *matrix)
{
	size_t counts[MATRIX_VERDICTS];

	matrix_count(matrix, counts);
	if (counts[MATRIX_PENDING])
		print_text(stderr,
			   "dwell guest: %zu of %zu cells are in none of the files: a part is "
			   "missing\n",
			   counts[MATRIX_PENDING], matrix->cell_count);
	return counts[MATRIX_PENDING] > 0;
}

static int list(void)
{
	struct error error = {""};
	struct output out;
	int result;

	if (output_init(&out, STDOUT_FILENO) < 0) {
		(void)error_set(&error, ENOMEM, "out of memory");
		return command_fail("guest", EXIT_NOT_RUN, &error);
	}
	presets_table(&out);
	result = command_write(&out, &error);
	output_release(&out);
	return result < 0 ? command_fail("guest", EXIT_NOT_RUN, &error) : (int)EXIT_DONE;
}

int guest_matrix_run(const struct guest_matrix_options *options)
{
	const struct matrix_run_options run = {.jobs = options->jobs,
					       .out = options->out,
					       .rerun = !options->no_rerun,
					       .resume = options->resume,
					       .shard = options->shard,
					       .shards = options->shards};
	struct matrix cleanup_matrix matrix;
	struct error error = {""};
	bool interrupted = false;
	int result;

	matrix_init(&matrix);
	matrix.check_command = command_check;
	if (options->list)
		return list();
	result = guest_matrix_prepare(&matrix, options, &error);
	if (result >= 0 && options->merged_count)
		result = merge(&matrix, options, &error);
	else if (result >= 0)
		result = matrix_run(&matrix, &run, &interrupted, &error);
	if (result >= 0)
		result = result_print(&options->output, &kind, &matrix, &error);
	if (result >= 0 && options->scorecard)
		result = scorecard_write(options->scorecard, &matrix, &error);
	if (result < 0)
		return command_fail("guest", result == -EINVAL ? EXIT_USAGE : EXIT_NOT_RUN, &error);
	if (options->merged_count && lacks_cells(&matrix))
		return EXIT_NOT_RUN;
	return interrupted ? fail_interrupted(&matrix, options->out) : (int)exit_code_of(&matrix);
}
