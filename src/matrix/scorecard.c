// SPDX-License-Identifier: GPL-2.0-or-later
#include "matrix/scorecard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "matrix/card.h"
#include "view/compare.h"

/* The last column that has anything. */
static int last_of(const struct card_row *row)
{
	int last = CARD_COLUMNS - 1;

	while (last > 0 && !*row->cells[last])
		last--;
	return last;
}

/* On a terminal: what has to be decided, and what a scheduler does better or worse. */
static bool is_worth_showing(const struct matrix_scores *scores, size_t number)
{
	struct load_question question;
	size_t first = number;

	load_question_init(&question);
	if (question.decisive & 1U << scores->items[number].metric)
		return true;
	while (!card_is_first(scores->items, first))
		first--;
	for (size_t i = first;
	     i < scores->count && (i == first || !card_is_first(scores->items, i)); i++)
		if (scores->items[i].change.verdict == LOAD_WORSE ||
		    scores->items[i].change.verdict == LOAD_BETTER)
			return true;
	return false;
}

void scorecard_table(struct output *out, const struct matrix *matrix,
		     const struct matrix_scores *scores)
{
	const struct card card = {matrix, scores};
	size_t widths[CARD_COLUMNS];
	struct card_row row;

	/* of single runs there is nothing to be said by chance, and much to be shown */
	if (!scores->count || matrix->repeat < 2)
		return;
	for (int c = 0; c < CARD_COLUMNS; c++)
		widths[c] = strlen(card_headings[c]);
	for (size_t i = 0; i < scores->count; i++) {
		card_row_make(&row, &card, i);
		for (int c = 0; c < CARD_COLUMNS; c++)
			if (row.columns[c] > widths[c])
				widths[c] = row.columns[c];
	}
	output_char(out, '\n');
	for (size_t i = 0; i <= scores->count; i++) {
		if (i && !is_worth_showing(scores, i - 1))
			continue;
		if (i)
			card_row_make(&row, &card, i - 1);
		for (int c = 0; c < CARD_COLUMNS && (!i || c <= last_of(&row)); c++) {
			const char *text = i ? row.cells[c] : card_headings[c];
			size_t pad = widths[c] - (i ? row.columns[c] : strlen(text));

			output_string(out, c ? "  " : "");
			if (card_is_to_the_right(c))
				output_format(out, "%*s%s", (int)pad, "", text);
			else if (c == CARD_COLUMNS - 1)
				output_string(out, text);
			else
				output_format(out, "%s%*s", text, (int)pad, "");
		}
		output_char(out, '\n');
	}
	output_char(out, '\n');
	card_write_ranks(out, &card, output_string);
	output_char(out, '\n');
	card_write_notes(out, &card, "\n");
	if (!scores->has_intervals && matrix->schedulers.count > 1 &&
	    matrix->repeat < load_runs_least(LOAD_ALPHA, true))
		output_format(out,
			      "%u run%s of each cannot distinguish a change from chance: `repeat: "
			      "%u` or more can\n",
			      matrix->repeat, matrix->repeat == 1 ? "" : "s",
			      load_runs_least(LOAD_ALPHA, true));
}

int scorecard_check(const char *path, struct error *error)
{
	return text_ending(path, ".md") || text_ending(path, ".html")
		       ? 0
		       : error_set(error, EINVAL,
				   "--scorecard %s: the name ends in .md or .html, which says what "
				   "it is to be",
				   path);
}

int scorecard_write(const char *path, const struct matrix *matrix, struct error *error)
{
	struct matrix_scores scores = {.items = NULL};
	struct provenance provenance = {.count = 0};
	const struct card card = {matrix, &scores};
	struct output out;
	int result;

	if (output_init(&out, -1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	result = matrix_scores_make(&scores, matrix);
	if (result >= 0) {
		provenance_find(&provenance, matrix);
		if (text_ending(path, ".md"))
			card_write_markdown(&out, &card, &provenance);
		else
			card_write_html(&out, &card, &provenance);
	}
	if (result < 0 || out.error)
		result = error_set(error, ENOMEM, "out of memory");
	else
		result = file_replace(path, out.buffer, out.used, error);
	matrix_scores_release(&scores);
	output_release(&out);
	return result;
}
