// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* qsort_r */
#include "view/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <assert.h>
#include <string.h>

#include "base/histogram.h"
#include "base/process_words.h"
#include "base/similar.h"

#define ALL	(1U << BY_THREAD | 1U << BY_PROCESS | 1U << BY_CGROUP)
#define THREADS (1U << BY_THREAD)
#define NAMED	(1U << BY_THREAD | 1U << BY_PROCESS)
#define SUMS	(1U << BY_PROCESS | 1U << BY_CGROUP)

/* A getter with its item's row and session. */
#define GETTER(name)                                                                               \
	static void name##_of(__attribute__((unused)) const struct field *field,                   \
			      __attribute__((unused)) const struct row *row,                       \
			      __attribute__((unused)) const struct session_info *session,          \
			      struct value *value);                                                \
	static void name(const struct field *field, const struct item *item, struct value *value)  \
	{                                                                                          \
		name##_of(field, item->row, item->context, value);                                 \
	}                                                                                          \
	static void name##_of(__attribute__((unused)) const struct field *field,                   \
			      __attribute__((unused)) const struct row *row,                       \
			      __attribute__((unused)) const struct session_info *session,          \
			      struct value *value)

#define NUMBER_GETTER(name, expression)                                                            \
	GETTER(name)                                                                               \
	{                                                                                          \
		value_number(value, expression);                                                   \
	}

static_assert(REASON_BYTES <= VALUE_TEXT_BYTES, "a reason fits a value");

