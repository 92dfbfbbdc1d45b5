// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "load/reservoir.h"

void planner_init(struct planner *planner, const struct spec *spec, const struct topology *topology)
{
	*planner = (struct planner){
		.spec = spec, .topology = topology, .random = random_seed(spec->seed, ~0ULL)};
}

int plan_error_at(const struct spec *spec, struct spec_place place, int result, struct error *error)
{
	return place.line ? error_wrap(error, result, "%s:%u:%u", spec->file ? spec->file : "spec",
				       place.line, place.column)
			  : result;
}

/* The cgroup that `name` lies in, as far as the spec has it: "a/b" of "a/b/c", else "a". */
static const struct spec_cgroup *parent_of(const struct spec *spec, const char *name)
{
	const struct spec_cgroup *best = NULL;

	for (size_t i = 0; i < spec->cgroups.count; i++) {
		const struct spec_cgroup *cgroup = &spec->cgroups.items[i];
		size_t length = strlen(cgroup->name);

		if (length && !strncmp(cgroup->name, name, length) && name[length] == '/' &&
		    (!best || length > strlen(best->name)))
			best = cgroup;
	}
	return best;
}

int plan_cpuset(const struct planner *planner, const struct spec_cgroup *cgroup,
		struct cpus *ret_cpus, struct error *error)
{
	while (cgroup && !cgroup->cpuset)
		cgroup = parent_of(planner->spec, cgroup->name);
	if (cgroup)
		return topology_cpus(planner->topology, cgroup->cpuset, ret_cpus, error);
	*ret_cpus = planner->topology->usable;
	return 0;
}

/* `count` of `pool`, without repetition: the first steps of a shuffle (Fisher and Yates). */
static void draw(uint64_t *random, const struct cpus *pool, unsigned int count, struct cpus *drawn)
{
	unsigned int left = cpus_count(pool);

	*drawn = (struct cpus){{0}};
	for (unsigned int cpu = cpus_next(pool, 0); cpu < CPUS_MAX && count;
	     cpu = cpus_next(pool, cpu + 1), left--) {
		/* each is taken with the chance that leaves all subsets equally likely */
		if (random_next(random) % left >= count)
			continue;
		cpus_add(drawn, cpu);
		count--;
	}
}

static int random_sets(struct planner *planner, const struct spec_affinity *affinity,
		       const struct cpus *pool, unsigned int workers, struct cpus *sets)
{
	unsigned int room = cpus_count(pool);
	unsigned int count = affinity->count ? affinity->count : (room + 1) / 2;

	for (unsigned int i = 0; i < workers; i++)
		draw(&planner->random, pool, count < room ? count : room, &sets[i]);
	return 0;
}

/* Of the caches, the CPUs in the pool of that which has most of them. */
static int llc_sets(const struct planner *planner, const struct cpus *pool, unsigned int workers,
		    struct cpus *sets)
{
	struct cpus best = *pool;
	unsigned int most = 0;

	for (size_t i = 0; i < planner->topology->llcs.count; i++) {
		struct cpus shared = planner->topology->llcs.items[i].cpus;

		cpus_intersect(&shared, pool);
		if (cpus_count(&shared) <= most)
			continue;
		most = cpus_count(&shared);
		best = shared;
	}
	for (unsigned int i = 0; i < workers; i++)
		sets[i] = best;
	return 0;
}

/* Workers 2i and 2i + 1 on the first two threads of a core each, cores in turn. */
static int smt_sets(const struct planner *planner, const struct cpus *pool, unsigned int workers,
		    struct cpus *sets, struct error *error)
{
	const struct topology_parts *cores = &planner->topology->cores;
	unsigned int done = 0;

	if (workers % 2)
		return error_set(error, EINVAL,
				 "affinity smt-pair needs an even number of workers, not %u",
				 workers);
	while (done < workers) {
		unsigned int before = done;

		for (size_t i = 0; i < cores->count && done < workers; i++) {
			struct cpus threads = cores->items[i].cpus;

			cpus_intersect(&threads, pool);
			if (cpus_count(&threads) < 2)
				continue;
			cpus_add(&sets[done++], cpus_nth(&threads, 0));
			cpus_add(&sets[done++], cpus_nth(&threads, 1));
		}
		if (done == before)
			return error_set(error, EINVAL,
					 "affinity smt-pair: no core of the cpuset has two threads "
					 "that can be used");
	}
	return 0;
}

static void single_sets(const struct cpus *pool, unsigned int workers, bool spread,
			struct cpus *sets)
{
	unsigned int room = cpus_count(pool);

	for (unsigned int i = 0; i < workers; i++)
		cpus_add(&sets[i], cpus_nth(pool, spread ? i % room : 0));
}

