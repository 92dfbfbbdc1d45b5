// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* qsort_r */
#include "view/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/similar.h"

#define ALL	(1U << BY_THREAD | 1U << BY_PROCESS | 1U << BY_CGROUP)
#define THREADS (1U << BY_THREAD)
#define NAMED	(1U << BY_THREAD | 1U << BY_PROCESS)
#define SUMS	(1U << BY_PROCESS | 1U << BY_CGROUP)

#define GETTER(name)                                                                               \
	static void name(__attribute__((unused)) const struct field *field,                        \
			 __attribute__((unused)) const struct row *row,                            \
			 __attribute__((unused)) const struct about *about, struct value *value)

#define NUMBER_GETTER(name, expression)                                                            \
	GETTER(name)                                                                               \
	{                                                                                          \
		number(value, expression);                                                         \
	}

static void number(struct value *value, uint64_t n)
{
	value->kind = VALUE_NUMBER;
	value->number = n;
}

static void string(struct value *value, const char *text)
{
	value->kind = VALUE_STRING;
	value->string = text;
}

/* What a sum over several may not have. */
static void identifier(struct value *value, uint64_t n)
{
	number(value, n);
	if (!n)
		value->kind = VALUE_NULL;
}

GETTER(get_pid)
{
	identifier(value, row->pid);
}
GETTER(get_tid)
{
	identifier(value, row->tid);
}
NUMBER_GETTER(get_parent, row->parent_pid)
GETTER(get_comm)
{
	string(value, row->comm);
}
GETTER(get_process)
{
	string(value, row->process);
}
NUMBER_GETTER(get_threads, row->threads)
GETTER(get_start)
{
	identifier(value, row->start_ns);
}
NUMBER_GETTER(get_observed, row->observed_ns)
GETTER(get_state_ns)
{
	if (about_measures(about, wire_of_state((enum state)field->argument)))
		number(value, row->states_ns[field->argument]);
	else
		value->kind = VALUE_NULL;
}
NUMBER_GETTER(get_voluntary, row->voluntary)
NUMBER_GETTER(get_involuntary, row->involuntary)
NUMBER_GETTER(get_wakeups, row->woken)
NUMBER_GETTER(get_migrations, row->migrations)
NUMBER_GETTER(get_woken, row->woken)
NUMBER_GETTER(get_preempted, row->preempted)
NUMBER_GETTER(get_throttled, row->throttled)
GETTER(get_delay)
{
	if (!(row->delays_measured & 1U << field->argument)) {
		value->kind = VALUE_NULL;
		return;
	}
	value->kind = VALUE_DELAY;
	value->number = row->delays[field->argument].total_ns;
	value->count = row->delays[field->argument].count;
}

GETTER(get_cgroup)
{
	const char *path = about_cgroup(about, row->cgroup_id);

	if (path)
		string(value, path);
	else
		value->kind = VALUE_NULL;
}

GETTER(get_exited)
{
	value->kind = VALUE_BOOL;
	value->number = row->exited;
}

/* What the thread does now. */
GETTER(get_state)
{
	if (!row_has_state(row, about))
		value->kind = VALUE_NULL;
	else if (row->where.state == WIRE_ON_CPU)
		string(value, "running");
	else
		string(value, state_info[state_of_wait(row->where.state)].key);
}

GETTER(get_reason)
{
	if (!row_has_state(row, about)) {
		value->kind = VALUE_NULL;
		return;
	}
	reason_format(value->text, sizeof(value->text), row->where, about_is_native(about));
	string(value, value->text);
}

GETTER(get_in_state)
{
	if (!row_has_state(row, about))
		value->kind = VALUE_NULL;
	else
		number(value, row->in_state_ns);
}

GETTER(get_exit_code)
{
	if (row->exited)
		number(value, (uint32_t)row->exit_code);
	else
		value->kind = VALUE_NULL;
}

NUMBER_GETTER(get_latency_count, histogram_count(row->latency, WIRE_LATENCY_BUCKETS))

