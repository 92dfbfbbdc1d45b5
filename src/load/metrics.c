// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/similar.h"
#include "load/checks.h"

#define US   1e3
#define MS   1e6

#define LOW  false /* is better */
#define HIGH true

const struct load_metric_info load_metrics[LOAD_METRICS] = {
	[METRIC_OFF_CPU_SPREAD] = {"off-cpu-spread", LOAD_PERCENT, LOW, .02, .25, 1,
				   "largest difference of the workers' shares of time off a CPU"},
	[METRIC_MAX_GAP] = {"max-gap", LOAD_MS, LOW, 10 * MS, .5, 0,
			    "longest time in which a worker made no progress"},
	[METRIC_MIGRATIONS] = {"migrations", LOAD_RATE, LOW, 10, .3, 1,
			       "migrations of all workers per second"},
	[METRIC_MIGRATION_RATIO] = {"migration-ratio", LOAD_NUMBER, LOW, .05, .2, 4,
				    "migrations per iteration"},
	[METRIC_CROSS_LLC] = {"cross-llc", LOAD_RATE, LOW, 10, .3, 1,
			      "migrations to another last-level cache per second"},
	[METRIC_CROSS_NODE] = {"cross-node", LOAD_RATE, LOW, 10, .3, 1,
			       "migrations to another NUMA node per second"},
	[METRIC_WAKE_P99] = {"wake-p99", LOAD_US, LOW, 1 * US, .1, 1, "99th percentile of wakeups"},
	[METRIC_WAKE_MEDIAN] = {"wake-median", LOAD_US, LOW, .5 * US, .1, 1, "median of wakeups"},
	[METRIC_WAKE_CV] = {"wake-cv", LOAD_NUMBER, LOW, .1, .25, 2,
			    "coefficient of variation of wakeups"},
	[METRIC_WAKE_TAIL] = {"wake-tail", LOAD_NUMBER, LOW, .5, .25, 2,
			      "99th percentile of wakeups / median"},
	[METRIC_ITERATIONS] = {"iterations", LOAD_RATE, HIGH, 10, .03, 1,
			       "iterations of all workers per second"},
	[METRIC_SLOWEST_WORKER] = {"slowest-worker", LOAD_RATE, HIGH, 5, .05, 1,
				   "iterations per second of the slowest worker"},
	[METRIC_FAIRNESS] = {"fairness", LOAD_NUMBER, HIGH, .02, .02, 3,
			     "Jain's index of the workers' CPU times"},
	[METRIC_CPUS] = {"cpus", LOAD_NUMBER, LOW, .01, .03, 2,
			 "CPU time of all workers per second, in CPUs"},
	[METRIC_RUN_DELAY] = {"run-delay", LOAD_US, LOW, 1 * US, .1, 1, "mean wait for a CPU"},
	[METRIC_WORST_RUN_DELAY] = {"worst-run-delay", LOAD_US, LOW, 5 * US, .25, 1,
				    "the same of the worker with the largest"},
	[METRIC_COST_P50] = {"cost-p50", LOAD_US, LOW, .5 * US, .1, 1,
			     "median of the wall time of an iteration"},
	[METRIC_COST_P99] = {"cost-p99", LOAD_US, LOW, 1 * US, .25, 1,
			     "99th percentile of the same"},
	[METRIC_PAGE_LOCALITY] = {"page-locality", LOAD_PERCENT, HIGH, .05, .1, 1,
				  "share of the pages on nodes of the workers' CPUs"},
	[METRIC_PAGES_MIGRATED] = {"pages-migrated", LOAD_NUMBER, LOW, .05, .2, 4,
				   "pages the machine moved between nodes / pages of the group"},
};

static const struct unit {
	const char *suffix;
	double size;
	const char *base;
} units[] = {
	[LOAD_US] = {"us", US, "ns"},	       [LOAD_MS] = {"ms", MS, "ns"},
	[LOAD_PERCENT] = {"%", .01, "share"},  [LOAD_NUMBER] = {"", 1, "number"},
	[LOAD_RATE] = {"/s", 1, "per_second"},
};

enum load_wakes load_totals_wakes(const struct load_totals *totals)
{
	return totals->wake_to_run.total > 0 ? LOAD_WAKES_TO_RUN
	       : totals->resume.total > 0    ? LOAD_WAKES_RESUME
					     : LOAD_WAKES_NONE;
}

