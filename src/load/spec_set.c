// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* sched_getaffinity */
#include "load/spec_set.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/similar.h"
#include "load/cpus.h"

#define LOAD	"load"
#define WORKERS "workers"

static const struct param workers_param = {
	.name = WORKERS, .kind = PARAM_COUNT, .min = 1, .max = SPEC_MAX_WORKERS};

/* A name that may be of one group only. */
struct wanted {
	char group[SPEC_NAME_BYTES]; /* "": of all */
	const char *name;
};

static int parse_wanted(struct wanted *wanted, const char *name, struct error *error)
{
	const char *point = strrchr(name, '.');

	*wanted = (struct wanted){.name = point ? point + 1 : name};
	if (!point)
		return 0;
	if ((size_t)(point - name) >= sizeof(wanted->group) || point == name)
		return error_set(error, EINVAL, "'%s' is not GROUP.NAME", name);
	snprintf(wanted->group, sizeof(wanted->group), "%.*s", (int)(point - name), name);
	return 0;
}

/* NULL: the work does not have it, or is not meant. */
static const struct param *param_of(const struct wanted *wanted, const char *cgroup,
				    const struct spec_work *work)
{
	if (*wanted->group && strcmp(wanted->group, cgroup) != 0 &&
	    !similar_same(wanted->group, work->type->name))
		return NULL;
	return similar_same(wanted->name, WORKERS) ? &workers_param
						   : params_find(work->type->params, wanted->name);
}

/* The cgroups of a spec, and then those that its ops name, one by one; NULL: no more. */
static struct spec_cgroup *cgroup_at(const struct spec *spec, size_t number)
{
	if (number < spec->cgroups.count)
		return &spec->cgroups.items[number];
	number -= spec->cgroups.count;
	for (size_t i = 0; i < spec->phases.count; i++) {
		struct spec_phase *phase = &spec->phases.items[i];

		if (number < phase->op_count)
			return &phase->ops[number].cgroup;
		number -= phase->op_count;
	}
	return NULL;
}

static int unknown(const struct spec *spec, const struct wanted *wanted, const char *name,
		   struct error *error)
{
	struct similar similar = {.wanted = wanted->name};
	char all[300] = "; there are: " WORKERS ", " LOAD;
	const struct spec_cgroup *cgroup;

	similar_try(&similar, WORKERS);
	similar_try(&similar, LOAD);
	for (size_t i = 0; (cgroup = cgroup_at(spec, i)); i++)
		for (size_t k = 0; k < cgroup->works.count; k++)
			for (const struct param *param = cgroup->works.items[k].type->params;
			     param && param->name; param++) {
				size_t used = strlen(all);

				similar_try(&similar, param->name);
				if (!strstr(all, param->name))
					snprintf(all + used, sizeof(all) - used, ", %s",
						 param->name);
			}
	return similar_error(error, EINVAL, &similar, all, "no group has a '%s'", name);
}

/* That of open-loop: what "load" means where no group has it. */
static const struct param *load_param(void)
{
	const struct work_type *type = NULL;

	return work_type_find("open-loop", &type, NULL) < 0 ? NULL
							    : params_find(type->params, LOAD);
}

static bool means_background(const struct wanted *wanted)
{
	return similar_same(wanted->name, LOAD) &&
	       (!*wanted->group || !strcmp(wanted->group, SPEC_BACKGROUND));
}

int spec_find_value(const struct spec *spec, const char *name, struct spec_value *ret_value,
		    struct error *error)
{
	const struct spec_cgroup *cgroup;
	struct wanted wanted;
	int result = parse_wanted(&wanted, name, error);

	*ret_value = (struct spec_value){.team = 1};
	for (size_t i = 0; result >= 0 && (cgroup = cgroup_at(spec, i)); i++)
		for (size_t k = 0; k < cgroup->works.count; k++) {
			const struct spec_work *work = &cgroup->works.items[k];
			const struct param *param = param_of(&wanted, cgroup->name, work);
			unsigned int team = work_team_size(work->type, work->params);

			if (!param)
				continue;
			if (ret_value->param && ret_value->param->kind != param->kind)
				return error_set(error, EINVAL,
						 "'%s' is not of one kind in all groups: name one, "
						 "as %s.%s",
						 name, work->type->name, name);
			ret_value->param = param;
			if (param == &workers_param && team > ret_value->team)
				ret_value->team = team;
		}
	if (result >= 0 && !ret_value->param && means_background(&wanted)) {
		ret_value->is_background = true;
		ret_value->param = load_param();
	}
	if (result >= 0 && !ret_value->param)
		result = unknown(spec, &wanted, name, error);
	return result;
}

static int set_workers(struct spec_work *work, const char *text, struct error *error)
{
	struct param param = workers_param;
	uint64_t workers = 0;
	int result;

	param.offset = 0;
	result = param_set(&param, &workers, text, error);
	if (result >= 0)
		work->workers = (unsigned int)workers;
	return result;
}

static unsigned int usable_cpus(void)
{
	struct cpus usable = {{0}};

	if (sched_getaffinity(0, sizeof(usable), (cpu_set_t *)&usable) < 0)
		return 1;
	return cpus_count(&usable);
}

/* That of groups that are in none of ours; a new one where there is none. */
static struct spec_cgroup *outer_cgroup(struct spec *spec)
{
	for (size_t i = 0; i < spec->cgroups.count; i++)
		if (!*spec->cgroups.items[i].name)
			return &spec->cgroups.items[i];
	return spec_add_cgroup(&spec->cgroups);
}

/* In a cgroup of its own where others are: it stands for another program. */
static int add_background(struct spec *spec, const char *text, struct error *error)
{
	bool own = spec_needs_cgroups(spec);
	struct spec_cgroup *cgroup = own ? spec_add_cgroup(&spec->cgroups) : outer_cgroup(spec);
	struct spec_work *work = cgroup ? spec_add_work(&cgroup->works) : NULL;
	int result;

	if (!work)
		return error_set(error, ENOMEM, "out of memory");
	if (own)
		snprintf(cgroup->name, sizeof(cgroup->name), "%s", SPEC_BACKGROUND);
	result = spec_parse_work(work, "open-loop", error);
	if (result >= 0)
		result = spec_set_param(work, LOAD, text, error);
	work->workers = usable_cpus();
	return result;
}

int spec_set_value(struct spec *spec, const char *name, const char *text, struct error *error)
{
	struct spec_value value;
	struct spec_cgroup *cgroup;
	struct wanted wanted;
	bool found = false;
	int result = spec_find_value(spec, name, &value, error);

	if (result >= 0)
		result = parse_wanted(&wanted, name, error);
	for (size_t i = 0; result >= 0 && (cgroup = cgroup_at(spec, i)); i++)
		for (size_t k = 0; result >= 0 && k < cgroup->works.count; k++) {
			struct spec_work *work = &cgroup->works.items[k];
			const struct param *param = param_of(&wanted, cgroup->name, work);

			if (!param)
				continue;
			found = true;
			result = param == &workers_param
					 ? set_workers(work, text, error)
					 : param_set(param, work->params, text, error);
		}
	if (result >= 0 && !found)
		result = add_background(spec, text, error);
	return result;
}
