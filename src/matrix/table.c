// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "guest/presets.h"
#include "matrix/scorecard.h"
#include "matrix/table.h"

#define NAME_COLUMNS	40
#define VERDICT_COLUMNS 12 /* the longest word */
#define CHECKS_COLUMNS	60
#define REASON_COLUMNS	400
#define CHECK_COLUMNS	100
#define TITLE_COLUMNS	160
#define AGAIN_COLUMNS	1500

static size_t columns_of(const char *text, size_t least)
{
	char shown[512];
	size_t columns = text_printable(shown, sizeof(shown), text, NAME_COLUMNS);

	return columns > least ? columns : least;
}

static void write_text(struct output *out, const char *text, size_t columns)
{
	char shown[2048];

	text_printable(shown, sizeof(shown), text, columns);
	output_string(out, shown);
}

/* Widths of the columns that depend on what is in them. */
struct cell_widths {
	size_t kernel; /* 0: there is one kernel, which the heading names */
	size_t topology;
};

static struct cell_widths measure(const struct matrix *matrix)
{
	struct cell_widths columns = {.topology = strlen("TOPOLOGY")};

	for (size_t i = 0; matrix->kernels.count > 1 && i < matrix->kernels.count; i++)
		columns.kernel = columns_of(matrix_kernel_name(matrix, i),
					    columns.kernel ? columns.kernel : strlen("KERNEL"));
	for (size_t i = 0; i < matrix->topology_count; i++)
		columns.topology = columns_of(matrix->topologies[i].name, columns.topology);
	return columns;
}

static size_t scheduler_columns(const struct matrix *matrix, size_t number)
{
	return columns_of(matrix_scheduler_name(matrix, number), VERDICT_COLUMNS);
}

static bool has_checks(const struct matrix_cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (cells[i].checks.count)
			return true;
	return false;
}

static void write_heading(struct output *out, const struct matrix *matrix,
			  const struct cell_widths *columns)
{
	write_text(out, matrix->name, NAME_COLUMNS * 2);
	output_char(out, ':');
	for (size_t i = 0; i < matrix->command.count; i++) {
		output_char(out, ' ');
		write_text(out, matrix->command.items[i], REASON_COLUMNS);
	}
	if (!columns->kernel) {
		output_string(out, ", kernel ");
		write_text(out, matrix->kernels.items[0], REASON_COLUMNS);
	}
	output_string(out, "\n\n");
	if (columns->kernel)
		output_format(out, "%-*s  ", (int)columns->kernel, "KERNEL");
	output_format(out, "%-*s  CPUS", (int)columns->topology, "TOPOLOGY");
	for (size_t i = 0; i < matrix->schedulers.count; i++) {
		output_string(out, "  ");
		text_padded(out, matrix_scheduler_name(matrix, i), scheduler_columns(matrix, i));
	}
	output_string(out, has_checks(matrix->cells, matrix->cell_count) ? "  CHECKS THAT FAILED\n"
									 : "\n");
}

/*
 * The worst verdict of the runs of a cell, and, where they differ, how many have it. `columns` 0:
 * nothing follows in the row.
 */
static void write_verdict(struct output *out, const struct matrix *matrix,
			  const struct matrix_cell *runs, size_t columns)
{
	enum matrix_verdict worst = MATRIX_PENDING;
	unsigned int count = 0;
	char text[64];

	for (unsigned int i = 0; i < matrix->repeat; i++)
		if (runs[i].verdict > worst)
			worst = runs[i].verdict;
	for (unsigned int i = 0; i < matrix->repeat; i++)
		count += runs[i].verdict == worst;
	if (count < matrix->repeat)
		snprintf(text, sizeof(text), "%s %u/%u", matrix_verdicts[worst], count,
			 matrix->repeat);
	else
		snprintf(text, sizeof(text), "%s", matrix_verdicts[worst]);
	output_string(out, "  ");
	if (columns)
		text_padded(out, text, columns);
	else
		output_string(out, text);
}

static bool has_check(const struct matrix_cell *cell, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i += 2)
		if (!strcmp(cell->checks.items[i], name))
			return true;
	return false;
}

/* Whether the row has named the check of that number before. */
static bool is_repeated(const struct matrix_cell *cells, size_t cell, size_t check)
{
	const char *name = cells[cell].checks.items[check];

	for (size_t i = 0; i < cell; i++)
		if (has_check(&cells[i], cells[i].checks.count, name))
			return true;
	return has_check(&cells[cell], check, name);
}

/* Of a whole row, each name once. */
static void write_checks(struct output *out, const struct matrix_cell *cells, size_t count)
{
	const char *before = "  ";

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k + 1 < cells[i].checks.count; k += 2) {
			if (is_repeated(cells, i, k))
				continue;
			output_string(out, before);
			write_text(out, cells[i].checks.items[k], CHECKS_COLUMNS);
			before = ", ";
		}
}

