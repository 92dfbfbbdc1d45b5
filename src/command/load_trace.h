/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace of a run that failed. */
#ifndef DWELL_COMMAND_LOAD_TRACE_H
#define DWELL_COMMAND_LOAD_TRACE_H

#include "command/load_here.h"

/* Where there is a place for one, and, unless a file is named, a scheduler is under test. */
bool load_trace_wanted(const struct load_options *options);

/*
 * Of a run that did not pass: the file, and its name in outcome->trace. Nothing to do where none
 * was kept.
 */
int load_trace_write(const struct load *load, struct outcome *outcome,
		     struct error *error) must_check;

#endif
