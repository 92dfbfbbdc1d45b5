/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Because of whom threads waited: as text, and by its schema. */
#ifndef DWELL_VIEW_BLAME_H
#define DWELL_VIEW_BLAME_H

#include "emit/schema.h"
#include "model/blame.h"

/* Of struct blame; getters take the session as context. */
extern const struct schema blame_schema;

/* What the culprit did meanwhile, which is known: "disk", …; "cpu" where it ran. */
const char *blame_meanwhile_key(const struct blame *blame);

/* "thread", "throttle", … */
const char *culprit_key(enum wire_culprit_kind kind);

#endif