/* What a sum over several may not have. */
static void identifier(struct value *value, uint64_t n)
{
	value_known(value, n, n > 0);
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
	value_string(value, row->comm);
}
GETTER(get_process)
{
	value_string(value, row->process);
}
NUMBER_GETTER(get_threads, row->threads)
GETTER(get_start)
{
	identifier(value, row->start_ns);
}
NUMBER_GETTER(get_observed, row->observed_ns)
GETTER(get_state_ns)
{
	if (row_measures(row, session, (enum state)field->argument))
		value_number(value, row->states_ns[field->argument]);
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
/* Without a single one that is known, the object of them is null, not one of nulls. */
GETTER(get_delay)
{
	const struct wire_delay *delay = &row->delays[field->argument];

	if (!row->delays_measured)
		value_absent(value);
	else if (!(row->delays_measured & 1U << field->argument))
		value_null(value);
	else
		value_object(value, delay, NULL);
	value->number = delay->total_ns; /* to sort by */
}

GETTER(get_cgroup)
{
	const char *path = session_cgroup(session, row->cgroup_id);

	if (path)
		value_string(value, path);
	else
		value->kind = VALUE_NULL;
}

/* Of a recording nothing but what is in it. */
GETTER(get_command)
{
	*value->text = '\0';
	if (session->is_live && row->pid && !row->exited)
		process_command(row->pid, value->text, sizeof(value->text));
	value_text(value, value->text);
}

GETTER(get_owner)
{
	*value->text = '\0';
	if (session->is_live && row->pid && !row->exited)
		process_user(row->pid, value->text, sizeof(value->text));
	value_text(value, value->text);
}

GETTER(get_exited)
{
	value_bool(value, row->exited);
}

/* What the thread does now. */
GETTER(get_state)
{
	if (!row_has_state(row, session))
		value->kind = VALUE_NULL;
	else if (row->site.state == WIRE_ON_CPU)
		value_string(value, "running");
	else
		value_string(value, state_info[state_of_wait(row->site.state)].key);
}

GETTER(get_reason)
{
	if (!row_has_state(row, session)) {
		value->kind = VALUE_NULL;
		return;
	}
	reason_format(value->text, sizeof(value->text), row->site, session_is_native(session));
	value_string(value, value->text);
}

GETTER(get_in_state)
{
	if (!row_has_state(row, session))
		value->kind = VALUE_NULL;
	else
		value_number(value, row->in_state_ns);
}

GETTER(get_exit_code)
{
	if (row->exited)
		value_number(value, (uint32_t)row->exit_code);
	else
		value->kind = VALUE_NULL;
}

NUMBER_GETTER(get_latency_count, row->latency_count)

/* Without a single wait there is no longest one and no percentile. */
GETTER(get_latency_max)
{
	if (row->latency_max_ns)
		value_number(value, row->latency_max_ns);
	else
		value->kind = VALUE_NULL;
}

GETTER(get_latency_percentile)
{
	if (row->latency_count)
		value_number(value,
			     histogram_percentile(row->latency, WIRE_LATENCY_BUCKETS,
						  field->argument / 100.0, row->latency_max_ns));
	else
		value->kind = VALUE_NULL;
}

/* Not in JSON: the default order. */
NUMBER_GETTER(get_active, row_active_ns(row))

static const struct field delay_fields[] = {
	NUMBER_MEMBER(struct wire_delay, count, "count", "how often"),
	NUMBER_MEMBER(struct wire_delay, total_ns, "total_ns", "how long in all"),
};

static const struct schema delay_schema = {
	.name = "delay", .help = "waits of one kind", SCHEMA_FIELDS(delay_fields)};

#define INTEGER .type = FIELD_INTEGER
#define STRING	.type = FIELD_STRING
#define BOOL	.type = FIELD_BOOL

/* Name, group, key, header, help, levels, getter, its argument, what it needs; then its type. */
#define THREAD_FIELD(name_, group_, key_, header_, help_, levels_, get_, argument_, needs_, ...)   \
	{                                                                                          \
		.name = (name_), .group = (group_), FIELD_KEY(key_), .header = (header_),          \
		.help = (help_), .levels = (levels_), .get = (get_), .argument = (argument_),      \
		.needs = (needs_), __VA_ARGS__                                                     \
	}
#define STATE_FIELD(name, number, key, header, help)                                               \
	THREAD_FIELD(key, "states_ns", key, header, help, ALL, get_state_ns, STATE_##name, 0,      \
		     INTEGER),
#define DELAY_FIELD(name, index, key, version, help)                                               \
	THREAD_FIELD("delay-" key, "delays", key, NULL, "delays: " help, ALL, get_delay, index, 0, \
		     .type = FIELD_OBJECT, .schema = &delay_schema, .flags = FIELD_MAYBE),

const struct field fields[] = {
	THREAD_FIELD("pid", NULL, "pid", "PID", "process id", NAMED, get_pid, 0, 0, INTEGER),
	THREAD_FIELD("tid", NULL, "tid", "TID", "thread id", THREADS, get_tid, 0, 0, INTEGER),
	THREAD_FIELD("parent", NULL, "parent_pid", NULL, "process id of the parent", NAMED,
		     get_parent, 0, 0, INTEGER),
	THREAD_FIELD("comm", NULL, "comm", "COMM", "thread name", THREADS, get_comm, 0, 0, STRING),
	THREAD_FIELD("process", NULL, "process", "PROCESS", "process name", NAMED, get_process, 0,
		     0, STRING),
	THREAD_FIELD("cgroup", NULL, "cgroup", "CGROUP", "cgroup v2 path", ALL, get_cgroup, 0, 0,
		     STRING),
	THREAD_FIELD("threads", NULL, "threads", "THR", "threads summed up here", SUMS, get_threads,
		     0, 0, INTEGER),
	THREAD_FIELD("start", NULL, "start_time_ns", NULL, "start, ns since boot", NAMED, get_start,
		     0, 0, INTEGER),
	THREAD_FIELD("observed", NULL, "observed_ns", NULL, "time it existed in the interval", ALL,
		     get_observed, 0, 0, INTEGER),
	ON_CPU_STATES(STATE_FIELD) WIRE_WAITS(STATE_FIELD) /* thirteen */
	THREAD_FIELD("state", NULL, "state", "NOW", "state at the end of the interval", THREADS,
		     get_state, 0, WIRE_METRIC_STATE, STRING),
	THREAD_FIELD("reason", NULL, "reason", NULL, "system call, and the object it waits on",
		     THREADS, get_reason, 0, WIRE_METRIC_STATE, STRING),
	THREAD_FIELD("in-state", NULL, "in_state_ns", NULL, "time in that state so far", THREADS,
		     get_in_state, 0, WIRE_METRIC_STATE, INTEGER),
	THREAD_FIELD("voluntary", "switches", "voluntary", NULL, "switches because it blocked", ALL,
		     get_voluntary, 0, WIRE_METRIC_SWITCHES, INTEGER),
	THREAD_FIELD("involuntary", "switches", "involuntary", NULL,
		     "switches although it could go on", ALL, get_involuntary, 0,
		     WIRE_METRIC_SWITCHES, INTEGER),
	THREAD_FIELD("wakeups", NULL, "wakeups", NULL, "times woken", ALL, get_wakeups, 0,
		     WIRE_METRIC_WAKEUPS, INTEGER),
	THREAD_FIELD("migrations", NULL, "migrations", NULL, "moves to another CPU", ALL,
		     get_migrations, 0, WIRE_METRIC_MIGRATIONS, INTEGER),
	THREAD_FIELD("waits", "runnable", "count", NULL, "waits for a CPU that ended", ALL,
		     get_latency_count, 0, WIRE_METRIC_LATENCY, INTEGER),
	THREAD_FIELD("max", "runnable", "max_ns", NULL, "longest wait for a CPU", ALL,
		     get_latency_max, 0, WIRE_METRIC_LATENCY, INTEGER),
	THREAD_FIELD("p50", "runnable", "p50_ns", NULL, "median wait for a CPU", ALL,
		     get_latency_percentile, 50, WIRE_METRIC_LATENCY, INTEGER),
	THREAD_FIELD("p99", "runnable", "p99_ns", "RQp99", "99th percentile of waits for a CPU",
		     ALL, get_latency_percentile, 99, WIRE_METRIC_LATENCY, INTEGER),
	THREAD_FIELD("woken", "runnable", "woken", NULL, "became runnable by a wakeup", ALL,
		     get_woken, 0, WIRE_METRIC_WAKEUPS, INTEGER),
	THREAD_FIELD("preempted", "runnable", "preempted", NULL,
		     "stayed runnable when it lost its CPU", ALL, get_preempted, 0,
		     WIRE_METRIC_WAKEUPS, INTEGER),
	THREAD_FIELD("throttled", "runnable", "throttled", NULL,
		     "of those, with its CPU budget used up", ALL, get_throttled, 0,
		     WIRE_METRIC_WAKEUPS, INTEGER),
	WIRE_DELAY_KINDS(DELAY_FIELD) /* eight */
	THREAD_FIELD("exited", NULL, "exited", NULL, "ended in the interval", ALL, get_exited, 0, 0,
		     BOOL),
	THREAD_FIELD("exit-code", NULL, "exit_code", NULL, "wait status of the exited", THREADS,
		     get_exit_code, 0, 0, INTEGER),
	THREAD_FIELD("command", NULL, "command", "COMMAND",
		     "arguments that it was started with; not in recordings", NAMED, get_command, 0,
		     0, STRING, .flags = FIELD_ON_REQUEST),
	THREAD_FIELD("owner", NULL, "owner", "OWNER", "whose process it is; not in recordings",
		     NAMED, get_owner, 0, 0, STRING, .flags = FIELD_ON_REQUEST),
	{.name = "active",
	 .help = "time on a CPU, also stolen, or waiting for one, in disk, lock, swap and unknown",
	 .levels = ALL,
	 .get = get_active,
	 INTEGER},
};

const size_t field_count = sizeof(fields) / sizeof(fields[0]);

/* A source may not measure what a field needs (enum wire_metric). */
static void get_measured(const struct field *field, const struct item *item,
			 struct value *ret_value)
{
	const struct session_info *session = item->context;

	if (field->needs & ~session->wire.metrics)
		value_null(ret_value);
	else
		field->get(field, item, ret_value);
}

const struct schema thread_schema = {
	.name = "thread",
	.help = "what a thread did, or those of a process or cgroup together",
	.fields = fields,
	.count = ARRAY_SIZE(fields),
	.get = get_measured,
};

void field_get(const struct field *field, const struct row *row, const struct session_info *session,
	       struct value *ret_value)
{
	struct item item = {row, session};

	get_measured(field, &item, ret_value);
}

bool field_orders(const struct field *field, unsigned int levels)
{
	return field_applies(field, levels) && !(field->flags & FIELD_ON_REQUEST);
}

const struct field *field_find(const char *name)
{
	/* an object's key says little without the object: "cpu" would be a delay */
	for (int kind = 0; kind < 3; kind++) {
		for (size_t i = 0; i < field_count; i++) {
			const struct field *field = &fields[i];
			const char *known = kind == 0	   ? field->name
					    : kind == 1	   ? field->header
					    : field->group ? NULL
							   : field->key;

			if (known && similar_same(known, name) && field_orders(field, ~0U))
				return field;
		}
	}
	return NULL;
}

static void ordered_row_init(struct ordered_row *ordered, const struct row *row,
			     const struct field *field, const struct session_info *session)
{
	struct value value;

	field_get(field, row, session, &value);
	*ordered = (struct ordered_row){
		.row = row,
		.tie = (uint64_t)row->pid << 32 | row->tid,
		.missing = value.kind == VALUE_NULL || value.kind == VALUE_ABSENT,
	};
	if (value.kind == VALUE_STRING && value.string == value.text)
		ordered->number = (uint64_t)row->site.state << 32 | (uint16_t)row->site.syscall;
	else if (value.kind == VALUE_STRING)
		ordered->string = value.string;
	else if (!ordered->missing)
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
	return result ? result : (a->tie > b->tie) - (a->tie < b->tie);
}

void rows_order(struct ordered_row *order, const struct row *rows, size_t count,
		const struct field *field, bool reverse, const struct session_info *session)
{
	for (size_t i = 0; i < count; i++)
		ordered_row_init(&order[i], &rows[i], field, session);
	if (count) /* without rows there is no array either */
		qsort_r(order, count, sizeof(*order), by_value, &reverse);
}

/* Puts rows[i] where order[i] says, in place: `order` is used up. */
static void rows_permute(struct row *rows, struct ordered_row *order, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t from = (size_t)(order[i].row - rows), at = i;
		struct row first;

		if (from == i)
			continue;
		first = rows[i];
		while (from != i) {
			rows[at] = rows[from];
			order[at].row = &rows[at];
			at = from;
			from = (size_t)(order[at].row - rows);
		}
		rows[at] = first;
		order[at].row = &rows[at];
	}
}

int rows_sort(struct row *rows, size_t count, const struct field *field,
	      const struct session_info *session)
{
	struct ordered_row *order = malloc((count ? count : 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	rows_order(order, rows, count, field, false, session);
	rows_permute(rows, order, count);
	free(order);
	return 0;
}
