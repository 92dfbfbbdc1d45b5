// SPDX-License-Identifier: GPL-2.0-or-later
/* What two recordings of threads differ in. */
#include <errno.h>

#include "base/print.h"
#include "command/compare.h"
#include "results/thread_side.h"
#include "view/compare_threads.h"

#define SAID_MOST 5

static int write_page(struct output *out, const void *result)
{
	compare_threads_table(out, result);
	return 0;
}

static const struct result_kind kind = {.schema = &compare_threads_schema, .page = write_page};

static enum exit_code judge(const struct share_comparison *comparison,
			    const struct compare_options *options)
{
	const struct share_row *row;
	size_t position = 0, said = 0;
	char loss[256];

	if (!options->worse_given)
		return EXIT_DONE;
	if (share_comparison_is_short(comparison)) {
		fputs("dwell compare: too few intervals to decide what is worse\n", stderr);
		return EXIT_INCONCLUSIVE;
	}
	while ((row = share_comparison_worse(comparison, options->worse, &position))) {
		if (said++ == SAID_MOST)
			continue;
		compare_threads_loss(loss, sizeof(loss), comparison, row);
		print_text(stderr, "dwell compare: %s\n", loss);
	}
	if (said > SAID_MOST)
		print_text(stderr, "dwell compare: and %zu more\n", said - SAID_MOST);
	return said ? EXIT_CHECK_FAILED : EXIT_DONE;
}

static int compare_sides(const struct compare_options *options, const struct shares sides[2],
			 const struct error damage[2], enum exit_code *ret_code,
			 struct error *error)
{
	struct share_comparison comparison;
	struct thread_comparison pair = {
		.paths = options->paths,
		.damage = {damage[0].text, damage[1].text},
		.comparison = &comparison,
		.top = options->output.order.top,
		.all = options->all,
	};
	int result = 0;

	if (share_comparison_make(&comparison, &sides[0], &sides[1]) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = compare_threads_sort(&pair, options->output.order.field, error);
	if (result >= 0) {
		compare_threads_remark(&pair);
		result = result_print(&options->output, &kind, &pair, error);
	}
	if (result >= 0)
		*ret_code = judge(&comparison, options);
	free(pair.order);
	share_comparison_release(&comparison);
	return result;
}

int compare_threads(const struct compare_options *options, enum exit_code *ret_code,
		    struct error *error)
{
	struct share_keys keys = {.names = {0}};
	struct shares sides[2] = {{.count = 0}, {.count = 0}};
	struct error damage[2];
	int result = 0;

	for (int i = 0; result >= 0 && i < 2; i++)
		result = thread_side_read(&sides[i], &keys, options->paths[i], &damage[i], error);
	if (result >= 0)
		result = compare_sides(options, sides, damage, ret_code, error);
	for (int i = 0; i < 2; i++)
		shares_release(&sides[i]);
	share_keys_release(&keys);
	return result;
}
