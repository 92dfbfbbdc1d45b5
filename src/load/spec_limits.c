// SPDX-License-Identifier: GPL-2.0-or-later
/* Limits of cgroups: from the words of a spec to what the kernel wants written. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/similar.h"
#include "base/size.h"
#include "load/spec.h"

#define LIMIT_BYTES 64 /* of numbers, as the kernel wants them */

const struct limit_info limit_info[SPEC_LIMITS] = {
	[LIMIT_CPU_WEIGHT] = {"cpu_weight", "cpu.weight", "cpu"},
	[LIMIT_CPU_MAX] = {"cpu_max", "cpu.max", "cpu"},
	[LIMIT_MEMORY_MAX] = {"memory_max", "memory.max", "memory"},
	[LIMIT_MEMORY_HIGH] = {"memory_high", "memory.high", "memory"},
	[LIMIT_MEMORY_LOW] = {"memory_low", "memory.low", "memory"},
	[LIMIT_MEMORY_SWAP_MAX] = {"memory_swap_max", "memory.swap.max", "memory"},
	[LIMIT_IO_WEIGHT] = {"io_weight", "io.weight", "io"},
	[LIMIT_PIDS_MAX] = {"pids_max", "pids.max", "pids"},
	[LIMIT_CPUSET_MEMS] = {"cpuset_mems", "cpuset.mems", "cpuset"},
};

/* "50%" of one CPU, "2" CPUs, "max", or "QUOTA/PERIOD" in times. */
static int cpu_max_text(char *into, size_t room, const char *text, struct error *error)
{
	uint64_t quota_ns = 0, period_ns = 100 * NS_PER_MS;
	const char *slash = strchr(text, '/');
	cleanup_free char *first = slash ? strndup(text, (size_t)(slash - text)) : NULL;
	char *end;
	double cpus;
	int result = 0;

	if (!strcmp(text, "max")) {
		snprintf(into, room, "max");
		return 0;
	}
	if (first) {
		result = duration_parse(first, &quota_ns, error);
		if (result >= 0)
			result = duration_parse(slash + 1, &period_ns, error);
	} else {
		cpus = strtod(text, &end);
		if (end != text && *end == '%' && !end[1])
			cpus /= 100;
		else if (end == text || *end)
			cpus = -1;
		if (!(cpus > 0) || !(cpus <= CPUS_MAX))
			return error_set(
				error, EINVAL,
				"cpu_max: '%s' is neither a percentage of a CPU (50%%), nor "
				"QUOTA/PERIOD (20ms/100ms), nor max",
				text);
		quota_ns = (uint64_t)llround(cpus * (double)period_ns);
	}
	if (result < 0)
		return error_wrap(error, result, "cpu_max");
	/* Documentation/scheduler/sched-bwc.rst: 1 ms <= quota, 1 ms <= period <= 1 s */
	if (quota_ns < NS_PER_MS || period_ns < NS_PER_MS || period_ns > NS_PER_S)
		return error_set(error, EINVAL,
				 "cpu_max: '%s' is out of bounds: at least 1ms, in a period of 1ms "
				 "to 1s",
				 text);
	snprintf(into, room, "%llu %llu", (unsigned long long)(quota_ns / NS_PER_US),
		 (unsigned long long)(period_ns / NS_PER_US));
	return 0;
}

static int size_text(char *into, size_t room, const char *key, const char *text,
		     struct error *error)
{
	uint64_t bytes;
	int result;

	if (!strcmp(text, "max")) {
		snprintf(into, room, "max");
		return 0;
	}
	result = strcmp(text, "0") != 0 ? size_parse(text, &bytes, error) : (int)(bytes = 0);
	if (result < 0)
		return error_wrap(error, result, "%s", key);
	snprintf(into, room, "%llu", (unsigned long long)bytes);
	return 0;
}

static int count_text(char *into, size_t room, const char *key, const char *text, uint64_t most,
		      struct error *error)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (!strcmp(key, "pids_max") && !strcmp(text, "max")) {
		snprintf(into, room, "max");
		return 0;
	}
	if (*text < '0' || *text > '9' || *end || value < 1 || value > most)
		return error_set(error, EINVAL, "%s: '%s' is not a whole number from 1 to %llu",
				 key, text, (unsigned long long)most);
	snprintf(into, room, "%llu", value);
	return 0;
}

static int limit_text(char *into, size_t room, enum spec_limit limit, const char *text,
		      struct error *error)
{
	const char *key = limit_info[limit].key;
	struct cpus nodes;
	int result;

	switch (limit) {
	case LIMIT_CPU_MAX:
		return cpu_max_text(into, room, text, error);
	case LIMIT_CPU_WEIGHT:
	case LIMIT_IO_WEIGHT:
		return count_text(into, room, key, text, 10000, error);
	case LIMIT_PIDS_MAX:
		return count_text(into, room, key, text, 4194304, error);
	case LIMIT_CPUSET_MEMS:
		result = cpus_parse(text, &nodes, error);
		snprintf(into, room, "%s", text);
		return result < 0 ? error_wrap(error, result, "%s", key) : 0;
	default:
		return size_text(into, room, key, text, error);
	}
}

int spec_parse_limit(struct spec_limits *limits, const char *name, const char *text,
		     struct error *error)
{
	for (size_t i = 0; i < SPEC_LIMITS; i++) {
		size_t room = strlen(text) + LIMIT_BYTES;
		char *value;
		int result;

		if (!similar_same(limit_info[i].key, name))
			continue;
		value = malloc(room);
		if (!value)
			return error_set(error, ENOMEM, "out of memory");
		result = limit_text(value, room, (enum spec_limit)i, text, error);
		if (result < 0) {
			free(value);
			return result;
		}
		free(limits->values[i]);
		limits->values[i] = value;
		return 0;
	}
	return error_set(error, EINVAL, "unknown limit '%s'", name);
}

bool spec_is_limit(const char *name)
{
	for (size_t i = 0; i < SPEC_LIMITS; i++)
		if (similar_same(limit_info[i].key, name))
			return true;
	return false;
}
