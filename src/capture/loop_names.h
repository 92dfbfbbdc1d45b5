/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event loops by the names of their functions. */
#ifndef DWELL_CAPTURE_LOOP_NAMES_H
#define DWELL_CAPTURE_LOOP_NAMES_H

#include <stdbool.h>

#include "symbol/symbolizer.h"

/*
 * Whether a function is what goes round in an event loop, or starts one and comes back when it
 * ends: a thread that has it on its stack has a loop, also where it was never seen to wait for
 * events.
 */
bool loop_is_in(const struct symbol_frame *frame);

/* Whether it starts such a function for a pool of threads: what goes round there runs jobs. */
bool loop_is_of_pool(const struct symbol_frame *frame);

/*
 * Whether it is one of a library that has loops: where it waits for other threads, that is for one
 * that has the loop, or for a job, and no handler does.
 */
bool loop_waits_by(const struct symbol_frame *frame);

#endif
