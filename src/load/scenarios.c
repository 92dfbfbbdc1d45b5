// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/scenarios.h"

#include <errno.h>
#include <string.h>

#include "base/similar.h"

const struct scenario scenarios[] = {
#define TEXT(name, text) {name, text},
#include "scenarios.inc"
#undef TEXT
	{NULL, NULL},
};

const struct scenario *scenario_find(const char *name)
{
	for (const struct scenario *scenario = scenarios; scenario->name; scenario++)
		if (!strcmp(scenario->name, name))
			return scenario;
	return NULL;
}

int scenario_unknown(const char *name, struct error *error)
{
	struct similar similar = {.wanted = name};

	for (const struct scenario *scenario = scenarios; scenario->name; scenario++)
		similar_try(&similar, scenario->name);
	return similar_error(error, ENOENT, &similar, "; `dwell load --list` shows them all",
			     "no file and no built-in scenario is named '%s'", name);
}
