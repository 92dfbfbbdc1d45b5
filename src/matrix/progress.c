// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/print.h"
#include "base/text.h"

void matrix_progress_cell(struct status_line *progress, const struct matrix *matrix,
			  const struct matrix_cell *cell)
{
	char title[512], elapsed[16], line[1536], shown[1024], again[512];

	if (!progress->shown)
		return;
	status_line_clear(progress);
	matrix_cell_title(title, sizeof(title), matrix, cell);
	matrix_again_format(again, sizeof(again), &cell->again);
	duration_format(elapsed, sizeof(elapsed), cell->elapsed_ns);
	if (*again)
		snprintf(line, sizeof(line), "%s: %s", title, again);
	else
		snprintf(line, sizeof(line), "%-12s %6s  %s%s%s", matrix_verdicts[cell->verdict],
			 elapsed, title, cell->reason ? ": " : "",
			 cell->reason ? cell->reason : "");
	text_printable(shown, sizeof(shown), line, status_line_columns());
	print_text(stderr, "%s\n", shown);
}

void matrix_progress_show(struct status_line *progress, const struct matrix *matrix,
			  const struct matrix_process *processes, size_t running)
{
	size_t counts[MATRIX_VERDICTS], used;
	uint64_t now_ns = clock_monotonic_ns();
	char line[1024];

	if (!progress->shown)
		return;
	matrix_count(matrix, counts);
	used = (size_t)snprintf(line, sizeof(line), "%zu of %zu done; running:",
				matrix->cell_count - counts[MATRIX_PENDING], matrix->cell_count);
	for (size_t i = 0; i < running && used < sizeof(line); i++) {
		char title[512], elapsed[16];

		matrix_cell_title(title, sizeof(title), matrix, processes[i].cell);
		duration_format(elapsed, sizeof(elapsed), now_ns - processes[i].started_ns);
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s %s%s (%s)",
					 i ? ";" : "", title, processes[i].again ? ", again" : "",
					 elapsed);
	}
	status_line_show(progress, "%s", line);
}
