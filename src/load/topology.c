// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sched_getaffinity */
#include "load/topology.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

#define PATH_BYTES 512

/* The first line of a file of sysfs. -errno: it cannot be read. */
static int read_line(const char *path, char **ret_line)
{
	cleanup_file FILE *file = fopen(path, "re");
	size_t room = 0;

	*ret_line = NULL;
	if (!file)
		return -errno;
	return getline(ret_line, &room, file) < 0 ? -ENODATA : 0;
}

static int read_cpus(const char *path, struct cpus *ret_cpus)
{
	cleanup_free char *line = NULL;
	int result = read_line(path, &line);

	return result < 0 ? result : cpus_parse(line, ret_cpus, NULL);
}

/* Once each, by the first CPU: parts do not overlap. */
static int add_part(struct topology_parts *parts, const struct cpus *cpus)
{
	unsigned int first = cpus_next(cpus, 0);
	int result;

	for (size_t i = 0; i < parts->count; i++)
		if (cpus_has(&parts->items[i].cpus, first))
			return 0;
	result =
		array_reserve(&parts->items, &parts->room, parts->count + 1, sizeof(*parts->items));
	if (result < 0)
		return result;
	parts->items[parts->count].id = (unsigned int)parts->count;
	parts->items[parts->count++].cpus = *cpus;
	return 0;
}

/* The CPUs that share the cache of the highest level with `cpu`. */
static int read_llc(const char *sysfs, unsigned int cpu, struct cpus *ret_cpus)
{
	int best = 0, level, result = -ENOENT;
	char path[PATH_BYTES];

	for (int index = 0; index < 16; index++) {
		cleanup_free char *line = NULL;

		snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/cache/index%d/level",
			 sysfs, cpu, index);
		if (read_line(path, &line) < 0)
			break;
		level = atoi(line);
		if (level <= best)
			continue;
		snprintf(path, sizeof(path),
			 "%s/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", sysfs, cpu,
			 index);
		if (read_cpus(path, ret_cpus) < 0)
			continue;
		best = level;
		result = 0;
	}
	return result;
}

static int read_cpu(struct topology *topology, const char *sysfs, unsigned int cpu)
{
	char path[PATH_BYTES];
	struct cpus siblings = {{0}};
	struct cpus llc = {{0}};
	int result = 0;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/topology/thread_siblings_list",
		 sysfs, cpu);
	if (read_cpus(path, &siblings) < 0 || !cpus_has(&siblings, cpu)) {
		siblings = (struct cpus){{0}};
		cpus_add(&siblings, cpu);
	}
	result = add_part(&topology->cores, &siblings);
	if (result >= 0 && read_llc(sysfs, cpu, &llc) >= 0 && cpus_has(&llc, cpu))
		result = add_part(&topology->llcs, &llc);
	return result;
}

static int read_nodes(struct topology *topology, const char *sysfs)
{
	char path[PATH_BYTES];
	struct cpus nodes, cpus;
	int result = 0;

	snprintf(path, sizeof(path), "%s/devices/system/node/online", sysfs);
	if (read_cpus(path, &nodes) < 0)
		return 0;
	for (unsigned int node = cpus_next(&nodes, 0); result >= 0 && node < CPUS_MAX;
	     node = cpus_next(&nodes, node + 1)) {
		struct topology_parts *parts = &topology->nodes;

		snprintf(path, sizeof(path), "%s/devices/system/node/node%u/cpulist", sysfs, node);
		if (read_cpus(path, &cpus) < 0)
			continue;
		/* separately: nodes of memory alone have no CPUs to compare */
		result = array_reserve(&parts->items, &parts->room, parts->count + 1,
				       sizeof(*parts->items));
		if (result < 0)
			break;
		parts->items[parts->count++] = (struct topology_part){.id = node, .cpus = cpus};
	}
	return result;
}

int topology_read(struct topology *topology, const char *sysfs, const struct cpus *allowed,
		  struct error *error)
{
	char path[PATH_BYTES];
	struct cpus online;
	int result = 0;

	*topology = (struct topology){.usable = {{0}}};
	if (allowed)
		topology->usable = *allowed;
	else if (sched_getaffinity(0, sizeof(topology->usable), (cpu_set_t *)&topology->usable) < 0)
		return error_set(error, errno, "cannot find out which CPUs may be used: %s",
				 strerror(errno));
	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", sysfs);
	if (read_cpus(path, &online) >= 0)
		cpus_intersect(&topology->usable, &online);
	for (unsigned int cpu = cpus_next(&topology->usable, 0); result >= 0 && cpu < CPUS_MAX;
	     cpu = cpus_next(&topology->usable, cpu + 1))
		result = read_cpu(topology, sysfs, cpu);
	if (result >= 0)
		result = read_nodes(topology, sysfs);
	if (result >= 0 && !topology->llcs.count)
		result = add_part(&topology->llcs, &topology->usable);
	if (result >= 0 && !topology->nodes.count)
		result = add_part(&topology->nodes, &topology->usable);
	return result < 0 ? error_set(error, ENOMEM, "out of memory") : 0;
}

