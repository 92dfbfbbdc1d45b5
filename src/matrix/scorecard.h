/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How schedulers compare, for people: on the terminal, for a mailing list, in a browser. */
#ifndef DWELL_MATRIX_SCORECARD_H
#define DWELL_MATRIX_SCORECARD_H

#include "base/error.h"
#include "matrix/scores.h"

/* Below the table of verdicts. Nothing where there are no scores. */
void scorecard_table(struct output *out, const struct matrix *matrix,
		     const struct matrix_scores *scores);

/*
 * A file of its own, by the ending of `path`: .md (Markdown) or .html (one file that loads
 * nothing). With verdicts, scores, and of what they are. -EINVAL: another ending.
 */
int scorecard_check(const char *path, struct error *error) must_check;
int scorecard_write(const char *path, const struct matrix *matrix, struct error *error) must_check;

#endif
