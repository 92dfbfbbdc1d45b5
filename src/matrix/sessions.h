/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where cells were run, and by which dwell: parts and resumed runs may come from other machines. */
#ifndef DWELL_MATRIX_SESSIONS_H
#define DWELL_MATRIX_SESSIONS_H

#include "matrix/matrix.h"

/* From now on cells are run here: sets matrix.session_ns. -ENOMEM. */
int matrix_session_begin(struct matrix *matrix) must_check;

/* One that a file has; nothing where it is there already. They are kept by when they began. */
int matrix_session_add(struct matrix *matrix, const struct matrix_session *session) must_check;

/* NULL: it is not recorded. */
const struct matrix_session *matrix_session_find(const struct matrix *matrix, uint64_t began_ns);

/* How many cells it has run; of NULL those of which it is not recorded who did. */
size_t matrix_session_runs(const struct matrix *matrix, const struct matrix_session *session);

/* Whether cells are known to have been run by different versions of dwell. */
bool matrix_sessions_differ(const struct matrix *matrix);

#endif
