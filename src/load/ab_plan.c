// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/ab_plan.h"

#include <string.h>

#include "base/random.h"
#include "load/compare.h"
#include "load/work_type.h"

#define FIRST_LOOK 8 /* fewer show no difference with the confidence that is left for each */
#define STEP_LEAST 4
#define STEP	   1.4
#define NOT_WORTH  2 /* as few before the end */

void ab_plan_make(struct ab_plan *plan, unsigned int pairs)
{
	unsigned int at = FIRST_LOOK;

	*plan = (struct ab_plan){.pairs = pairs};
	while (at + NOT_WORTH < pairs && plan->look_count < AB_LOOKS_MAX - 1) {
		unsigned int next = (unsigned int)(at * STEP);

		plan->looks[plan->look_count++] = at;
		at = next < at + STEP_LEAST ? at + STEP_LEAST : next;
	}
	plan->looks[plan->look_count++] = pairs;
	plan->alpha = LOAD_ALPHA / plan->look_count;
}

bool ab_plan_looks(const struct ab_plan *plan, unsigned int pairs)
{
	for (unsigned int i = 0; i < plan->look_count; i++)
		if (plan->looks[i] == pairs)
			return true;
	return false;
}

/* Calls for each cgroup, and each op's; whether one call is true. */
static bool any_cgroup(const struct spec *spec,
		       bool (*call)(const struct spec_cgroup *cgroup, const void *data),
		       const void *data)
{
	for (size_t i = 0; i < spec->cgroups.count; i++)
		if (call(&spec->cgroups.items[i], data))
			return true;
	for (size_t i = 0; i < spec->phases.count; i++)
		for (size_t k = 0; k < spec->phases.items[i].op_count; k++)
			if (call(&spec->phases.items[i].ops[k].cgroup, data))
				return true;
	return false;
}

static bool moves(const struct spec *spec)
{
	for (size_t i = 0; i < spec->phases.count; i++)
		for (size_t k = 0; k < spec->phases.items[i].op_count; k++)
			if (spec->phases.items[i].ops[k].kind == OP_MOVE_TASKS)
				return true;
	return false;
}

/* Work that is looked for in another spec. */
struct wanted {
	const struct spec *other;
	bool anywhere; /* else in that cgroup */
	const char *cgroup, *type;
};

static bool has_wanted(const struct spec_cgroup *cgroup, const void *data)
{
	const struct wanted *wanted = data;

	for (size_t i = 0; i < cgroup->works.count; i++)
		if ((wanted->anywhere || !strcmp(cgroup->name, wanted->cgroup)) &&
		    !strcmp(cgroup->works.items[i].type->name, wanted->type))
			return true;
	return false;
}

static bool is_in_other(const struct spec_cgroup *cgroup, const void *data)
{
	struct wanted wanted = *(const struct wanted *)data;

	wanted.cgroup = cgroup->name;
	for (size_t i = 0; i < cgroup->works.count; i++) {
		wanted.type = cgroup->works.items[i].type->name;
		if (any_cgroup(wanted.other, has_wanted, &wanted))
			return true;
	}
	return false;
}

bool ab_plan_can_compare(const struct spec *a, const struct spec *b)
{
	const struct wanted wanted = {.other = b, .anywhere = moves(a) || moves(b)};

	return any_cgroup(a, is_in_other, &wanted);
}

bool ab_plan_begins_with_b(uint64_t seed, unsigned int pair)
{
	bool first = random_seed(seed, pair / 2) >> 32 & 1;

	return first != (pair % 2);
}
