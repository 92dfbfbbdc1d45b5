/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the process that `dwell blocked` watches is still there, and still the same program. */
#ifndef DWELL_COMMAND_BLOCKED_PROGRAM_H
#define DWELL_COMMAND_BLOCKED_PROGRAM_H

#include "command/blocked_live.h"

/* All zeros: not known. */
struct blocked_program blocked_program_of(uint32_t pid);

/* After an interval: whether the process has ended in it. */
void blocked_note_end(struct blocked *blocked, const struct interval *interval);

/*
 * After an interval: whether it has become another program. Its probes are in the files of the
 * program before, and its workers are others.
 */
void blocked_note_exec(struct blocked *blocked);

/* A sentence about that. */
#define BLOCKED_EXECUTED_BYTES 256
void blocked_executed_text(char text[BLOCKED_EXECUTED_BYTES], const struct span_options *spans);

#endif
