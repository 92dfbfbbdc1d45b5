// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/load_values.h"

#include <stdio.h>

void value_cpus(struct value *value, const struct cpus *cpus)
{
	unsigned int end = 0;

	for (unsigned int cpu = cpus_next(cpus, 0); cpu < CPUS_MAX; cpu = cpus_next(cpus, cpu + 1))
		end = cpu + 1;
	value_elements(value, end);
}

void value_cpu(struct value *value, const struct cpus *cpus, size_t cpu)
{
	value_number(value, cpu);
	if (!cpus_has(cpus, (unsigned int)cpu))
		value_absent(value);
}

void value_node(struct value *value, const uint64_t pages[REPORT_NODES], size_t node)
{
	value_number(value, pages[node]);
	if (!pages[node])
		value_absent(value);
	snprintf(value->text, sizeof(value->text), "%zu", node);
	value->name = value->text;
}

static const struct field sample_fields[] = {
	NUMBER_MEMBER(struct sample_summary, total, "total", "samples there were"),
	NUMBER_MEMBER(struct sample_summary, count, "kept", "of them"),
	NUMBER_MEMBER(struct sample_summary, min, "min_ns", "the least"),
	NUMBER_MEMBER(struct sample_summary, p50, "p50_ns", "median"),
	NUMBER_MEMBER(struct sample_summary, p90, "p90_ns", "90th percentile"),
	NUMBER_MEMBER(struct sample_summary, p99, "p99_ns", "99th percentile"),
	NUMBER_MEMBER(struct sample_summary, p999, "p99_9_ns", "99.9th percentile"),
	NUMBER_MEMBER(struct sample_summary, max, "max_ns", "the largest"),
	REAL_MEMBER(struct sample_summary, mean, "mean_ns", "arithmetic mean"),
	REAL_MEMBER(struct sample_summary, cv, "cv", "standard deviation by mean"),
};

const struct schema sample_schema = {
	.name = "distribution", .help = "null without samples", SCHEMA_FIELDS(sample_fields)};

void value_samples(struct value *value, const struct sample_summary *summary)
{
	if (summary->count)
		value_object(value, summary, NULL);
	else
		value_null(value);
}
