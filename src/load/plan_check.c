// SPDX-License-Identifier: GPL-2.0-or-later
/* The rehearsal of a spec: everything it says is gone through, and nothing is done. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "load/plan.h"

/* A cgroup, as the ops have left it. */
struct rehearsed {
	const char *name, *cpuset; /* NULL: not limited */
	bool has_workers;
	bool is_limited; /* by a controller that the cgroups around it pass on */
	bool passes_on;	 /* likewise: controllers, and for good */
};

/* A rehearsal: which cgroups there are, op after op. */
struct rehearsal {
	struct planner planner;
	const struct topology *topology;
	struct rehearsed *cgroups; /* that exist; room for all that ever may */
	size_t count;
	unsigned int workers;
	bool has_scheduler; /* that an op has started */
	double share;	    /* of the duration, held so far */
};

static struct rehearsed *find(const struct rehearsal *rehearsal, const char *name)
{
	for (size_t i = 0; i < rehearsal->count; i++)
		if (!strcmp(rehearsal->cgroups[i].name, name))
			return &rehearsal->cgroups[i];
	return NULL;
}

/* Its own cpuset, that of a cgroup around it, or all CPUs. */
static const char *cpuset_of(const struct rehearsal *rehearsal, const char *name)
{
	char around[SPEC_NAME_BYTES];

	snprintf(around, sizeof(around), "%s", name);
	for (;;) {
		const struct rehearsed *cgroup = find(rehearsal, around);
		char *slash = strrchr(around, '/');

		if (cgroup && cgroup->cpuset)
			return cgroup->cpuset;
		if (!slash)
			return "0.0-1.0";
		*slash = '\0';
	}
}

static int must_be_there(const struct rehearsal *rehearsal, const char *name, struct error *error)
{
	return find(rehearsal, name)
		       ? 0
		       : error_set(error, EINVAL, "there is no cgroup '%s' at this point", name);
}

static int rehearse_works(struct rehearsal *rehearsal, const struct spec_cgroup *cgroup,
			  struct error *error)
{
	struct cpus cpuset;
	int result = topology_cpus(rehearsal->topology, cpuset_of(rehearsal, cgroup->name), &cpuset,
				   error);

	for (size_t i = 0; result >= 0 && i < cgroup->works.count; i++) {
		struct plan_group group;

		result = plan_group(&rehearsal->planner, cgroup, &cgroup->works.items[i], &cpuset,
				    &group, error);
		if (result < 0)
			break;
		rehearsal->workers += group.count;
		plan_group_release(&group);
		if (rehearsal->workers > SPEC_MAX_WORKERS)
			result = plan_error_at(
				rehearsal->planner.spec, cgroup->works.items[i].place,
				error_set(error, EINVAL, "more than %u workers in all",
					  SPEC_MAX_WORKERS),
				error);
	}
	return result;
}

static bool is_limited(const struct spec_cgroup *cgroup)
{
	for (size_t i = 0; i < SPEC_LIMITS; i++)
		if (cgroup->limits.values[i])
			return true;
	return cgroup->cpuset != NULL;
}

static bool lies_in(const char *inside, const char *outside)
{
	size_t length = strlen(outside);

	return length && !strncmp(inside, outside, length) && inside[length] == '/';
}

/*
 * cgroup v2: "no internal processes" where controllers are passed on to nested ones. That stays so
 * when the nested one is gone, or limited no more.
 */
static int check_nesting(const struct rehearsal *rehearsal, struct error *error)
{
	for (size_t i = 0; i < rehearsal->count; i++) {
		struct rehearsed *outside = &rehearsal->cgroups[i];
		const char *inside = NULL;

		for (size_t k = 0; !inside && k < rehearsal->count; k++)
			if (rehearsal->cgroups[k].is_limited &&
			    lies_in(rehearsal->cgroups[k].name, outside->name))
				inside = rehearsal->cgroups[k].name;
		outside->passes_on |= inside != NULL;
		if (outside->passes_on && outside->has_workers)
			return error_set(
				error, EINVAL,
				"cgroup %s has work of its own, and %s%s within it %s limits: "
				"cgroup v2 allows that only to cgroups without work; put it "
				"into a nested one",
				outside->name, inside ? inside : "a cgroup",
				inside ? "" : " that was", inside ? "has" : "had");
	}
	return 0;
}