static int fill_sets(struct planner *planner, const struct spec_affinity *affinity,
		     const struct cpus *pool, unsigned int workers, struct cpus *sets,
		     struct error *error)
{
	switch (affinity->kind) {
	case AFFINITY_RANDOM:
		return random_sets(planner, affinity, pool, workers, sets);
	case AFFINITY_LLC:
		return llc_sets(planner, pool, workers, sets);
	case AFFINITY_SMT_PAIR:
		return smt_sets(planner, pool, workers, sets, error);
	case AFFINITY_SINGLE:
	case AFFINITY_SPREAD:
		single_sets(pool, workers, affinity->kind == AFFINITY_SPREAD, sets);
		return 0;
	default:
		for (unsigned int i = 0; i < workers; i++)
			sets[i] = affinity->kind == AFFINITY_CROSS_CGROUP
					  ? planner->topology->usable
					  : *pool;
		return 0;
	}
}

int plan_affinity(struct planner *planner, const struct spec_affinity *affinity,
		  const struct cpus *cpuset, unsigned int count, struct cpus **ret_cpus,
		  struct error *error)
{
	cleanup_free struct cpus *sets = NULL;
	struct cpus pool = *cpuset;
	char allowed[CPUS_TEXT];
	int result = 0;

	*ret_cpus = NULL;
	if (affinity->kind == AFFINITY_INHERIT)
		return 0;
	if (affinity->cpus) {
		result = topology_cpus(planner->topology, affinity->cpus, &pool, error);
		if (result < 0)
			return error_wrap(error, result, "affinity");
		cpus_intersect(&pool, cpuset);
	}
	if (!cpus_count(&pool)) {
		cpus_format(allowed, sizeof(allowed), cpuset);
		return error_set(error, EINVAL,
				 "affinity '%s' has no CPU of the cpuset, which is %s",
				 affinity->cpus ? affinity->cpus : "", allowed);
	}
	sets = calloc(count, sizeof(*sets));
	if (!sets)
		return error_set(error, ENOMEM, "out of memory");
	result = fill_sets(planner, affinity, &pool, count, sets, error);
	if (result < 0)
		return result;
	*ret_cpus = sets;
	sets = NULL;
	return 0;
}

static int check_group(const struct planner *planner, const struct spec_work *work,
		       unsigned int team, unsigned int count, struct error *error)
{
	const struct work_type *type = work->type;

	if (type->check && type->check(work->params, error) < 0)
		return error_wrap(error, -EINVAL, "%s", type->name);
	if (planner->loads_code && type->load && type->load(work->params, error) < 0)
		return error_wrap(error, -EINVAL, "%s", type->name);
	if (count < team)
		return error_set(error, EINVAL,
				 "%s works in groups of %u, and %u worker%s cannot be split so: "
				 "use %u",
				 type->name, team, count, count == 1 ? "" : "s", team);
	if (count % team)
		return error_set(
			error, EINVAL,
			"%s works in groups of %u, and %u workers cannot be split so: use %u or "
			"%u",
			type->name, team, count, count / team * team, (count / team + 1) * team);
	if (work->threads && type->flags & WORK_FORKS)
		return error_set(
			error, EINVAL,
			"%s makes processes of its own, which `mode: thread` does not allow",
			type->name);
	if (work->threads && type->flags & WORK_CGROUPS)
		return error_set(
			error, EINVAL,
			"%s works on the cgroup of its process, which `mode: thread` does not "
			"allow",
			type->name);
	return 0;
}

static int check_nodes(const struct planner *planner, const struct spec_memory *memory,
		       struct error *error)
{
	const struct topology_parts *nodes = &planner->topology->nodes;
	uint64_t there = 0;

	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->items[i].id < 64)
			there |= 1ULL << nodes->items[i].id;
	if (!(memory->nodes & ~there))
		return 0;
	return error_set(
		error, EINVAL,
		"memory: NUMA node %d is not of this machine, which has %zu, numbered from 0",
		__builtin_ctzll(memory->nodes & ~there), nodes->count);
}

static int make_group(struct planner *planner, const struct cpus *cpuset, struct plan_group *group,
		      struct error *error)
{
	const struct spec_work *work = group->work;
	int result = check_group(planner, work, group->team_size, group->count, error);

	if (result >= 0)
		result = check_nodes(planner, &work->memory, error);
	return result < 0 ? result
			  : plan_affinity(planner, &work->affinity, cpuset, group->count,
					  &group->cpus, error);
}

int plan_group(struct planner *planner, const struct spec_cgroup *cgroup,
	       const struct spec_work *work, const struct cpus *cpuset,
	       struct plan_group *ret_group, struct error *error)
{
	struct plan_group group = {.work = work, .cgroup = cgroup};
	int result;

	group.group_idx = (unsigned int)(work - cgroup->works.items);
	group.team_size = work_team_size(work->type, work->params);
	group.count = work->workers ? work->workers : group.team_size;
	result = make_group(planner, cpuset, &group, error);
	if (result < 0)
		return plan_error_at(planner->spec, work->place, result, error);
	*ret_group = group;
	return 0;
}

void plan_group_release(struct plan_group *group)
{
	free(group->cpus);
	*group = (struct plan_group){.work = NULL};
}
