/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multiplications of matrices of a given footprint, as schbench computes. */
#ifndef DWELL_LOAD_WORK_MATRICES_H
#define DWELL_LOAD_WORK_MATRICES_H

#include "load/worker.h"

#define MATRICES_MIN_BYTES 24 /* of one cell each */

struct matrices;

/* Three of them in `bytes`, at least MATRICES_MIN_BYTES. NULL: no memory, which is a failure. */
struct matrices *matrices_make(struct worker *worker, uint64_t bytes);
void matrices_free(struct matrices *matrices);

/* The plain way: it is to use the cache badly. False: stopped. */
bool matrices_multiply(struct matrices *matrices);

#endif
