/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell report` writes. */
#ifndef DWELL_COMMAND_REPORT_PAGE_H
#define DWELL_COMMAND_REPORT_PAGE_H

#include "capture/recording.h"
#include "command/result_options.h"
#include "model/group.h"
#include "model/summary.h"
#include "view/fields.h"
#include "view/findings.h"

struct report {
	struct recording_choice choice;
	const char **paths; /* of choice */
	size_t path_room;
	struct result_options output;
	enum report_form {
		REPORT_OF_ROWS, /* as `output` says */
		REPORT_HTML,
		REPORT_CLICKHOUSE,
	} form;
	struct report_html *html; /* what a form needs besides the summary */
	struct report_clickhouse *clickhouse;
	uint64_t every_ns; /* of REPORT_CLICKHOUSE; 0: each interval */
	enum grouping by;
	bool by_given;		  /* the page has these rows alone */
	const struct field *sort; /* of rows; NULL: by active time, or as output.order has it */
	struct summary summary;
	struct findings findings;
	struct output out;
	struct wire_child child; /* size 0: none */
};

/* The page of a file of so many `bytes`. */
int report_write_page(struct report *report, uint64_t bytes, struct error *error) must_check;

/* Rows alone, in a format for programs. */
int report_write_rows(struct report *report, struct error *error) must_check;

#endif
