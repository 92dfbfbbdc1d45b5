// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory that moves from NUMA node to NUMA node. */
#define _GNU_SOURCE /* syscall, MAP_ANONYMOUS */
#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "load/cpus.h"
#include "load/work_type.h"

#define PAGE	 4096
#define MASK_MAX (CPUS_MAX + 1) /* the kernel reads one bit less than the length says */

struct numa_working_set_sweep {
	uint64_t region;
	uint64_t period;
	char *nodes;
};

static const struct param params[] = {
	PARAM(struct numa_working_set_sweep, region, SIZE, "4M", PAGE, 0, "memory of each worker"),
	PARAM(struct numa_working_set_sweep, period, DURATION, "100ms", 1, 0,
	      "sleep before it moves on"),
	PARAM(struct numa_working_set_sweep, nodes, TEXT, NULL, 0, 0,
	      "nodes to go through, as 0,2-3; without, all that are allowed"),
	{.name = NULL},
};

struct sweep {
	struct cpus nodes;
	char *region;
};

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct numa_working_set_sweep *)params_)->region / PAGE;
}

static int check(const void *params_, struct error *error)
{
	const struct numa_working_set_sweep *given = params_;
	struct cpus nodes;
	int result;

	if (!given->nodes)
		return 0;
	result = cpus_parse(given->nodes, &nodes, error);
	if (result < 0)
		return error_wrap(error, result, "nodes");
	return cpus_count(&nodes) ? 0 : error_set(error, EINVAL, "nodes: there is none");
}

/* A kernel without NUMA has node 0. */
static void find_nodes(struct worker *worker, struct cpus *nodes)
{
	const struct numa_working_set_sweep *given = worker->params;

	if (given->nodes && !cpus_parse(given->nodes, nodes, NULL))
		return;
	if (syscall(SYS_get_mempolicy, NULL, nodes, MASK_MAX, NULL, MPOL_F_MEMS_ALLOWED) < 0 ||
	    !cpus_count(nodes))
		cpus_add(nodes, 0);
	if (cpus_count(nodes) == 1)
		worker_note(worker, "there is one NUMA node only: nothing moves");
}

static int begin(struct worker *worker)
{
	const struct numa_working_set_sweep *given = worker->params;
	struct sweep *sweep = calloc(1, sizeof(*sweep));

	worker->state = sweep;
	if (!sweep) {
		worker_fail(worker, "out of memory");
		return -ENOMEM;
	}
	sweep->region = mmap(NULL, given->region, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (sweep->region == MAP_FAILED) {
		sweep->region = NULL;
		worker_fail(worker, "mmap: %s", strerror(errno));
		return -ENOMEM;
	}
	find_nodes(worker, &sweep->nodes);
	return 0;
}

static void move(struct worker *worker)
{
	const struct numa_working_set_sweep *given = worker->params;
	struct sweep *sweep = worker->state;
	unsigned int count = cpus_count(&sweep->nodes);
	/* workers of a group are not all on the same node */
	unsigned int node =
		cpus_nth(&sweep->nodes,
			 (unsigned int)((worker->iterations + worker->index % count) % count));
	struct cpus mask = {{0}};

	cpus_add(&mask, node);
	if (syscall(SYS_mbind, sweep->region, given->region, MPOL_BIND, &mask, MASK_MAX,
		    MPOL_MF_MOVE) < 0)
		worker_note(worker, "mbind to node %u: %s%s", node, strerror(errno),
			    errno == ENOSYS ? " (a kernel without NUMA)" : "");
}

static void iterate(struct worker *worker)
{
	const struct numa_working_set_sweep *given = worker->params;
	const struct sweep *sweep = worker->state;

	move(worker);
	for (uint64_t page = 0; page < given->region / PAGE; page++) {
		if (page % CHECKPOINT_UNITS == 0 && worker_stopping())
			return;
		((volatile char *)sweep->region)[page * PAGE]++;
		worker->work_units++;
	}
	worker_sleep(worker, given->period);
}

/* Keeps the region: the report reads where it is. */
static void end(struct worker *worker)
{
	free(worker->state);
}

const struct work_type work_numa_working_set_sweep = {
	.name = "numa-working-set-sweep",
	.summary = "memory that moves from NUMA node to NUMA node",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct numa_working_set_sweep),
	.check = check,
	.units = units,
	.begin = begin,
	.iterate = iterate,
	.end = end,
};
