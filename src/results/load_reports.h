/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what `dwell load --json` printed, or --save kept. */
#ifndef DWELL_RESULTS_LOAD_REPORTS_H
#define DWELL_RESULTS_LOAD_REPORTS_H

#include "load/side.h"

#define LOAD_REPORT_NAME "report.json"

/*
 * All runs of `path`: a file of one or more; a directory with a report; or one whose directories
 * have one each. Runs that are not whole are counted, not taken; none at all is an error (but of a
 * side that wants certain ones `only`), as is anything that is not as docs/formats/json.md says.
 */
int load_reports_read(struct load_side *side, const char *path, struct error *error) must_check;

#endif
