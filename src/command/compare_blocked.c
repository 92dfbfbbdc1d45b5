// SPDX-License-Identifier: GPL-2.0-or-later
/* What two measurements of blocked workers differ in. */
#include <errno.h>

#include "base/print.h"
#include "command/compare.h"
#include "results/blocked_side.h"
#include "view/compare.h"

#define DEFAULT_ROWS 20

static int write_page(struct output *out, const void *result)
{
	compare_blocked_table(out, result);
	return 0;
}

static const struct result_kind kind = {.schema = &compare_blocked_schema, .page = write_page};

/* Where nothing was seen, nothing was too long, and that says nothing. */
static bool is_judged(const struct compare_options *options, const struct compared_side sides[2])
{
	bool judged = true;

	for (int i = 0; i < 2; i++) {
		if (sides[i].is_seen)
			continue;
		print_text(stderr, "dwell compare: %s has no poll and no turn of a worker\n",
			   options->paths[i]);
		judged = false;
	}
	if (sides[0].threshold_ns != sides[1].threshold_ns) {
		print_text(stderr, "dwell compare: their thresholds differ, so that their stalls "
				   "cannot be compared\n");
		judged = false;
	}
	return judged;
}

int compare_blocked(const struct compare_options *options, enum exit_code *ret_code,
		    struct error *error)
{
	struct compared_side sides[2] = {{.duration_ns = 0}};
	struct comparison comparison = {.share_a = 0};
	const struct blocked_comparison row = {
		.paths = options->paths,
		.sides = {&sides[0], &sides[1]},
		.comparison = &comparison,
		.top = options->output.order.top ? options->output.order.top : DEFAULT_ROWS,
	};
	int result = 0;

	for (int i = 0; result >= 0 && i < 2; i++)
		result = blocked_side_read(&sides[i], options->paths[i], error);
	if (result >= 0 && comparison_make(&comparison, &sides[0], &sides[1]) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = result_print(&options->output, &kind, &row, error);
	if (result >= 0 && !is_judged(options, sides) && options->worse_given) {
		*ret_code = EXIT_INCONCLUSIVE;
	} else if (result >= 0 && options->worse_given &&
		   comparison.share_b > comparison.share_a * (1 + options->worse)) {
		print_text(stderr, "dwell compare: %s is worse by more than %g %%\n",
			   options->paths[1], 100 * options->worse);
		*ret_code = EXIT_CHECK_FAILED;
	}
	comparison_release(&comparison);
	for (int i = 0; i < 2; i++)
		compared_release(&sides[i]);
	return result;
}
