/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the interval that `dwell report` writes has besides: how it went on over the recording. */
#ifndef DWELL_VIEW_REPORT_FIELDS_H
#define DWELL_VIEW_REPORT_FIELDS_H

#include "emit/schema.h"
#include "model/summary.h"

/* Context: the summary; the row is the period's number, an unsigned int. */
extern const struct schema period_schema;

/* Context: the session. */
extern const struct schema worst_schema;

#endif
