/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages for browsers, which have their data as JSON in an element of their own. */
#ifndef DWELL_VIEW_PAGE_H
#define DWELL_VIEW_PAGE_H

#include "base/output.h"

/* JSON, in which no text begins an element: names come from the programs under study. */
void page_write_data(struct output *out, const struct output *data);

#endif
