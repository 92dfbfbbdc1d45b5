/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that JSON can have, as a JSON Schema: docs/formats/schema.json. */
#ifndef DWELL_EMIT_SCHEMA_JSON_H
#define DWELL_EMIT_SCHEMA_JSON_H

#include "base/cleanup.h"
#include "emit/schema.h"

/* `results` ends with NULL. 0 or -ENOMEM. */
int schema_json(struct output *out, const struct schema *const *results) must_check;

#endif
