/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One snapshot of a source, with the threads that are ending meanwhile. */
#ifndef DWELL_SESSION_SNAPSHOT_H
#define DWELL_SESSION_SNAPSHOT_H

#include "capture/source.h"
#include "model/interval.h"

/*
 * The source's records go to its sink, which feeds `intervals`. A thread that has left the process
 * table sends its totals with its last switch: dwell waits a moment for it.
 */
int snapshot_take(struct source *source, const struct intervals *intervals, bool final,
		  struct error *error) must_check;

#endif
