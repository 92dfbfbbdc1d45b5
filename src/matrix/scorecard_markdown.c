// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "matrix/card.h"
#include "matrix/table.h"

/* Names are of users' files: nothing in them is markup. */
static void write_text(struct output *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_{}[]<>|#", *text))
			output_char(out, '\\');
		output_char(out, *text);
	}
}

/* Those that failed, and what is kept of it. */
static void write_failures(struct output *out, const struct matrix *matrix)
{
	char text[CARD_FAILURE];
	bool some = false;

	for (size_t i = 0; i < matrix->cell_count; i++) {
		if (!card_failure(text, matrix, &matrix->cells[i]))
			continue;
		output_string(out, "- ");
		write_text(out, text);
		output_char(out, '\n');
		some = true;
	}
	output_string(out, some ? "\n" : "");
}

void card_write_markdown(struct output *out, const struct card *card,
			 const struct provenance *provenance)
{
	const struct matrix *matrix = card->matrix;
	char counts[160];
	struct card_row row;

	output_string(out, "# ");
	write_text(out, matrix->name);
	output_string(out, "\n\n");
	for (size_t i = 0; i < provenance->count; i++) {
		output_string(out, "- ");
		write_text(out, provenance->lines[i]);
		output_char(out, '\n');
	}
	matrix_counts(counts, sizeof(counts), matrix);
	output_format(out, "\nVerdicts: %s.\n\n", counts);
	write_failures(out, matrix);
	for (size_t i = 0; i <= card->scores->count + 1; i++) {
		if (i > 1)
			card_row_make(&row, card, i - 2);
		for (int c = 0; c < CARD_COLUMNS; c++) {
			output_string(out, c ? " | " : "| ");
			if (i == 1)
				output_string(out, card_is_to_the_right(c) ? "---:" : "---");
			else
				write_text(out, i ? row.cells[c] : card_headings[c]);
		}
		output_string(out, " |\n");
	}
	output_char(out, '\n');
	card_write_ranks(out, card, write_text);
	output_string(out, "\n\n");
	card_write_notes(out, card, "\n\n");
}
