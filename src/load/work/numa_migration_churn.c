// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves itself from NUMA node to NUMA node. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "load/setup.h"
#include "load/work/sys_list.h"

#define UNITS 256
#define NODES "/sys/devices/system/node"

struct numa_migration_churn {
	uint64_t period;
};

static const struct param params[] = {
	PARAM(struct numa_migration_churn, period, DURATION, "100ms", 1, 0,
	      "sleep on each node before it works"),
	{.name = NULL},
};

struct nodes {
	struct cpus *cpus; /* the allowed ones of each */
	size_t count, room;
};

/* False: no memory. */
static bool add_node(struct nodes *nodes, const struct cpus *cpus)
{
	if (array_reserve(&nodes->cpus, &nodes->room, nodes->count + 1, sizeof(*nodes->cpus)) < 0)
		return false;
	nodes->cpus[nodes->count++] = *cpus;
	return true;
}

/* Those with a CPU that is allowed. */
static bool find_nodes(struct nodes *nodes, const struct cpus *allowed)
{
	struct cpus online, cpus;

	sys_list_read(&online, NODES "/online");
	for (unsigned int node = cpus_next(&online, 0); node < CPUS_MAX;
	     node = cpus_next(&online, node + 1)) {
		sys_list_read(&cpus, NODES "/node%u/cpulist", node);
		cpus_intersect(&cpus, allowed);
		if (cpus_count(&cpus) && !add_node(nodes, &cpus))
			return false;
	}
	/* a kernel without NUMA has no such files */
	return nodes->count || add_node(nodes, allowed);
}

static int begin(struct worker *worker)
{
	struct nodes *nodes = calloc(1, sizeof(*nodes));
	struct cpus allowed = {{0}};

	worker->state = nodes;
	if (syscall(SYS_sched_getaffinity, 0, sizeof(allowed), &allowed) < 0) {
		worker_fail(worker, "sched_getaffinity: %s", strerror(errno));
		return -EIO;
	}
	if (!nodes || !find_nodes(nodes, &allowed)) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	if (nodes->count == 1)
		worker_note(worker, "its CPUs are on one NUMA node: it never moves");
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct numa_migration_churn *numa_migration_churn = worker->params;
	const struct nodes *nodes = worker->state;
	char refused[REPORT_TEXT] = "";

	setup_affinity(&nodes->cpus[worker->iterations % nodes->count], refused);
	if (*refused)
		worker_note(worker, "%s", refused);
	if (worker_rest(worker, numa_migration_churn->period))
		worker_spin(worker, UNITS);
}

static void end(struct worker *worker)
{
	struct nodes *nodes = worker->state;

	if (nodes)
		free(nodes->cpus);
	free(nodes);
}

const struct work_type work_numa_migration_churn = {
	.name = "numa-migration-churn",
	.summary = "moves itself from NUMA node to NUMA node",
	.params = params,
	.params_bytes = sizeof(struct numa_migration_churn),
	.units_each = UNITS,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
