/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions from which a process waits for events: those of its event loops. */
#ifndef DWELL_CAPTURE_SPAN_LOOPS_H
#define DWELL_CAPTURE_SPAN_LOOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/span_stacks.h"

#define LOOP_FUNCTIONS 64

/* All zeros is empty. */
struct span_loops {
	struct loop_function {
		uint64_t hash, file; /* file: the kernel's, which it waits for; 0: not known */
		uint32_t tid;
		bool is_shared; /* another thread waits there, or for that file, too */
	} functions[LOOP_FUNCTIONS];
	size_t count;
};

/* `tid` waits for events with these functions on its stack. */
void span_loops_note(struct span_loops *loops, const struct span_signs *signs, uint32_t tid,
		     uint64_t file);

/* That of the innermost function; NULL: it does not wait for events. */
const struct loop_function *span_loops_find(const struct span_loops *loops,
					    const struct span_signs *signs);

#endif
