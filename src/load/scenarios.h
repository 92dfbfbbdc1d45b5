/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Built-in specs: one file each in load/scenarios/. */
#ifndef DWELL_LOAD_SCENARIOS_H
#define DWELL_LOAD_SCENARIOS_H

#include "base/error.h"

struct scenario {
	const char *name;
	const char *text; /* YAML */
};

extern const struct scenario scenarios[]; /* ends with a NULL name */

/* NULL: there is none. */
const struct scenario *scenario_find(const char *name);

/* -ENOENT: neither a file nor a scenario, with a guess at what was meant. */
int scenario_unknown(const char *name, struct error *error);

#endif
