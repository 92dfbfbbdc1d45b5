/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A spec, fitted to a machine: which workers there will be, on which CPUs. What can be known to be
 * impossible is an error here, before anything is forked.
 */
#ifndef DWELL_LOAD_PLAN_H
#define DWELL_LOAD_PLAN_H

#include "load/spec.h"
#include "load/topology.h"

/* The workers of one spec_work. */
struct plan_group {
	const struct spec_work *work;
	const struct spec_cgroup *cgroup;
	unsigned int group_idx; /* among the works of its cgroup */
	unsigned int team_size;
	unsigned int count; /* workers */
	struct cpus *cpus;  /* one per worker; NULL: all inherit */
};

struct planner {
	const struct spec *spec;
	const struct topology *topology;
	bool loads_code; /* of the user's, where a type of work has such */
	uint64_t random; /* draws are made in the order of the spec, so a seed repeats them */
};

void planner_init(struct planner *planner, const struct spec *spec,
		  const struct topology *topology);

/*
 * The CPUs of a cgroup: its cpuset, else those of the cgroup around it, as far as the spec says,
 * else all usable ones.
 */
int plan_cpuset(const struct planner *planner, const struct spec_cgroup *cgroup,
		struct cpus *ret_cpus, struct error *error) must_check;

/* `cpuset` is that of the cgroup. Messages begin with the place in the spec. */
int plan_group(struct planner *planner, const struct spec_cgroup *cgroup,
	       const struct spec_work *work, const struct cpus *cpuset,
	       struct plan_group *ret_group, struct error *error) must_check;
void plan_group_release(struct plan_group *group);

/* Sets of CPUs for `count` workers; *ret_cpus is NULL where they inherit. */
int plan_affinity(struct planner *planner, const struct spec_affinity *affinity,
		  const struct cpus *cpuset, unsigned int count, struct cpus **ret_cpus,
		  struct error *error) must_check;

/*
 * Goes through the whole spec, ops included, as a run would, and stops at what cannot work: names
 * of cgroups that are not there, shares that add up to more than the duration, empty sets. With
 * `load_code` the code of the user's is loaded into this process; without, nothing is run.
 */
int plan_check(const struct spec *spec, const struct topology *topology, bool load_code,
	       struct error *error) must_check;

/* "spec.yaml:12:7: " or "". */
int plan_error_at(const struct spec *spec, struct spec_place place, int result,
		  struct error *error) must_check;

#endif
