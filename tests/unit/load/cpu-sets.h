/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of CPUs from texts, and back. */
#ifndef DWELL_UNIT_LOAD_CPU_SETS_H
#define DWELL_UNIT_LOAD_CPU_SETS_H

#include "load/topology.h"

static inline struct cpus set(const char *text)
{
	struct cpus cpus = {{0}};
	struct error error = {""};

	if (cpus_parse(text, &cpus, &error) < 0)
		fail_msg("%s", error.text);
	return cpus;
}

static inline const char *shown(const struct cpus *cpus)
{
	static char text[CPUS_TEXT];

	cpus_format(text, sizeof(text), cpus);
	return text;
}

#define assert_cpus(cpus, text) assert_string_equal(shown(cpus), text)

#endif
