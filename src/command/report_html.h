/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell report --format html`: a recording as a page for a browser. */
#ifndef DWELL_COMMAND_REPORT_HTML_H
#define DWELL_COMMAND_REPORT_HTML_H

#include "command/report_page.h"

struct report_html;

/* Of a recording that lasts so long, about. NULL: no memory. */
struct report_html *report_html_new(uint64_t duration_ns);
void report_html_free(struct report_html *html);

/* Takes an interval by thread. 0 or -ENOMEM. */
int report_html_add(struct report_html *html, const struct interval *interval) must_check;

/* After summary_end(). Leaves the summary's rows by program. */
int report_html_write(struct report_html *html, struct report *report,
		      struct error *error) must_check;

#endif
