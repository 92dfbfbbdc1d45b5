// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/spec.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/similar.h"

#define DEFAULT_DURATION_NS (5 * NS_PER_S)

const char *const op_names[OP_KINDS] = {
	[OP_ADD_CGROUP] = "add-cgroup",
	[OP_REMOVE_CGROUP] = "remove-cgroup",
	[OP_SET_CPUSET] = "set-cpuset",
	[OP_CLEAR_CPUSET] = "clear-cpuset",
	[OP_SWAP_CPUSETS] = "swap-cpusets",
	[OP_SET_LIMITS] = "set-limits",
	[OP_SPAWN] = "spawn",
	[OP_STOP_GROUP] = "stop-group",
	[OP_SET_AFFINITY] = "set-affinity",
	[OP_MOVE_TASKS] = "move-tasks",
	[OP_FREEZE] = "freeze",
	[OP_THAW] = "thaw",
	[OP_START_SCHEDULER] = "start-scheduler",
	[OP_STOP_SCHEDULER] = "stop-scheduler",
	[OP_REPLACE_SCHEDULER] = "replace-scheduler",
};

void spec_format_op(char *into, size_t room, const struct spec_op *op)
{
	snprintf(into, room, "%s%s%s%s%s", op_names[op->kind], *op->cgroup.name ? " " : "",
		 op->cgroup.name, *op->other ? " " : "", op->other);
}

void spec_init(struct spec *spec)
{
	*spec = (struct spec){.duration_ns = DEFAULT_DURATION_NS};
	spec->checks.max_gap_ns = spec->checks.max_spread = spec->checks.wake_p99_ns =
		spec->checks.wake_cv = spec->checks.min_iteration_rate =
			spec->checks.max_migration_ratio = spec->checks.throughput_cv =
				spec->checks.min_work_rate = spec->checks.numa_locality = NAN;
}

static void release_work(struct spec_work *work)
{
	if (work->params)
		params_release(work->type->params, work->params);
	free(work->params);
	free(work->affinity.cpus);
}

static void release_cgroup(struct spec_cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->works.count; i++)
		release_work(&cgroup->works.items[i]);
	free(cgroup->works.items);
	free(cgroup->cpuset);
	for (size_t i = 0; i < SPEC_LIMITS; i++)
		free(cgroup->limits.values[i]);
}

static void release_phase(struct spec_phase *phase)
{
	for (size_t i = 0; i < phase->op_count; i++) {
		release_cgroup(&phase->ops[i].cgroup);
		free(phase->ops[i].affinity.cpus);
		free(phase->ops[i].command);
	}
	free(phase->ops);
}

void spec_release(struct spec *spec)
{
	for (size_t i = 0; i < spec->cgroups.count; i++)
		release_cgroup(&spec->cgroups.items[i]);
	free(spec->cgroups.items);
	for (size_t i = 0; i < spec->phases.count; i++)
		release_phase(&spec->phases.items[i]);
	free(spec->phases.items);
	free(spec->description);
	free(spec->file);
	free(spec->source);
	spec_init(spec);
}

struct spec_cgroup *spec_add_cgroup(struct spec_cgroups *cgroups)
{
	if (array_reserve(&cgroups->items, &cgroups->room, cgroups->count + 1,
			  sizeof(*cgroups->items)) < 0)
		return NULL;
	cgroups->items[cgroups->count] = (struct spec_cgroup){.cpuset = NULL};
	return &cgroups->items[cgroups->count++];
}

struct spec_work *spec_add_work(struct spec_works *works)
{
	if (array_reserve(&works->items, &works->room, works->count + 1, sizeof(*works->items)) < 0)
		return NULL;
	works->items[works->count] = (struct spec_work){.type = NULL};
	return &works->items[works->count++];
}

struct spec_phase *spec_add_phase(struct spec_phases *phases)
{
	if (array_reserve(&phases->items, &phases->room, phases->count + 1,
			  sizeof(*phases->items)) < 0)
		return NULL;
	phases->items[phases->count] = (struct spec_phase){.ops = NULL};
	return &phases->items[phases->count++];
}

struct spec_op *spec_add_op(struct spec_phase *phase)
{
	if (array_reserve(&phase->ops, &phase->op_room, phase->op_count + 1, sizeof(*phase->ops)) <
	    0)
		return NULL;
	phase->ops[phase->op_count] = (struct spec_op){.command = NULL};
	return &phase->ops[phase->op_count++];
}

