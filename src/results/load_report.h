/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes the JSON lines of `dwell load` to what is compared: docs/formats/json.md. */
#ifndef DWELL_RESULTS_LOAD_REPORT_H
#define DWELL_RESULTS_LOAD_REPORT_H

#include <jansson.h>

#include "load/side.h"

struct worker_line;

/* All zeros but `side` is new. */
struct load_report {
	struct load_side *side;
	/* its own: the workers of the run whose line has not come yet */
	struct worker_line *workers;
	size_t worker_count, worker_room;
	struct error *error;
};

/*
 * The next line. That of a run adds it to the side, or counts it where it is not whole. Nothing in
 * a line is believed: -EBADMSG.
 */
int load_report_take(struct load_report *report, const json_t *line,
		     struct error *error) must_check;

/* Workers without their run: the end is missing. */
bool load_report_is_open(const struct load_report *report);
void load_report_release(struct load_report *report);

#endif
