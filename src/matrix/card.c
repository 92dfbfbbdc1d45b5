// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/card.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "matrix/sessions.h"
#include "view/compare.h"
#include "view/compare_words.h"

#define NAME_COLUMNS  40
#define METRIC_COLUMN 2

const char *const card_headings[CARD_COLUMNS] = {"WHERE",  "GROUP",  "METRIC",		"SCHEDULER",
						 "MEDIAN", "CHANGE", "WITHIN, AT 95 %", "VERDICT"};

static void put(struct card_row *row, int column, const char *text)
{
	row->columns[column] =
		text_printable(row->cells[column], CARD_CELL_BYTES, text, NAME_COLUMNS);
}

bool card_is_first(const struct matrix_score *scores, size_t number)
{
	const struct matrix_score *score = &scores[number], *before = &scores[number - 1];

	return !number || score->kernel != before->kernel || score->topology != before->topology ||
	       score->group != before->group || score->metric != before->metric;
}

/* Of the group; where it is, and which, is said once. */
static void put_place(struct card_row *row, const struct matrix *matrix,
		      const struct matrix_scores *scores, size_t number)
{
	const struct matrix_score *score = &scores->items[number];
	const struct matrix_score *before = number ? score - 1 : NULL;
	bool same_place =
		before && before->kernel == score->kernel && before->topology == score->topology;
	char text[CARD_CELL_BYTES];

	snprintf(text, sizeof(text), "%s%s%s",
		 matrix->kernels.count > 1 ? matrix_kernel_name(matrix, score->kernel) : "",
		 matrix->kernels.count > 1 ? ", " : "", matrix->topologies[score->topology].name);
	if (!same_place)
		put(row, 0, text);
	snprintf(text, sizeof(text), "%s%s%s", score->group->cgroup,
		 *score->group->cgroup ? " " : "", score->group->work);
	if (!same_place || before->group != score->group)
		put(row, 1, text);
	if (row->is_first)
		put(row, METRIC_COLUMN, load_metrics[score->metric].key);
}

void card_row_make(struct card_row *row, const struct card *card, size_t number)
{
	const struct matrix *matrix = card->matrix;
	const struct matrix_scores *scores = card->scores;
	const struct matrix_score *score = &scores->items[number];
	char text[CARD_CELL_BYTES];

	*row = (struct card_row){.is_first = card_is_first(scores->items, number),
				 .verdict = score->change.verdict};
	put_place(row, matrix, scores, number);
	put(row, 3, matrix_scheduler_name(matrix, score->scheduler));
	load_metric_format(text, sizeof(text), score->metric, score->median);
	put(row, 4, text);
	if (score->is_baseline)
		return;
	compare_share(text, sizeof(text), score->change.relative);
	put(row, 5, text);
	compare_interval(text, sizeof(text), score->change.low, score->change.high);
	put(row, 6, text);
	put(row, 7,
	    compare_verdicts[score->change.verdict] ? compare_verdicts[score->change.verdict]
						    : "-");
}

bool card_is_to_the_right(int column)
{
	return column >= 4 && column <= 6;
}

/* Where none is, an order of the medians would be one of chance. */
static bool any_decided(const struct matrix_scores *scores)
{
	for (size_t i = 0; i < scores->count; i++)
		if (scores->items[i].change.verdict == LOAD_BETTER ||
		    scores->items[i].change.verdict == LOAD_WORSE)
			return true;
	return false;
}

void card_write_ranks(struct output *out, const struct card *card, card_text_writer write)
{
	const struct matrix *matrix = card->matrix;
	const struct matrix_scores *scores = card->scores;
	const char *before = "";

	if (!any_decided(scores)) {
		if (scores->count)
			output_string(out, "no ranking: nothing is better or worse");
		return;
	}
	for (size_t i = 0; scores->mean_ranks && i < matrix->schedulers.count; i++) {
		char name[CARD_CELL_BYTES];

		if (isnan(scores->mean_ranks[i]))
			continue;
		text_printable(name, sizeof(name), matrix_scheduler_name(matrix, i), NAME_COLUMNS);
		output_string(out, before);
		write(out, name);
		output_format(out, " %.2f", scores->mean_ranks[i]);
		before = ", ";
	}
	if (*before)
		output_string(out, " (mean rank in throughput, wakeups and waits for a CPU)");
}

void card_write_notes(struct output *out, const struct card *card, const char *between)
{
	const struct matrix_scores *scores = card->scores;

	/* `between` has line ends, which a format would take for hostile */
	if (scores->comparisons > 1) {
		output_format(out,
			      "%zu comparisons, each with %.0f %% confidence: chance alone makes "
			      "%.1f of them better or worse.",
			      scores->comparisons, 100 * (1 - LOAD_ALPHA),
			      LOAD_ALPHA * (double)scores->comparisons);
		output_string(out, between);
	}
	if (scores->apart) {
		output_format(out,
			      "%zu run%s not compared: the baseline's ran before or after a "
			      "--resume, when the machine may have been another, or one of the two "
			      "was emulated and the other was not.",
			      scores->apart, scores->apart == 1 ? " is" : "s are");
		output_string(out, between);
	}
	if (matrix_sessions_differ(card->matrix)) {
		output_string(out, "the runs are of different versions of dwell, which may not "
				   "measure alike.");
		output_string(out, between);
	}
}

bool card_failure(char into[CARD_FAILURE], const struct matrix *matrix,
		  const struct matrix_cell *cell)
{
	char title[512], again[1024];

	if (!matrix_verdict_is_failure(cell->verdict))
		return false;
	matrix_cell_title(title, sizeof(title), matrix, cell);
	matrix_again_format(again, sizeof(again), &cell->again);
	snprintf(into, CARD_FAILURE, "%s: %.400s%s%.400s%s%s", matrix_verdicts[cell->verdict],
		 title, cell->reason ? ": " : "", cell->reason ? cell->reason : "",
		 *again ? "; " : "", again);
	return true;
}
