/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell verify` found. */
#ifndef DWELL_VIEW_VERIFY_H
#define DWELL_VIEW_VERIFY_H

#include "emit/emit.h"
#include "verify/verify.h"
#include "view/verify_schema.h"

/* The page of text; `all`: also patterns that passed. */
void verify_table(struct output *out, const struct verification *result, bool all);

#endif
