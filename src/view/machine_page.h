/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of a machine, src/view/page/machine.html: what its threads did over time, by group, and
 * who made whom wait. `dwell serve` serves it, and it asks for what it shows; of a recording it is
 * a file with everything in it. docs/formats/json.md, "The page", is the contract of its data.
 */
#ifndef DWELL_VIEW_MACHINE_PAGE_H
#define DWELL_VIEW_MACHINE_PAGE_H

#include "model/findings.h"
#include "model/interval.h"
#include "view/periods.h"
#include "view/serve.h"

struct machine_page {
	const struct serve_status *status;
	const struct periods *periods; /* of one level */
	const struct findings *findings;
	const struct interval *programs; /* all of it, by program, the most active first */
	const char *file;		 /* name of the recording */
	const char *damage;		 /* what of it could not be read; NULL: nothing */
};

/* Of what is measured now, for the part that needs no JavaScript. */
struct machine_page_live {
	const struct counters *counters;
	const struct session_info *session;
	const struct findings *findings;
};

void machine_page_write_live(struct output *out, const struct machine_page_live *page);

/* 0 or -ENOMEM; what cannot be written stays in output.error. */
int machine_page_write(struct output *out, const struct machine_page *page) must_check;

#endif
