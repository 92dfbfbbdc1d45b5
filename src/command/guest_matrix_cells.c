// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/guest_matrix_cells.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/guest_rehearse.h"
#include "guest/kernel.h"
#include "matrix/yaml.h"

static int hand_on(struct matrix *matrix, const struct guest_matrix_options *options)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < options->handed_count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "--%s", options->handed[i].name);
		result = matrix_words_add(&matrix->options, name);
		if (result >= 0 && options->handed[i].value)
			result = matrix_words_add(&matrix->options, options->handed[i].value);
	}
	return result;
}

/*
 * `auto` is one kernel for all cells, those without a scheduler too: it is named, as what is the
 * newest one may be another one when the matrix is gone on with.
 */
static int find_kernel(struct matrix *matrix, struct error *error)
{
	struct matrix_words *kernels = &matrix->kernels;
	bool sched_ext = matrix->schedulers.count > 1 || *matrix->schedulers.items[0];
	char found[PATH_MAX];
	size_t number = 0;
	int result;

	while (number < kernels->count && strcmp(kernels->items[number], "auto") != 0)
		number++;
	if (number == kernels->count)
		return 0;
	result = kernel_find(sched_ext, found, error);
	if (result < 0)
		return result;
	for (size_t i = 0; i < kernels->count; i++)
		if (!strcmp(kernels->items[i], found))
			return error_set(error, EINVAL, "kernels: `auto` is %s, which is there too",
					 found);
	free(kernels->items[number]);
	kernels->items[number] = strdup(found);
	return kernels->items[number] ? 0 : error_set(error, ENOMEM, "out of memory");
}

/* As the first cell runs it; of another dwell, which may have other options, it is not known. */
static int rehearse(const struct matrix *matrix, struct error *error)
{
	struct matrix_words words = {.items = NULL};
	int result;

	for (size_t i = 0; i < matrix->options.count; i++)
		if (!strncmp(matrix->options.items[i], "--program", strlen("--program")))
			return 0;
	if (matrix_cell_words(matrix, &matrix->cells[0], &words) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	else
		result = guest_rehearse(&words.items[words.count - matrix->command.count], error);
	matrix_words_release(&words);
	return result < 0 ? error_wrap(error, result, "command") : 0;
}

int guest_matrix_prepare(struct matrix *matrix, const struct guest_matrix_options *options,
			 struct error *error)
{
	int result = matrix_read_file(matrix, options->file, error);

	if (result >= 0)
		result = find_kernel(matrix, error);
	if (result >= 0 && hand_on(matrix, options) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = matrix_expand(matrix, (unsigned int)options->max_cpus, error);
	return result < 0 || !matrix->cell_count ? result : rehearse(matrix, error);
}
