// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "matrix/card.h"
#include "matrix/table.h"
#include "view/compare.h"

static const char html_head[] =
	"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
	"<meta name=\"viewport\" content=\"width=device-width\">"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">"
	"<style>:root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;margin:2em "
	"auto;max-width:72em;padding:0 1em}table{border-collapse:collapse;display:block;overflow-x:"
	"auto}th,td{padding:.15em .8em;text-align:left;white-space:nowrap}th{border-bottom:1px "
	"solid}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}tr.f td{border-top:1px "
	"solid light-dark(#ddd,#444)}.worse{color:light-dark(#b00020,#ff8a80)}.better{color:light-"
	"dark(#0a7d28,#7bd88f)}.undecided{color:light-dark(#666,#aaa)}</style>";

static void write_failures(struct output *out, const struct matrix *matrix)
{
	char text[CARD_FAILURE];

	output_string(out, "<ul>");
	for (size_t i = 0; i < matrix->cell_count; i++)
		if (card_failure(text, matrix, &matrix->cells[i])) {
			output_string(out, "<li>");
			text_html(out, text);
		}
	output_string(out, "</ul>");
}

void card_write_html(struct output *out, const struct card *card,
		     const struct provenance *provenance)
{
	const struct matrix *matrix = card->matrix;
	char counts[160];
	struct card_row row;

	output_string(out, html_head);
	output_string(out, "<title>");
	text_html(out, matrix->name);
	output_string(out, "</title></head><body><h1>");
	text_html(out, matrix->name);
	output_string(out, "</h1><ul>");
	for (size_t i = 0; i < provenance->count; i++) {
		output_string(out, "<li>");
		text_html(out, provenance->lines[i]);
	}
	matrix_counts(counts, sizeof(counts), matrix);
	output_format(out, "</ul><p>Verdicts: %s.</p>", counts);
	write_failures(out, matrix);
	output_string(out, "<table><tr>");
	for (int c = 0; c < CARD_COLUMNS; c++)
		output_format(out, "<th%s>%s", card_is_to_the_right(c) ? " class=\"n\"" : "",
			      card_headings[c]);
	for (size_t i = 0; i < card->scores->count; i++) {
		card_row_make(&row, card, i);
		output_string(out, row.is_first ? "\n<tr class=\"f\">" : "\n<tr>");
		for (int c = 0; c < CARD_COLUMNS; c++) {
			const char *verdict = compare_verdicts[row.verdict];

			if (card_is_to_the_right(c))
				output_string(out, "<td class=\"n\">");
			else if (c == CARD_COLUMNS - 1 && verdict)
				output_format(out, "<td class=\"%s\">", verdict);
			else
				output_string(out, "<td>");
			text_html(out, row.cells[c]);
		}
	}
	output_string(out, "</table><p>");
	card_write_ranks(out, card, text_html);
	output_string(out, "</p><p>");
	card_write_notes(out, card, "<br>");
	output_string(out, "</p></body></html>\n");
}
