/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A measurement of blocked workers, as one side of a comparison. */
#ifndef DWELL_RESULTS_BLOCKED_SIDE_H
#define DWELL_RESULTS_BLOCKED_SIDE_H

#include "base/error.h"
#include "model/comparison.h"

/*
 * From a recording, or from the lines of `dwell blocked --json`. What was announced to the runtime
 * is left out, and what the machine did: no version of a program is better or worse for it.
 */
int blocked_side_read(struct compared_side *side, const char *path, struct error *error) must_check;

#endif