bool load_metric_is_wake(enum load_metric metric)
{
	return metric >= METRIC_WAKE_P99 && metric <= METRIC_WAKE_TAIL;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* Not of the run: groups may live for a part of it only. */
double load_totals_seconds(const struct load_totals *totals)
{
	return ratio(totals->wall_ns / 1e9, totals->workers);
}

/* Of few samples the 99th percentile is the largest, and says nothing. */
static double unless_few(const struct load_samples *samples, double value)
{
	return samples->total >= CHECK_SAMPLES_MIN ? value : NAN;
}

void load_totals_values(const struct load_totals *totals, double values[LOAD_METRICS])
{
	enum load_wakes kind = load_totals_wakes(totals);
	const struct load_samples *wakes =
		kind == LOAD_WAKES_TO_RUN ? &totals->wake_to_run : &totals->resume;
	const struct load_samples *cost = &totals->cost;

	values[METRIC_OFF_CPU_SPREAD] = totals->workers > 1 ? totals->off_cpu_spread : NAN;
	values[METRIC_MAX_GAP] = totals->max_gap_ms * MS;
	values[METRIC_MIGRATIONS] = ratio(totals->migrations, load_totals_seconds(totals));
	values[METRIC_MIGRATION_RATIO] = ratio(totals->migrations, totals->iterations);
	values[METRIC_CROSS_LLC] = ratio(totals->cross_llc, load_totals_seconds(totals));
	values[METRIC_CROSS_NODE] = ratio(totals->cross_node, load_totals_seconds(totals));
	values[METRIC_FAIRNESS] = totals->fairness;
	values[METRIC_CPUS] = ratio(totals->cpu_ns / 1e9, load_totals_seconds(totals));
	values[METRIC_WAKE_P99] = unless_few(wakes, wakes->p99_ns);
	values[METRIC_WAKE_MEDIAN] = kind == LOAD_WAKES_NONE ? NAN : wakes->p50_ns;
	values[METRIC_WAKE_CV] = unless_few(wakes, wakes->cv);
	values[METRIC_WAKE_TAIL] = unless_few(wakes, ratio(wakes->p99_ns, wakes->p50_ns));
	values[METRIC_ITERATIONS] = totals->iteration_rate;
	values[METRIC_SLOWEST_WORKER] = totals->slowest_worker;
	values[METRIC_RUN_DELAY] = ratio(totals->run_delay_ns, totals->run_count);
	values[METRIC_WORST_RUN_DELAY] = totals->worst_run_delay_ns;
	values[METRIC_COST_P50] = cost->total > 0 ? cost->p50_ns : NAN;
	values[METRIC_COST_P99] = unless_few(cost, cost->p99_ns);
	values[METRIC_PAGE_LOCALITY] = ratio(totals->local_pages, totals->pages);
	values[METRIC_PAGES_MIGRATED] = ratio(totals->migrated_pages, totals->pages);
}

void load_gates_init(struct load_gate gates[LOAD_METRICS])
{
	for (int i = 0; i < LOAD_METRICS; i++)
		gates[i] = (struct load_gate){.absolute = load_metrics[i].absolute,
					      .relative = load_metrics[i].relative,
					      .of_total = load_metrics[i].unit == LOAD_RATE};
}

int load_metric_find(const char *name, enum load_metric *ret_metric, const char *option,
		     struct error *error)
{
	struct similar similar = {.wanted = name};
	char all[400] = "; there are: ";

	for (int i = 0; i < LOAD_METRICS; i++) {
		size_t used = strlen(all);

		if (similar_same(load_metrics[i].key, name)) {
			*ret_metric = (enum load_metric)i;
			return 0;
		}

		similar_try(&similar, load_metrics[i].key);
		snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "",
			 load_metrics[i].key);
	}
	return similar_error(error, EINVAL, &similar, all, "%s: no metric '%s'", option, name);
}

/* Lengths of time need a unit, any; the others may have their own. False: it cannot be read. */
static bool parse_absolute(const char *text, enum load_unit unit, double *ret_value)
{
	static const struct {
		const char *name;
		double ns;
	} times[] = {{"ns", 1}, {"us", US}, {"ms", MS}, {"s", 1e9}};
	bool is_time = unit == LOAD_US || unit == LOAD_MS;
	double value;
	char *end;

	value = strtod(text, &end);
	if (end == text || !(value >= 0) || !isfinite(value))
		return false;
	if (!is_time || (!*end && value == 0)) {
		*ret_value = value * units[unit].size;
		return !*end || !strcmp(end, units[unit].suffix);
	}
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (!strcmp(end, times[i].name)) {
			*ret_value = value * times[i].ns;
			return true;
		}
	return false;
}

static bool parse_relative(const char *text, double *ret_value)
{
	char *end;

	*ret_value = strtod(text, &end) / 100;
	return end != text && !strcmp(end, "%") && *ret_value >= 0 && isfinite(*ret_value);
}

int load_gate_parse(struct load_gate gates[LOAD_METRICS], const char *text, struct error *error)
{
	const char *equals = strchr(text, '='), *slash = strrchr(text, '/');
	char name[64], absolute[64];
	struct load_gate gate = {.of_total = false};
	const struct load_metric_info *info;
	enum load_metric metric;

	if (!equals || !slash || slash < equals || equals - text >= (ptrdiff_t)sizeof(name) ||
	    slash - equals > (ptrdiff_t)sizeof(absolute))
		return error_set(error, EINVAL, "--gate needs METRIC=ABSOLUTE/RELATIVE%%, not '%s'",
				 text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	snprintf(absolute, sizeof(absolute), "%.*s", (int)(slash - equals - 1), equals + 1);
	if (load_metric_find(name, &metric, "--gate", error) < 0)
		return -EINVAL;
	info = &load_metrics[metric];
	if (!parse_absolute(absolute, info->unit, &gate.absolute) ||
	    !parse_relative(slash + 1, &gate.relative))
		return error_set(error, EINVAL,
				 "--gate %s needs a number of %s and a percentage, as "
				 "%s=%g%s/%g%%, not '%s'",
				 info->key,
				 *units[info->unit].suffix ? units[info->unit].suffix : "no unit",
				 info->key, info->absolute / units[info->unit].size,
				 units[info->unit].suffix, 100 * info->relative, equals + 1);
	gates[metric] = gate;
	return 0;
}

size_t load_metric_format(char *into, size_t room, enum load_metric metric, double value)
{
	const struct load_metric_info *info = &load_metrics[metric];
	const struct unit *unit = &units[info->unit];
	int length = isnan(value) ? snprintf(into, room, "-")
				  : snprintf(into, room, "%.*f%s", info->decimals,
					     value / unit->size, unit->suffix);

	return length > 0 ? (size_t)length : 0;
}

const char *load_metric_base(enum load_metric metric)
{
	return units[load_metrics[metric].unit].base;
}
