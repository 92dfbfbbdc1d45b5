/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the formats of a scorecard have in common: its rows, and what the figures are of. */
#ifndef DWELL_MATRIX_CARD_H
#define DWELL_MATRIX_CARD_H

#include "base/output.h"
#include "matrix/scores.h"

#define CARD_COLUMNS	8
#define CARD_CELL_BYTES 256
#define CARD_LINES	64
#define CARD_FAILURE	2048

struct card {
	const struct matrix *matrix;
	const struct matrix_scores *scores;
};

/* A row of any of the formats. */
struct card_row {
	char cells[CARD_COLUMNS][CARD_CELL_BYTES];
	size_t columns[CARD_COLUMNS];
	bool is_first; /* of its kernel, topology, group and metric */
	enum load_verdict verdict;
};

extern const char *const card_headings[CARD_COLUMNS];

void card_row_make(struct card_row *row, const struct card *card, size_t number);

/* Whether a score is the first of its kernel, topology, group and metric. */
bool card_is_first(const struct matrix_score *scores, size_t number);

/* Columns of numbers are. */
bool card_is_to_the_right(int column);

/* Names are those of files: each format makes them harmless in its own way. */
typedef void (*card_text_writer)(struct output *out, const char *text);

/* Of the schedulers, over all groups; nothing where there are no scores. */
void card_write_ranks(struct output *out, const struct card *card, card_text_writer write);

/* How many comparisons chance may have decided, and which runs are not compared; `between` each. */
void card_write_notes(struct output *out, const struct card *card, const char *between);

/* Of a cell that failed: "died: tiny-2llc, scx_mine: stall; when repeated: ..."; else false. */
bool card_failure(char into[CARD_FAILURE], const struct matrix *matrix,
		  const struct matrix_cell *cell);

/* Of what the figures are: one line each. In provenance.c. */
struct provenance {
	char lines[CARD_LINES][CARD_CELL_BYTES];
	size_t count;
};

void provenance_find(struct provenance *provenance, const struct matrix *matrix);

/* For a mailing list, and for a browser. */
void card_write_markdown(struct output *out, const struct card *card,
			 const struct provenance *provenance);
void card_write_html(struct output *out, const struct card *card,
		     const struct provenance *provenance);

#endif