/* Without a single wait there is no longest one and no percentile. */
GETTER(get_latency_max)
{
	if (row->latency_max_ns)
		number(value, row->latency_max_ns);
	else
		value->kind = VALUE_NULL;
}

GETTER(get_latency_percentile)
{
	if (histogram_count(row->latency, WIRE_LATENCY_BUCKETS))
		number(value, histogram_percentile(row->latency, WIRE_LATENCY_BUCKETS,
						   field->argument / 100.0, row->latency_max_ns));
	else
		value->kind = VALUE_NULL;
}

/* Not in JSON: the default order. */
NUMBER_GETTER(get_active, row_active_ns(row))

#define STATE_FIELD(name, number, key, header, help)                                               \
	{key, "states_ns", key, header, help, ALL, get_state_ns, STATE_##name, 0},
#define DELAY_FIELD(name, index, key, version, help)                                               \
	{"delay-" key, "delays", key, NULL, "delays: " help, ALL, get_delay, index, 0},

const struct field fields[] = {
	{"pid", NULL, "pid", "PID", "process id", NAMED, get_pid, 0, 0},
	{"tid", NULL, "tid", "TID", "thread id", THREADS, get_tid, 0, 0},
	{"parent", NULL, "parent_pid", NULL, "process id of the parent", NAMED, get_parent, 0, 0},
	{"comm", NULL, "comm", "COMM", "thread name", THREADS, get_comm, 0, 0},
	{"process", NULL, "process", "PROCESS", "process name", NAMED, get_process, 0, 0},
	{"cgroup", NULL, "cgroup", "CGROUP", "cgroup v2 path", ALL, get_cgroup, 0, 0},
	{"threads", NULL, "threads", "THR", "threads summed up here", SUMS, get_threads, 0, 0},
	{"start", NULL, "start_time_ns", NULL, "start, ns since boot", NAMED, get_start, 0, 0},
	{"observed", NULL, "observed_ns", NULL, "time it existed in the interval", ALL,
	 get_observed, 0, 0},
	ON_CPU_STATES(STATE_FIELD) WIRE_WAITS(STATE_FIELD) /* thirteen */
	{"state", NULL, "state", "NOW", "state at the end of the interval", THREADS, get_state, 0,
	 WIRE_FIGURE_STATE},
	{"reason", NULL, "reason", NULL, "system call and what it waits on", THREADS, get_reason, 0,
	 WIRE_FIGURE_STATE},
	{"in-state", NULL, "in_state_ns", NULL, "how long already", THREADS, get_in_state, 0,
	 WIRE_FIGURE_STATE},
	{"voluntary", "switches", "voluntary", NULL, "switches because it blocked", ALL,
	 get_voluntary, 0, WIRE_FIGURE_SWITCHES},
	{"involuntary", "switches", "involuntary", NULL, "switches although it could go on", ALL,
	 get_involuntary, 0, WIRE_FIGURE_SWITCHES},
	{"wakeups", NULL, "wakeups", NULL, "times woken", ALL, get_wakeups, 0, WIRE_FIGURE_WAKEUPS},
	{"migrations", NULL, "migrations", NULL, "moves to another CPU", ALL, get_migrations, 0,
	 WIRE_FIGURE_MIGRATIONS},
	{"waits", "runnable", "count", NULL, "waits for a CPU that ended", ALL, get_latency_count,
	 0, WIRE_FIGURE_LATENCY},
	{"max", "runnable", "max_ns", NULL, "longest wait for a CPU", ALL, get_latency_max, 0,
	 WIRE_FIGURE_LATENCY},
	{"p50", "runnable", "p50_ns", NULL, "median wait for a CPU", ALL, get_latency_percentile,
	 50, WIRE_FIGURE_LATENCY},
	{"p99", "runnable", "p99_ns", "RQp99", "99th percentile of waits for a CPU", ALL,
	 get_latency_percentile, 99, WIRE_FIGURE_LATENCY},
	{"woken", "runnable", "woken", NULL, "became runnable by a wakeup", ALL, get_woken, 0,
	 WIRE_FIGURE_WAKEUPS},
	{"preempted", "runnable", "preempted", NULL, "stayed runnable when it lost its CPU", ALL,
	 get_preempted, 0, WIRE_FIGURE_WAKEUPS},
	{"throttled", "runnable", "throttled", NULL, "of those, by its cgroup's CPU limit", ALL,
	 get_throttled, 0, WIRE_FIGURE_WAKEUPS},
	WIRE_DELAY_KINDS(DELAY_FIELD) /* eight */
	{"exited", NULL, "exited", NULL, "ended in the interval", ALL, get_exited, 0, 0},
	{"exit-code", NULL, "exit_code", NULL, "wait status of the exited", THREADS, get_exit_code,
	 0, 0},
	{"active", NULL, NULL, NULL, "time on or waiting for a CPU, in disk, lock and swap", ALL,
	 get_active, 0, 0},
};

const size_t field_count = sizeof(fields) / sizeof(fields[0]);

void field_get(const struct field *field, const struct row *row, const struct about *about,
	       struct value *ret_value)
{
	if (field->needs & ~about->session.figures)
		ret_value->kind = VALUE_NULL;
	else
		field->get(field, row, about, ret_value);
}

const struct field *field_find(const char *name)
{
	for (size_t i = 0; i < field_count; i++)
		if (similar_same(fields[i].name, name))
			return &fields[i];
	for (size_t i = 0; i < field_count; i++)
		if (fields[i].header && similar_same(fields[i].header, name))
			return &fields[i];
	/* an object's key says little without the object: "cpu" would be a delay */
	for (size_t i = 0; i < field_count; i++)
		if (fields[i].key && !fields[i].group && similar_same(fields[i].key, name))
			return &fields[i];
	return NULL;
}

static void ordered_row_init(struct ordered_row *ordered, const struct row *row,
			     const struct field *field, const struct about *about)
{
	struct value value;

	field_get(field, row, about, &value);
	*ordered = (struct ordered_row){.row = row, .missing = value.kind == VALUE_NULL};
	if (value.kind == VALUE_STRING && value.string == value.text)
		ordered->number = (uint64_t)row->where.state << 32 | (uint16_t)row->where.syscall;
	else if (value.kind == VALUE_STRING)
		ordered->string = value.string;
	else if (value.kind != VALUE_NULL)
		ordered->number = value.number;
}

static int by_value(const void *left, const void *right, void *data)
{
	const struct ordered_row *a = left, *b = right;
	const bool *reverse = data;
	int result = 0;

	if (a->missing != b->missing)
		return a->missing - b->missing;
	if (a->string && b->string)
		result = strcmp(a->string, b->string);
	else
		result = (a->number < b->number) - (a->number > b->number);
	if (*reverse)
		result = -result;
	if (!result)
		result = (a->row->pid > b->row->pid) - (a->row->pid < b->row->pid);
	if (!result)
		result = (a->row->tid > b->row->tid) - (a->row->tid < b->row->tid);
	return result;
}

void rows_order(struct ordered_row *order, const struct row *rows, size_t count,
		const struct field *field, bool reverse, const struct about *about)
{
	for (size_t i = 0; i < count; i++)
		ordered_row_init(&order[i], &rows[i], field, about);
	if (count) /* without rows there is no array either */
		qsort_r(order, count, sizeof(*order), by_value, &reverse);
}

int rows_sort(struct row *rows, size_t count, const struct field *field, const struct about *about)
{
	struct ordered_row *order = malloc((count ? count : 1) * sizeof(*order));
	struct row *sorted = malloc((count ? count : 1) * sizeof(*sorted));

	if (order && sorted) {
		rows_order(order, rows, count, field, false, about);
		for (size_t i = 0; i < count; i++)
			sorted[i] = *order[i].row;
		if (count)
			memcpy(rows, sorted, count * sizeof(*rows));
	}
	free(sorted);
	free(order);
	return sorted && order ? 0 : -ENOMEM;
}
