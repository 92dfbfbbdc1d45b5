// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Java virtual machine: its threads that wait for events (java.nio's selectors, and what is built
 * on them: Netty, Vert.x) are loops like others. Where it compiles, functions have names only when
 * it has listed them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/runtime.h"
#include "symbol/mappings.h"

static int find(struct runtime_plan *plan, uint32_t pid, const char *symbols, struct error *error)
{
	cleanup_mappings struct mappings mappings = {0};
	bool found = false;

	(void)symbols;
	(void)error;
	if (mappings_load(&mappings, pid, 0) < 0)
		return 0;
	for (size_t i = 0; i < mappings.count; i++) {
		const char *name = strrchr(mappings.items[i].path, '/');

		found |= name && !strcmp(name + 1, "libjvm.so");
	}
	if (!found) {
		if (!*plan->why)
			snprintf(plan->why, sizeof(plan->why),
				 "process %" PRIu32 " has no libjvm.so mapped", pid);
		return 0;
	}
	plan->turns = plan->turns_rotate = true;
	snprintf(plan->why, sizeof(plan->why),
		 "threads of a Java virtual machine that wait for events are loops; "
		 "jcmd %" PRIu32 " Compiler.perfmap lists the functions that it has compiled, with "
		 "-XX:+PreserveFramePointer stacks are whole",
		 pid);
	return 1;
}

const struct runtime_ops runtime_jvm = {
	.name = "jvm",
	.summary = "event loops of a Java virtual machine (java.nio, Netty, Vert.x)",
	.find = find,
};
