// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/print.h"
#include "base/text.h"

void matrix_progress_init(struct matrix_progress *progress)
{
	*progress = (struct matrix_progress){.shown = isatty(STDERR_FILENO)};
}

void matrix_progress_clear(struct matrix_progress *progress)
{
	if (progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
}

/* A line that wraps could not be cleared. */
static size_t terminal_columns(void)
{
	struct winsize size;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

void matrix_progress_cell(struct matrix_progress *progress, const struct matrix *matrix,
			  const struct matrix_cell *cell)
{
	char title[512], elapsed[16], line[1536], shown[1024], again[512];

	if (!progress->shown)
		return;
	matrix_progress_clear(progress);
	matrix_cell_title(title, sizeof(title), matrix, cell);
	matrix_again_format(again, sizeof(again), &cell->again);
	duration_format(elapsed, sizeof(elapsed), cell->elapsed_ns);
	if (*again)
		snprintf(line, sizeof(line), "%s: %s", title, again);
	else
		snprintf(line, sizeof(line), "%-12s %6s  %s%s%s", matrix_verdicts[cell->verdict],
			 elapsed, title, cell->reason ? ": " : "",
			 cell->reason ? cell->reason : "");
	text_printable(shown, sizeof(shown), line, terminal_columns() - 1);
	print_text(stderr, "%s\n", shown);
}

void matrix_progress_show(struct matrix_progress *progress, const struct matrix *matrix,
			  const struct matrix_process *processes, size_t running)
{
	size_t counts[MATRIX_VERDICTS], used;
	uint64_t now_ns = clock_monotonic_ns();
	char line[1024], shown[1024];

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
	text_printable(shown, sizeof(shown), line, terminal_columns() - 1);
	print_text(stderr, "\r%s\033[K", shown);
	progress->drawn = true;
}
