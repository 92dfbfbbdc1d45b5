/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What many guests came to, as text and as JSON. */
#ifndef DWELL_VIEW_GUEST_H
#define DWELL_VIEW_GUEST_H

#include "base/json.h"
#include "guest/matrix.h"

/* Which kernel and topology fails under which scheduler, why, and how to run that one alone. */
int guest_matrix_table(struct output *out, const struct matrix *matrix) must_check;

/* One object: docs/formats/json.md. */
int guest_matrix_json(struct output *out, const struct matrix *matrix) must_check;

/* The part of it that distinguishes one matrix from another. */
void guest_matrix_identity(struct json *json, const char *key, const struct matrix *matrix);

/* "3 pass, 1 died, 2 skipped" */
void guest_matrix_counts(char *into, size_t room, const struct matrix *matrix);

/* Names of topologies. */
void guest_presets_table(struct output *out);

#endif
