/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics that `dwell serve` has, one after the other, for every format that monitoring reads:
 * exposition.h writes text of them, remote_write.h and otlp.h protocol buffers, clickhouse.h rows.
 */
#ifndef DWELL_VIEW_METRICS_H
#define DWELL_VIEW_METRICS_H

#include <stdbool.h>
#include <string.h>

#include "model/counters.h"
#include "model/hotspots.h"

/* The last stall of a program: `tid` and `start_ns` are those of its line of JSON. */
struct stall_last {
	uint64_t ns; /* 0: none yet */
	uint64_t tid, start_ns;
	const char *function; /* "": not known */
};

/* Stalls of the workers of one program. */
struct metrics_stalls {
	const char *process;
	bool is_up;
	const uint64_t *by_cause;  /* [STALL_CAUSES_COUNT] */
	const uint64_t *by_length; /* [STALL_BUCKETS] */
	uint64_t total_ns;
	uint64_t stuck; /* workers, now */
	struct stall_last last;
};

/* Batches for one engine that figures are pushed to. */
struct metrics_push {
	const char *engine;
	uint64_t sent, queue_bytes;
	const char *const *reasons; /* of those that were dropped */
	const uint64_t *dropped;
	size_t reason_count;
};

/* A condition, and how often it was met. */
struct metrics_trigger {
	const char *words;
	const char *group; /* NULL: of all */
	uint64_t fired;
};

#define METRICS_PUSHES 8

/* Of the service itself, besides what it counts. */
struct metrics_service {
	bool has_store;
	uint64_t store_bytes, store_files, store_failures;
	struct metrics_stalls stalls[4];
	size_t stall_count;
	bool has_flight; /* a flight recorder */
	struct metrics_trigger (*trigger)(const void *data, size_t index);
	const void *trigger_data;
	size_t trigger_count;
	uint64_t flight_written, flight_suppressed;
	struct metrics_push pushes[METRICS_PUSHES];
	size_t push_count;
	/* The name of a container, or ""; NULL: none is asked for. */
	const char *(*container_name)(const void *containers, const char *id);
	const void *containers;
	uint64_t container_names, container_failures;
};

struct metrics_input {
	const struct counters *counters;
	const struct session_info *session;
	const struct metrics_service *service;
};

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_INFO, /* 1, and what it says is in the labels */
	METRIC_HISTOGRAM,
};

struct metric_family {
	const char *name; /* without what a type adds: _total, _info */
	enum metric_type type;
	const char *unit; /* "seconds", whose values are ns; "bytes"; NULL: a number of things */
	const char *help;
};

struct metric_label {
	const char *name, *value; /* the value: any bytes */
};

#define METRIC_LABELS  5
#define METRIC_BUCKETS 14

struct metric_histogram {
	size_t count; /* of buckets; the last one has all that is above the others */
	unsigned int bounds[METRIC_BUCKETS]; /* it has what is below 2^bound ns; of the last: 0 */
	uint64_t counts[METRIC_BUCKETS];     /* without those of the buckets before */
	uint64_t total;			     /* of all */
	uint64_t sum_ns;
	const struct stall_last *last; /* that was counted; NULL: not of stalls */
};

struct metric_point {
	struct metric_label labels[METRIC_LABELS];
	size_t label_count;
	uint64_t value;
	uint64_t begun_ns; /* counts since then, CLOCK_REALTIME; 0: since counting began */
	const struct metric_histogram *histogram; /* in place of the value */
};

struct metric_sink {
	void *data;
	/* A family, and its points, each of which has other labels. What is passed is as it is
	 * until the function returns. */
	void (*family)(void *data, const struct metric_family *family);
	void (*point)(void *data, const struct metric_family *family,
		      const struct metric_point *point);
};

void metrics_walk(const struct metrics_input *input, const struct metric_sink *sink);

/* One value of a point, as Prometheus has it: a histogram has one of each bucket, and two more. */
struct metric_sample {
	const char *suffix; /* behind the family's name */
	const struct metric_label *labels;
	size_t label_count;
	uint64_t value;
	bool is_seconds;			  /* the value is ns */
	const struct metric_histogram *histogram; /* of a bucket; else NULL */
	size_t bucket;
};

#define METRIC_SAMPLE_LABELS (METRIC_LABELS + 1)

void metric_each_sample(const struct metric_family *family, const struct metric_point *point,
			void (*call)(void *data, const struct metric_family *family,
				     const struct metric_sample *sample),
			void *data);

/* Of a sample: in seconds, or as it is. */
double metric_value(const struct metric_sample *sample);

/* The bound of a bucket in seconds. */
double metric_bound_seconds(unsigned int bound);

static inline bool metric_is_seconds(const struct metric_family *family)
{
	return family->unit && !strcmp(family->unit, "seconds");
}

/* What a name of Prometheus has behind the family's. */
const char *metric_suffix(const struct metric_family *family);

#endif