void topology_release(struct topology *topology)
{
	free(topology->llcs.items);
	free(topology->nodes.items);
	free(topology->cores.items);
	*topology = (struct topology){.usable = {{0}}};
}

/* Usable CPUs number `from` to `to` - 1, counted among them. */
static void slice(const struct topology *topology, unsigned int from, unsigned int to,
		  struct cpus *cpus)
{
	unsigned int cpu = cpus_nth(&topology->usable, from);

	for (; from < to && cpu < CPUS_MAX; from++, cpu = cpus_next(&topology->usable, cpu + 1))
		cpus_add(cpus, cpu);
}

static int take_part(const struct topology *topology, const struct topology_parts *parts,
		     const char *text, const char *what, const char *number, struct cpus *cpus,
		     struct error *error)
{
	char *end;
	unsigned long id = strtoul(number, &end, 10);

	if (end == number || *end)
		return error_set(error, EINVAL, "'%s' needs a number: %s", text, what);
	for (size_t i = 0; i < parts->count; i++) {
		if (parts->items[i].id != id)
			continue;
		*cpus = parts->items[i].cpus;
		cpus_intersect(cpus, &topology->usable);
		return 0;
	}
	return error_set(error, EINVAL, "'%s': this machine has %zu %s%s, numbered from 0", text,
			 parts->count, what, parts->count == 1 ? "" : "s");
}

static int take_share(const struct topology *topology, const char *text, struct cpus *cpus,
		      struct error *error)
{
	unsigned int usable = cpus_count(&topology->usable);
	double from, to;
	int used = 0;

	if (sscanf(text, "%lf-%lf%n", &from, &to, &used) != 2 || text[used] || !(from >= 0) ||
	    !(to > from) || !(to <= 1))
		return error_set(error, EINVAL,
				 "bad share '%s': use two numbers between 0 and 1, as 0.0-0.5",
				 text);
	/* a share that is not whole is rounded, both ends alike, so that neighbours meet */
	slice(topology, (unsigned int)lround(from * usable), (unsigned int)lround(to * usable),
	      cpus);
	return 0;
}

/* disjoint:I/N and overlap:I/N:F */
static int take_piece(const struct topology *topology, const char *text, bool overlapping,
		      struct cpus *cpus, struct error *error)
{
	const char *rest = strchr(text, ':') + 1;
	unsigned int usable = cpus_count(&topology->usable), piece, part, parts, more, from, to;
	double overlap = 0;
	int used = 0, got;

	got = overlapping ? sscanf(rest, "%u/%u:%lf%n", &part, &parts, &overlap, &used)
			  : sscanf(rest, "%u/%u%n", &part, &parts, &used);
	if (got != (overlapping ? 3 : 2) || rest[used] || !parts || part >= parts ||
	    !(overlap >= 0 && overlap <= 1))
		return error_set(error, EINVAL, "bad cpuset '%s': use %s", text,
				 overlapping ? "overlap:I/N:F, part I of N from 0, F from 0 to 1"
					     : "disjoint:I/N, part I of N, counted from 0");
	if (parts > usable)
		return error_set(
			error, EINVAL,
			"cpuset '%s' is impossible: %u usable CPU%s cannot be divided into %u",
			text, usable, usable == 1 ? "" : "s", parts);
	piece = usable / parts;
	more = (unsigned int)ceil(piece * overlap);
	from = part * piece;
	to = part + 1 == parts ? usable : from + piece;
	from -= from < more ? from : more;
	to = part + 1 == parts || to + more > usable ? usable : to + more;
	slice(topology, from, to, cpus);
	return 0;
}

static int take_list(const struct topology *topology, const char *text, struct cpus *cpus,
		     struct error *error)
{
	char usable[CPUS_TEXT];
	int result = cpus_parse(text, cpus, error);

	if (result < 0 || cpus_contain(&topology->usable, cpus))
		return result;
	cpus_format(usable, sizeof(usable), &topology->usable);
	return error_set(error, EINVAL,
			 "cpuset '%s' has CPUs that cannot be used here: use CPUs of %s", text,
			 usable);
}

int topology_cpus(const struct topology *topology, const char *text, struct cpus *ret_cpus,
		  struct error *error)
{
	struct cpus cpus = {{0}};
	int result;

	if (!strncmp(text, "llc:", 4))
		result = take_part(topology, &topology->llcs, text, "last-level cache", text + 4,
				   &cpus, error);
	else if (!strncmp(text, "numa:", 5))
		result = take_part(topology, &topology->nodes, text, "NUMA node", text + 5, &cpus,
				   error);
	else if (!strncmp(text, "disjoint:", 9))
		result = take_piece(topology, text, false, &cpus, error);
	else if (!strncmp(text, "overlap:", 8))
		result = take_piece(topology, text, true, &cpus, error);
	else if (strchr(text, '.'))
		result = take_share(topology, text, &cpus, error);
	else
		result = take_list(topology, text, &cpus, error);
	if (result < 0)
		return result;
	if (!cpus_count(&cpus))
		return error_set(error, EINVAL, "cpuset '%s' is empty: %u CPU%s can be used here",
				 text, cpus_count(&topology->usable),
				 cpus_count(&topology->usable) == 1 ? "" : "s");
	*ret_cpus = cpus;
	return 0;
}
