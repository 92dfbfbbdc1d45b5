/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a load does at several values of one of its numbers, as text and as JSON. */
#ifndef DWELL_VIEW_SWEEP_H
#define DWELL_VIEW_SWEEP_H

#include "base/output.h"
#include "emit/emit.h"
#include "load/sweep.h"

/* How the runs were made. */
struct sweep_course {
	const char *spec; /* its name */
	uint64_t seed;
	uint64_t elapsed_ns;
	unsigned int rounds_wanted;
	unsigned int runs; /* that came to their end */
	enum sweep_end {
		SWEEP_COMPLETE,
		SWEEP_INTERRUPTED,
		SWEEP_FAILED, /* runs did not come to their end, several in a row */
	} end;
};

void sweep_table(struct output *out, const struct sweep *sweep, const struct sweep_course *course);

/* A sentence for each curve that was measured, each on a line of its own. */
void sweep_sentences(struct output *out, const struct sweep *sweep);

extern const struct schema sweep_schema;

/* As emit_result(), of `sweep_schema`; in formats of rows the groups of each step. */
void sweep_emit(const struct emit *emit, const struct sweep *sweep,
		const struct sweep_course *course);

#endif
