/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where records go. */
#ifndef DWELL_CAPTURE_SINK_H
#define DWELL_CAPTURE_SINK_H

#include <stdio.h>

#include "base/cleanup.h"
#include "bpf/wire.h"

/* Takes each record; 0, or a negative errno that ends the reading. */
struct record_sink {
	int (*record)(void *data, const struct wire_header *record);
	void *data;
};

static inline must_check int sink_send(struct record_sink sink, const struct wire_header *record)
{
	return sink.record(sink.data, record);
}

/* What `source` would report, and why it does not. */
static inline must_check int sink_missing(struct record_sink sink, const char *source,
					  const char *why)
{
	struct wire_missing record = {
		.header = {.size = sizeof(record), .kind = WIRE_MISSING},
	};

	snprintf(record.source, sizeof(record.source), "%s", source);
	snprintf(record.why, sizeof(record.why), "%s", why);
	return sink_send(sink, &record.header);
}

#endif