static void write_row(struct output *out, const struct matrix *matrix,
		      const struct cell_widths *columns, const struct matrix_cell *cells)
{
	size_t count = matrix->schedulers.count * matrix->repeat;

	if (columns->kernel) {
		text_padded(out, matrix_kernel_name(matrix, cells->kernel), columns->kernel);
		output_string(out, "  ");
	}
	text_padded(out, matrix->topologies[cells->topology].name, columns->topology);
	output_format(out, "  %4u", matrix_cell_cpus(matrix, cells));
	for (size_t i = 0; i < matrix->schedulers.count; i++)
		write_verdict(out, matrix, cells + i * matrix->repeat,
			      i + 1 < matrix->schedulers.count || has_checks(cells, count)
				      ? scheduler_columns(matrix, i)
				      : 0);
	write_checks(out, cells, count);
	output_char(out, '\n');
}

static int write_explained(struct output *out, const struct matrix *matrix,
			   const struct matrix_cell *cell)
{
	char title[512], after[16], again[AGAIN_COLUMNS];
	int result;

	matrix_cell_title(title, sizeof(title), matrix, cell);
	output_format(out, "\n%s  ", matrix_verdicts[cell->verdict]);
	write_text(out, title, TITLE_COLUMNS);
	if (cell->guest.scheduler_after_ns != UINT64_MAX && cell->verdict == MATRIX_DIED) {
		duration_format(after, sizeof(after), cell->guest.scheduler_after_ns);
		output_format(out, ", after %s", after);
	}
	if (cell->reason) {
		output_string(out, ": ");
		write_text(out, cell->reason, REASON_COLUMNS);
	}
	output_char(out, '\n');
	for (size_t i = 0; i + 1 < cell->checks.count; i += 2) {
		output_string(out, "  ");
		write_text(out, cell->checks.items[i], CHECK_COLUMNS);
		output_string(out, ": ");
		write_text(out, cell->checks.items[i + 1], CHECK_COLUMNS);
		output_char(out, '\n');
	}
	matrix_again_format(again, sizeof(again), &cell->again);
	if (*again) {
		output_string(out, "  ");
		write_text(out, again, AGAIN_COLUMNS);
		output_char(out, '\n');
	}
	output_string(out, "  ");
	result = matrix_cell_command(out, matrix, cell);
	output_char(out, '\n');
	return result;
}

/* Each topology once: it is skipped under every kernel and scheduler. */
static void write_skipped(struct output *out, const struct matrix *matrix)
{
	bool some = false;
	size_t count = matrix->topology_count * matrix->schedulers.count * matrix->repeat;

	for (size_t i = 0; i < count; i += matrix->schedulers.count * matrix->repeat) {
		const struct matrix_cell *cell = &matrix->cells[i];

		if (cell->verdict != MATRIX_SKIPPED)
			continue;
		output_string(out, some ? "skipped  " : "\nskipped  ");
		some = true;
		write_text(out, matrix->topologies[cell->topology].name, TITLE_COLUMNS);
		output_string(out, ": ");
		write_text(out, cell->reason, REASON_COLUMNS);
		output_char(out, '\n');
	}
}

void matrix_counts(char *into, size_t room, const struct matrix *matrix)
{
	static const enum matrix_verdict order[] = {
		MATRIX_PASS,  MATRIX_FAIL,    MATRIX_DIED,   MATRIX_INCONCLUSIVE,
		MATRIX_ERROR, MATRIX_SKIPPED, MATRIX_PENDING};
	size_t counts[MATRIX_VERDICTS], used = 0;

	matrix_count(matrix, counts);
	*into = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (counts[order[i]] && used < room)
			used += (size_t)snprintf(into + used, room - used, "%s%zu %s",
						 used ? ", " : "", counts[order[i]],
						 matrix_verdicts[order[i]]);
}

int matrix_table(struct output *out, const struct matrix *matrix)
{
	struct cell_widths columns = measure(matrix);
	size_t row = matrix->schedulers.count * matrix->repeat;
	struct matrix_scores scores = {.items = NULL};
	char counts[160];
	int result = 0;

	write_heading(out, matrix, &columns);
	for (size_t i = 0; i < matrix->cell_count; i += row)
		write_row(out, matrix, &columns, &matrix->cells[i]);
	for (size_t i = 0; result >= 0 && i < matrix->cell_count; i++)
		if (matrix->cells[i].verdict > MATRIX_PASS)
			result = write_explained(out, matrix, &matrix->cells[i]);
	write_skipped(out, matrix);
	if (result >= 0)
		result = matrix_scores_make(&scores, matrix);
	if (result >= 0)
		scorecard_table(out, matrix, &scores);
	matrix_scores_release(&scores);
	matrix_counts(counts, sizeof(counts), matrix);
	output_format(out, "\n%s\n", counts);
	return result;
}

void presets_table(struct output *out)
{
	char shape[24];

	output_format(out, "%-20s %-12s %5s\n", "NAME", "TOPOLOGY", "CPUS");
	for (const struct shape_preset *preset = shape_presets; preset->name; preset++) {
		shape_format(shape, sizeof(shape), &preset->shape);
		output_format(out, "%-20s %-12s %5u\n", preset->name, shape,
			      shape_cpus(&preset->shape));
	}
}
