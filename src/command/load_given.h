/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command line of `dwell load` adds to a spec, when it has come to its end. */
#ifndef DWELL_COMMAND_LOAD_GIVEN_H
#define DWELL_COMMAND_LOAD_GIVEN_H

#include <stdint.h>

#include "base/error.h"
#include "load/spec.h"

struct load_given {
	const char *path;	/* of the spec; NULL: it has groups by --work */
	uint64_t duration_ns;	/* 0: as the spec says */
	const char *checks[64]; /* which they add to */
	unsigned int check_count;
	const char *sets[64]; /* NAME=VALUE: load/spec_set.h */
	unsigned int set_count;
	const char *seed;
};

/* Reads the spec, if it is a file or a scenario, and adds the rest. -errno with the mistake. */
int load_given_add(const struct load_given *given, struct spec *spec,
		   struct error *error) must_check;

#endif
