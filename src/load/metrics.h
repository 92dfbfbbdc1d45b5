/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is compared of a group, and by how much it has to differ to count.
 *
 * Runs may differ in length, so what grows with it is a rate here: migrations and iterations are
 * per second, for runs of any length. Their gates are of totals (10 migrations, 100 iterations, 10
 * of the slowest worker), because chance counts events: they become rates by the length of the
 * shorter side's runs.
 */
#ifndef DWELL_LOAD_METRICS_H
#define DWELL_LOAD_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum load_metric {
	METRIC_OFF_CPU_SPREAD,
	METRIC_MAX_GAP,
	METRIC_MIGRATIONS,
	METRIC_MIGRATION_RATIO,
	METRIC_CROSS_LLC,
	METRIC_CROSS_NODE,
	METRIC_WAKE_P99,
	METRIC_WAKE_MEDIAN,
	METRIC_WAKE_CV,
	METRIC_WAKE_TAIL,
	METRIC_ITERATIONS,
	METRIC_SLOWEST_WORKER,
	METRIC_FAIRNESS,
	METRIC_CPUS,
	METRIC_RUN_DELAY,
	METRIC_WORST_RUN_DELAY,
	METRIC_COST_P50,
	METRIC_COST_P99,
	METRIC_PAGE_LOCALITY,
	METRIC_PAGES_MIGRATED,
	LOAD_METRICS,
};

enum load_unit {
	LOAD_US, /* values are ns */
	LOAD_MS,
	LOAD_PERCENT, /* values are shares */
	LOAD_NUMBER,
	LOAD_RATE, /* per second */
};

/* Both must be reached: |b - a| and |b - a| / |a|. In the units of values, and a share. */
struct load_gate {
	double absolute, relative;
	bool of_total; /* `absolute` is of a whole run, of a metric that is a rate */
};

struct load_metric_info {
	const char *key;
	enum load_unit unit;
	bool higher_is_better;
	double absolute, relative; /* gates; of a rate `absolute` is of the total of a run */
	int decimals;		   /* in the unit it is shown in */
	const char *help;
};

extern const struct load_metric_info load_metrics[LOAD_METRICS];

/* Of the options that choose and limit them. */
#define METRICS_HELP                                                                               \
	"judge only these, or `all`, until each is decided (without it: all are judged, and "      \
	"throughput, wakeups and waits for a CPU are decided)"
#define GATE_HELP "minimum absolute and relative change of a metric that counts"

/* Of a stream of samples; `total` not above 0: it has none. */
struct load_samples {
	double total, p50_ns, p99_ns, cv;
};

/* What a report says of a group. NAN: not measured. */
struct load_totals {
	double workers, wall_ns; /* of all workers together */
	double off_cpu_spread;	 /* share */
	double max_gap_ms;
	double migrations, cross_llc, cross_node;
	double cpu_ns, fairness;
	double iterations, iteration_rate, slowest_worker; /* the latter two per second */
	double run_delay_ns, run_count;
	double worst_run_delay_ns; /* the largest mean of a worker */
	double pages, local_pages, migrated_pages;
	struct load_samples wake_to_run, resume, cost;
};

/* Which samples show a group's wakeups. */
enum load_wakes {
	LOAD_WAKES_NONE,
	LOAD_WAKES_RESUME,
	LOAD_WAKES_TO_RUN,
};

enum load_wakes load_totals_wakes(const struct load_totals *totals);
bool load_metric_is_wake(enum load_metric metric);

/* More of it is neither good nor bad: it is shown, and not judged. */
static inline bool load_metric_is_neutral(enum load_metric metric)
{
	return metric == METRIC_CPUS;
}

/* How long its workers lived, in the mean. NAN: not known. */
double load_totals_seconds(const struct load_totals *totals);

/* NAN: not measured. */
void load_totals_values(const struct load_totals *totals, double values[LOAD_METRICS]);

void load_gates_init(struct load_gate gates[LOAD_METRICS]);

/* -EINVAL: there is none of that name, and `option` asked for it. */
int load_metric_find(const char *name, enum load_metric *ret_metric, const char *option,
		     struct error *error) must_check;

/*
 * "wake-p99=50us/25%" changes one of them; of rates it is a rate, not of a total any more. -EINVAL
 * if it cannot be read.
 */
int load_gate_parse(struct load_gate gates[LOAD_METRICS], const char *text,
		    struct error *error) must_check;

/* In the unit of the metric, "-" for NAN; returns the columns it takes. */
size_t load_metric_format(char *into, size_t room, enum load_metric metric, double value);

/* "ns", "share", "number" or "per_second": what values are in. */
const char *load_metric_base(enum load_metric metric);

#endif
