/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell verify` reports as JSON, for those who write it and read it back. */
#ifndef DWELL_VIEW_VERIFY_SCHEMA_H
#define DWELL_VIEW_VERIFY_SCHEMA_H

#include "emit/schema.h"

/* The row is a struct verification. */
extern const struct schema verify_schema;

/* Of its `results`; the row is a struct pattern_result. */
extern const struct schema verify_pattern_schema;

#endif
