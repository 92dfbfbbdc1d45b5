/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of which command a file, or a directory, of measurements is. */
#ifndef DWELL_RESULTS_MEASUREMENT_KIND_H
#define DWELL_RESULTS_MEASUREMENT_KIND_H

#include "base/cleanup.h"
#include "base/error.h"

enum measurement_kind {
	MEASURED_BLOCKED, /* and unknown ones: who reads them reports them */
	MEASURED_LOAD,
	MEASURED_THREADS,
	MEASURED_ANY, /* a pipe, which can be read once only */
};

/* The command's name. */
extern const char *const measurement_kinds[];

/* Of two that are to be compared: a pipe is taken to be what the other one is. */
int measurement_kinds_of(const char *const paths[2], enum measurement_kind kinds[2],
			 struct error *error) must_check;

#endif