static int set_type(struct spec_work *work, const char *name, struct error *error)
{
	int result = work_type_find(name, &work->type, error);

	if (result < 0)
		return result;
	work->params = calloc(1, work->type->params_bytes ? work->type->params_bytes : 1);
	if (!work->params || params_init(work->type->params, work->params) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return 0;
}

int spec_set_param(struct spec_work *work, const char *name, const char *text, struct error *error)
{
	const struct param *param = params_find(work->type->params, name);
	struct similar similar = {.wanted = name};
	char list[96];

	if (param)
		return param_set(param, work->params, text, error);
	for (param = work->type->params; param && param->name; param++)
		similar_try(&similar, param->name);
	snprintf(list, sizeof(list), "; `dwell load --list %s` shows those it has",
		 work->type->name);
	return similar_error(error, EINVAL, &similar, list, "%s has no parameter '%s'",
			     work->type->name, name);
}

int spec_parse_work(struct spec_work *work, const char *text, struct error *error)
{
	cleanup_free char *copy = strdup(text);
	char *rest, *item;
	int result;

	if (!copy)
		return error_set(error, ENOMEM, "out of memory");
	rest = copy;
	result = set_type(work, strsep(&rest, ":"), error);
	while (result >= 0 && (item = strsep(&rest, ","))) {
		char *value = strchr(item, '=');

		if (!value)
			return error_set(error, EINVAL,
					 "'%s' in '%s' is not NAME=VALUE; write as "
					 "futex-fan-out:fan_out=3,spin_iters=256",
					 item, text);
		*value++ = '\0';
		result = spec_set_param(work, item, value, error);
	}
	return result;
}

/* "KIND:rest" or "KIND" alone; rest is "" then. NULL: it is something else. */
static const char *behind(const char *text, const char *kind)
{
	size_t length = strlen(kind);

	if (strncasecmp(text, kind, length) != 0)
		return NULL;
	if (!text[length])
		return text + length;
	return text[length] == ':' ? text + length + 1 : NULL;
}

static int take_cpus(struct spec_affinity *affinity, const char *text, struct error *error)
{
	if (!*text)
		return 0;
	affinity->cpus = strdup(text);
	return affinity->cpus ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int take_random(struct spec_affinity *affinity, const char *text, struct error *error)
{
	char *end;
	unsigned long count = strtoul(text, &end, 10);

	affinity->kind = AFFINITY_RANDOM;
	if (!*text)
		return 0;
	if (end == text || (*end && *end != ':') || !count || count > CPUS_MAX)
		return error_set(error, EINVAL,
				 "affinity 'random:%s': use random:N or random:N:CPUS, N of them "
				 "for each worker",
				 text);
	affinity->count = (unsigned int)count;
	return take_cpus(affinity, *end ? end + 1 : end, error);
}

int spec_parse_affinity(struct spec_affinity *affinity, const char *text, struct error *error)
{
	static const struct {
		const char *name;
		enum affinity_kind kind;
	} plain[] = {
		{"inherit", AFFINITY_INHERIT},	 {"single", AFFINITY_SINGLE},
		{"llc", AFFINITY_LLC},		 {"cross-cgroup", AFFINITY_CROSS_CGROUP},
		{"smt-pair", AFFINITY_SMT_PAIR},
	};
	const char *rest;

	free(affinity->cpus);
	*affinity = (struct spec_affinity){.kind = AFFINITY_CPUS};
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (!similar_same(plain[i].name, text))
			continue;
		affinity->kind = plain[i].kind;
		return 0;
	}
	rest = behind(text, "random");
	if (rest)
		return take_random(affinity, rest, error);
	rest = behind(text, "spread");
	if (rest) {
		affinity->kind = AFFINITY_SPREAD;
		return take_cpus(affinity, rest, error);
	}
	rest = behind(text, "cpus");
	if (!rest)
		rest = text;
	/* "llc:0", "0-3", "0.0-0.5", "disjoint:…": what a cpuset may say, the planner checks it */
	if (!strpbrk(rest, "0123456789"))
		return error_set(error, EINVAL,
				 "unknown affinity '%s': use inherit, single, spread, random:N, "
				 "llc, smt-pair, cross-cgroup or CPUs, as 0-3",
				 text);
	return take_cpus(affinity, rest, error);
}

static const char *const policy_names[] = {
	[POLICY_NORMAL] = "normal", [POLICY_BATCH] = "batch", [POLICY_IDLE] = "idle",
	[POLICY_FIFO] = "fifo",	    [POLICY_RR] = "rr",	      [POLICY_DEADLINE] = "deadline",
	[POLICY_EXT] = "ext",
};

static int take_priority(struct spec_policy *policy, const char *text, struct error *error)
{
	char *end;
	unsigned long priority = strtoul(text, &end, 10);

	if (end == text || *end || priority < 1 || priority > 99)
		return error_set(error, EINVAL, "%s needs a priority from 1 to 99: %s:10",
				 policy_names[policy->kind], policy_names[policy->kind]);
	policy->priority = (unsigned int)priority;
	return 0;
}

/* RUNTIME/DEADLINE/PERIOD; sched_setattr(2) wants 1 us <= runtime <= deadline <= period. */
static int take_deadline(struct spec_policy *policy, const char *text, struct error *error)
{
	cleanup_free char *copy = strdup(text);
	uint64_t *const into[] = {&policy->runtime_ns, &policy->deadline_ns, &policy->period_ns};
	char *rest = copy, *item;
	int result = copy ? 0 : error_set(error, ENOMEM, "out of memory");
	size_t count = 0;

	while (result >= 0 && (item = strsep(&rest, "/"))) {
		if (count < ARRAY_SIZE(into))
			result = duration_parse(item, into[count], error);
		count++;
	}
	if (result < 0)
		return error_wrap(error, result, "deadline");
	if (count != 3 || policy->runtime_ns < 1024 || policy->runtime_ns > policy->deadline_ns ||
	    policy->deadline_ns > policy->period_ns)
		return error_set(error, EINVAL,
				 "deadline:%s: use RUNTIME/DEADLINE/PERIOD, none below 1.024us "
				 "or shorter than the one before it, as deadline:1ms/5ms/10ms",
				 text);
	return 0;
}

int spec_parse_policy(struct spec_policy *policy, const char *text, struct error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(policy_names); i++) {
		const char *rest = behind(text, policy_names[i]);

		if (!rest)
			continue;
		*policy = (struct spec_policy){.kind = (enum policy_kind)i};
		if (i == POLICY_FIFO || i == POLICY_RR)
			return take_priority(policy, rest, error);
		if (i == POLICY_DEADLINE)
			return take_deadline(policy, rest, error);
		if (!*rest)
			return 0;
	}
	return error_set(
		error, EINVAL,
		"unknown policy '%s': use normal, batch, idle, fifo:PRIORITY, rr:PRIORITY, "
		"deadline:RUNTIME/DEADLINE/PERIOD or ext",
		text);
}

