// SPDX-License-Identifier: GPL-2.0-or-later
/* What two measurements of blocked workers differ in. */
#include <errno.h>

#include "base/print.h"
#include "command/compare.h"
#include "results/blocked_side.h"
#include "view/compare.h"

#define DEFAULT_ROWS 20

struct compared_pair {
	const struct compare_options *options;
	struct compared_side sides[2];
	struct comparison comparison;
};

static int show(const struct compared_pair *pair, struct error *error)
{
	struct blocked_comparison row = {.paths = pair->options->paths,
					 .sides = {&pair->sides[0], &pair->sides[1]},
					 .comparison = &pair->comparison};
	struct item item = {&row, NULL};
	struct output output;
	int result = 0;

	if (output_init(&output, STDOUT_FILENO) < 0)
		return error_set(error, ENOMEM, "out of memory");
	if (pair->options->output.format)
		result = result_write(&pair->options->output, &compare_blocked_schema, &item,
				      &output, error);
	else
		compare_blocked_table(&output, &row,
				      pair->options->top ? (size_t)pair->options->top
							 : DEFAULT_ROWS);
	if (result >= 0)
		result = command_write(&output, error);
	output_release(&output);
	return result;
}

int compare_blocked(const struct compare_options *options, enum exit_code *ret_code,
		    struct error *error)
{
	struct compared_pair pair = {.options = options};
	const struct comparison *comparison = &pair.comparison;
	int result = 0;

	for (int i = 0; result >= 0 && i < 2; i++)
		result = blocked_side_read(&pair.sides[i], options->paths[i], error);
	if (result >= 0 && comparison_make(&pair.comparison, &pair.sides[0], &pair.sides[1]) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = show(&pair, error);
	if (result >= 0 && options->worse_given &&
	    comparison->share_b > comparison->share_a * (1 + options->worse)) {
		print_text(stderr, "dwell compare: %s is worse by more than %g %%\n",
			   options->paths[1], 100 * options->worse);
		*ret_code = EXIT_CHECK_FAILED;
	}
	comparison_release(&pair.comparison);
	for (int i = 0; i < 2; i++)
		compared_release(&pair.sides[i]);
	return result;
}