static int rehearse_cgroup(struct rehearsal *rehearsal, const struct spec_cgroup *cgroup,
			   struct error *error)
{
	const struct spec *spec = rehearsal->planner.spec;
	struct cpus cpus;
	int result = 0;

	if (find(rehearsal, cgroup->name))
		result = error_set(error, EEXIST, "there is a cgroup '%s' already", cgroup->name);
	else
		rehearsal->cgroups[rehearsal->count++] =
			(struct rehearsed){.name = cgroup->name,
					   .cpuset = cgroup->cpuset,
					   .has_workers = *cgroup->name && cgroup->works.count,
					   .is_limited = is_limited(cgroup)};
	if (result >= 0)
		result = check_nesting(rehearsal, error);
	if (result < 0)
		return plan_error_at(spec, cgroup->place, result, error);
	if (cgroup->cpuset)
		result = topology_cpus(rehearsal->topology, cgroup->cpuset, &cpus, error);
	return result < 0 ? plan_error_at(spec, cgroup->cpuset_place, result, error)
			  : rehearse_works(rehearsal, cgroup, error);
}

/* cgroup v2 keeps one that others are nested in. */
static int check_removal(const struct rehearsal *rehearsal, const char *name, struct error *error)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < rehearsal->count; i++) {
		const char *other = rehearsal->cgroups[i].name;

		if (!strncmp(other, name, length) && other[length] == '/')
			return error_set(error, EINVAL,
					 "'%s' is nested in '%s' at this point: remove it first",
					 other, name);
	}
	return 0;
}

/* What an op that can be carried out leaves behind. */
static void rehearse_effect(struct rehearsal *rehearsal, const struct spec_op *op)
{
	struct rehearsed *cgroup = find(rehearsal, op->cgroup.name);
	const char *cpuset;

	switch (op->kind) {
	case OP_REMOVE_CGROUP:
		*cgroup = rehearsal->cgroups[--rehearsal->count];
		break;
	case OP_SET_CPUSET:
	case OP_CLEAR_CPUSET:
		cgroup->cpuset = op->cgroup.cpuset;
		cgroup->is_limited = true;
		break;
	case OP_SET_LIMITS:
		cgroup->is_limited = true;
		break;
	case OP_SWAP_CPUSETS:
		cpuset = cpuset_of(rehearsal, op->cgroup.name);
		cgroup->cpuset = cpuset_of(rehearsal, op->other);
		cgroup->is_limited = true;
		find(rehearsal, op->other)->cpuset = cpuset;
		find(rehearsal, op->other)->is_limited = true;
		break;
	case OP_STOP_GROUP:
		cgroup->has_workers = false;
		break;
	case OP_MOVE_TASKS:
		find(rehearsal, op->other)->has_workers |= cgroup->has_workers;
		cgroup->has_workers = false;
		break;
	default:
		break;
	}
}

static int op_error(const struct rehearsal *rehearsal, const struct spec_op *op, int result,
		    struct error *error)
{
	return plan_error_at(rehearsal->planner.spec, op->place,
			     error_wrap(error, result, "%s", op_names[op->kind]), error);
}

/* The kernel has one at a time: a second one would wait until its time is up. */
static int rehearse_scheduler(struct rehearsal *rehearsal, const struct spec_op *op,
			      struct error *error)
{
	if (op->kind == OP_START_SCHEDULER && rehearsal->has_scheduler)
		return error_set(error, EINVAL,
				 "one is started already at this point: replace-scheduler stops "
				 "it first");
	rehearsal->has_scheduler = op->kind != OP_STOP_SCHEDULER;
	return 0;
}

static bool is_of_scheduler(const struct spec_op *op)
{
	return op->kind == OP_START_SCHEDULER || op->kind == OP_STOP_SCHEDULER ||
	       op->kind == OP_REPLACE_SCHEDULER;
}

