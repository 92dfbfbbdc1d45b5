/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings as sentences, the same on screens, in reports and in JSON; and by their schema. */
#ifndef DWELL_VIEW_FINDINGS_H
#define DWELL_VIEW_FINDINGS_H

#include "emit/schema.h"
#include "base/output.h"
#include "model/findings.h"

#define FINDING_BYTES VALUE_TEXT_BYTES

/* Of struct finding; getters take the session as context. */
extern const struct schema finding_schema;

/* "8 threads of web waited 2.31s for locks (58 % of its active time): held by http-4 …" */
void finding_format(char into[FINDING_BYTES], const struct finding *finding,
		    const struct session_info *session);

/* The same for a narrow line: without the share, and with the largest cause only. */
void finding_format_brief(char into[FINDING_BYTES], const struct finding *finding,
			  const struct session_info *session);

/* A line each, wrapped at words to the terminal's `columns`; 0: not. */
void findings_write(struct output *out, const struct findings *findings,
		    const struct session_info *session, size_t columns);

#endif
