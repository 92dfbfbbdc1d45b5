/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of model/counters.c in files of their own. */
#ifndef DWELL_MODEL_COUNTERS_PARTS_H
#define DWELL_MODEL_COUNTERS_PARTS_H

#include "model/counters.h"

/* Names of groups, words, a state. */
#define COUNTERS_KEY_BYTES 8512

/* A key of parts that end in NUL. */
struct counters_key {
	size_t length;
	bool is_cut; /* there was no room */
	char bytes[COUNTERS_KEY_BYTES];
};

/* Of the first part, and one more; each is made printable: what is served shows it in terminals. */
void counters_key_set(struct counters_key *key, const char *text);
void counters_key_add(struct counters_key *key, const char *text);

/* Most threads of a group wait for the same few reasons: where these are counted. */
#define COUNTERS_REASONS_NEAR 256
struct counters_near {
	const struct leader *group;
	struct wire_wait_site site;
	struct leader *reason;
};

/* Of a row of `group`; `near` is all zeros at an interval's first row. */
void counters_count_reasons(struct counters *counters, struct counters_near *near,
			    struct leader *group, const struct row *row,
			    const struct session_info *session);

/* When it is decided which groups lead, and before anything is booked. */
void counters_settle_reasons(struct counters *counters, uint64_t now_ns);

#endif