static int rehearse_op(struct rehearsal *rehearsal, const struct spec_op *op, struct error *error)
{
	const char *name = op->cgroup.name;
	struct cpus cpus;
	int result = 0;

	switch (op->kind) {
	case OP_ADD_CGROUP:
		return rehearse_cgroup(rehearsal, &op->cgroup, error);
	case OP_START_SCHEDULER:
	case OP_STOP_SCHEDULER:
	case OP_REPLACE_SCHEDULER:
		return rehearse_scheduler(rehearsal, op, error);
	case OP_SPAWN:
		if (*name)
			result = must_be_there(rehearsal, name, error);
		if (result >= 0 && *name) {
			find(rehearsal, name)->has_workers = true;
			result = check_nesting(rehearsal, error);
		}
		return result < 0 ? op_error(rehearsal, op, result, error)
				  : rehearse_works(rehearsal, &op->cgroup, error);
	case OP_SWAP_CPUSETS:
	case OP_MOVE_TASKS:
		result = must_be_there(rehearsal, op->other, error);
		break;
	case OP_REMOVE_CGROUP:
		result = check_removal(rehearsal, name, error);
		break;
	case OP_SET_CPUSET:
		result = topology_cpus(rehearsal->topology, op->cgroup.cpuset, &cpus, error);
		break;
	case OP_SET_AFFINITY:
		if (op->affinity.cpus)
			result =
				topology_cpus(rehearsal->topology, op->affinity.cpus, &cpus, error);
		break;
	default:
		break;
	}
	if (result >= 0)
		result = must_be_there(rehearsal, name, error);
	if (result < 0)
		return result;
	rehearse_effect(rehearsal, op);
	return check_nesting(rehearsal, error);
}

static int rehearse_phase(struct rehearsal *rehearsal, const struct spec_phase *phase,
			  struct error *error)
{
	const struct spec *spec = rehearsal->planner.spec;
	int result = 0;

	for (size_t i = 0; result >= 0 && i < phase->op_count; i++) {
		const struct spec_op *op = &phase->ops[i];

		result = rehearse_op(rehearsal, op, error);
		/* of cgroups and works the place is in the message already */
		if (result < 0 && op->kind != OP_ADD_CGROUP && op->kind != OP_SPAWN)
			result = op_error(rehearsal, op, result, error);
		if (result >= 0 && phase->loop_ns &&
		    (op->kind == OP_ADD_CGROUP || op->kind == OP_REMOVE_CGROUP))
			result = plan_error_at(
				spec, op->place,
				error_set(error, EINVAL,
					  "%s cannot be repeated: put both, add and remove, into "
					  "phases of their own",
					  op_names[op->kind]),
				error);
	}
	/* a loop comes to its first op with what its last one has left */
	for (size_t i = 0; result >= 0 && phase->loop_ns && i < phase->op_count; i++) {
		const struct spec_op *op = &phase->ops[i];

		if (is_of_scheduler(op))
			result = rehearse_scheduler(rehearsal, op, error);
		if (result < 0)
			result = op_error(rehearsal, op, result, error);
	}
	if (phase->hold == HOLD_SHARE)
		rehearsal->share += phase->share;
	if (result >= 0 && rehearsal->share > 1 + 1e-9)
		result = plan_error_at(
			spec, phase->place,
			error_set(error, EINVAL,
				  "the phases so far hold %.4g%% of the duration, more than all",
				  100 * rehearsal->share),
			error);
	return result;
}

static size_t most_cgroups(const struct spec *spec)
{
	size_t count = spec->cgroups.count + 1;

	for (size_t i = 0; i < spec->phases.count; i++)
		count += spec->phases.items[i].op_count;
	return count;
}

int plan_check(const struct spec *spec, const struct topology *topology, bool load_code,
	       struct error *error)
{
	struct rehearsal rehearsal = {.topology = topology};
	int result = 0;

	planner_init(&rehearsal.planner, spec, topology);
	rehearsal.planner.loads_code = load_code;
	rehearsal.cgroups = calloc(most_cgroups(spec), sizeof(*rehearsal.cgroups));
	if (!rehearsal.cgroups)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; result >= 0 && i < spec->cgroups.count; i++)
		result = rehearse_cgroup(&rehearsal, &spec->cgroups.items[i], error);
	for (size_t i = 0; result >= 0 && i < spec->phases.count; i++)
		result = rehearse_phase(&rehearsal, &spec->phases.items[i], error);
	free(rehearsal.cgroups);
	if (result >= 0 && !rehearsal.workers)
		return error_set(error, EINVAL, "%s%sthere is no work in it",
				 spec->file ? spec->file : "", spec->file ? ": " : "");
	return result;
}
