// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* The more specific first. */
const struct runtime_ops *const runtimes[] = {&runtime_tokio, &runtime_loop};
const size_t runtime_count = ARRAY_SIZE(runtimes);

const struct runtime_ops *runtime_find(const char *name)
{
	for (size_t i = 0; i < runtime_count; i++)
		if (!strcmp(runtimes[i]->name, name))
			return runtimes[i];
	return NULL;
}

int runtime_plan_make(struct runtime_plan *plan, const struct runtime_ops *runtime, uint32_t pid,
		      const char *symbols, struct error *error)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < runtime_count; i++) {
		if (runtime && runtimes[i] != runtime)
			continue;
		plan->runtime = runtimes[i];
		result = runtimes[i]->find(plan, pid, symbols, error);
	}
	if (result == 0)
		return error_set(error, ENOENT, "%s", plan->why);
	return result < 0 ? result : 0;
}

int runtime_plan_add(struct runtime_plan *plan, struct runtime_probe probe)
{
	if (!probe.path ||
	    array_reserve(&plan->probes, &plan->room, plan->count + 1, sizeof(probe)) < 0) {
		free(probe.path);
		free(probe.type);
		return -ENOMEM;
	}
	plan->probes[plan->count++] = probe;
	return 0;
}

void runtime_plan_release(struct runtime_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		free(plan->probes[i].path);
		free(plan->probes[i].type);
	}
	free(plan->probes);
	*plan = (struct runtime_plan){0};
}
