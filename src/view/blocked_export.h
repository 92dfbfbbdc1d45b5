/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stalls for other programs: a trace for timelines, stacks for flame graphs. */
#ifndef DWELL_VIEW_BLOCKED_EXPORT_H
#define DWELL_VIEW_BLOCKED_EXPORT_H

#include "base/output.h"
#include "model/stalls.h"
#include "view/blocked.h"
#include "view/trace_events.h"

struct blocked_export {
	const struct blocked_export_ops *ops;
	struct output *out;
	const struct stalls *stalls;
	struct trace_events events; /* of a trace */
	/* for formats that sum up: ns by id of the stack; and by cause, where no stack explains it
	 */
	uint64_t *stack_ns;
	size_t stack_room;
	uint64_t without_stack_ns[STALL_CAUSES_COUNT];
};

struct blocked_export_ops {
	const char *name;
	const char *help;
	void (*begin)(struct blocked_export *export);
	/* 0 or -ENOMEM. */
	int (*stall)(struct blocked_export *export, const struct stall *stall);
	void (*end)(struct blocked_export *export, const struct blocked_summary *summary);
};

extern const struct blocked_export_ops *const blocked_exports[];
extern const size_t blocked_export_count;

/* NULL: no such format. */
const struct blocked_export_ops *blocked_export_find(const char *name);

void blocked_export_release(struct blocked_export *export);

#endif
