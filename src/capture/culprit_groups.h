/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroups of culprits that are no targets: the hooks have no record of them that says it. */
#ifndef DWELL_CAPTURE_CULPRIT_GROUPS_H
#define DWELL_CAPTURE_CULPRIT_GROUPS_H

#include "bpf/wire.h"
#include "capture/sink.h"

/* So many are asked about; of those that share a place some more than once. */
#define CULPRIT_GROUPS 256

/* Processes that have been asked about since the last snapshot, by pid. */
struct culprit_groups {
	__u32 pids[CULPRIT_GROUPS];
	unsigned int asked;
	__u64 since_ns; /* CLOCK_BOOTTIME; 0: from the beginning */
};

/* After each snapshot: processes move, and pids may have become other processes'. */
void culprit_groups_clear(struct culprit_groups *groups);

/* A WIRE_MEMBER for each process in the record that is there now. What the sink returns. */
int culprit_groups_send(struct culprit_groups *groups, const struct wire_blame *record,
			struct record_sink sink) must_check;

#endif