void spec_format_policy(char *into, size_t room, const struct spec_policy *policy)
{
	char times[3][16];

	if (policy->kind == POLICY_FIFO || policy->kind == POLICY_RR) {
		snprintf(into, room, "%s:%u", policy_names[policy->kind], policy->priority);
	} else if (policy->kind == POLICY_DEADLINE) {
		duration_format(times[0], sizeof(times[0]), policy->runtime_ns);
		duration_format(times[1], sizeof(times[1]), policy->deadline_ns);
		duration_format(times[2], sizeof(times[2]), policy->period_ns);
		snprintf(into, room, "deadline:%s/%s/%s", times[0], times[1], times[2]);
	} else {
		snprintf(into, room, "%s", policy_names[policy->kind]);
	}
}

static bool needs_cgroups(const struct spec_cgroup *cgroup)
{
	for (size_t i = 0; i < cgroup->works.count; i++)
		if (cgroup->works.items[i].type->flags & WORK_CGROUPS)
			return true;
	return *cgroup->name != '\0';
}

uint64_t spec_hold_ns(const struct spec *spec, const struct spec_phase *phase)
{
	return phase->hold == HOLD_TIME ? phase->hold_ns
					: (uint64_t)(phase->share * (double)spec->duration_ns);
}

uint64_t spec_length_ns(const struct spec *spec)
{
	uint64_t length_ns = spec->phases.count ? 0 : spec->duration_ns;

	for (size_t i = 0; i < spec->phases.count; i++)
		length_ns += spec_hold_ns(spec, &spec->phases.items[i]);
	return length_ns;
}

bool spec_needs_cgroups(const struct spec *spec)
{
	for (size_t i = 0; i < spec->cgroups.count; i++)
		if (needs_cgroups(&spec->cgroups.items[i]))
			return true;
	for (size_t i = 0; i < spec->phases.count; i++)
		for (size_t k = 0; k < spec->phases.items[i].op_count; k++)
			if (needs_cgroups(&spec->phases.items[i].ops[k].cgroup))
				return true;
	return false;
}
