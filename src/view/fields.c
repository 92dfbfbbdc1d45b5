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

static_assert(REASON_BYTES <= VALUE_TEXT_BYTES, "a reason fits a value");

/*
 * What a field may need, and a row not have: a metric (enum wire_metric) that the source does not
 * measure; a state's time, by it or of this row; any of the kernel's delays.
 */
#define NEEDS_STATE(state) (1U << (8 + (state)))
#define NEEDS_NOW	   (1U << 29) /* the state at the end: of the dead and of sums there is none */
#define NEEDS_END	   (1U << 30) /* that it ended */
#define NEEDS_DELAYS	   (1U << 31)

static_assert(WIRE_METRIC_CPU < NEEDS_STATE(0) && NEEDS_STATE(STATES) <= NEEDS_NOW,
	      "each need has its bit");

static unsigned int row_lacks(const struct item *item)
{
	const struct session_info *session = item->context;
	const struct row *row = item->row;
	unsigned int lacks = ~session->wire.metrics & (NEEDS_STATE(0) - 1);

	lacks |= (~session_states(session) | row->unmeasured) * NEEDS_STATE(0) & (NEEDS_NOW - 1);
	lacks |= row_has_state(row, session) ? 0 : NEEDS_NOW;
	lacks |= row->exited ? 0 : NEEDS_END;
	return lacks | (row->delays_measured ? 0 : NEEDS_DELAYS);
}

GETTER(get_comm)
{
	value_string(value, row->comm);
}
GETTER(get_process)
{
	value_string(value, row->process);
}
/* Without a single one that is known, the object of them is null, not one of nulls. */
GETTER(get_delay)
{
	const struct wire_delay *delay = &row->delays[field->argument];

	if (!(row->delays_measured & 1U << field->argument))
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
	if (row->site.state == WIRE_ON_CPU)
		value_string(value, "running");
	else
		value_string(value, state_info[state_of_wait(row->site.state)].key);
}

GETTER(get_reason)
{
	reason_format(value->text, sizeof(value->text), row->site, session_is_native(session));
	value_string(value, value->text);
}

/* Without a single wait there is no longest one and no percentile. */
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
GETTER(get_active)
{
	value_number(value, row_active_ns(row));
}

static const struct field delay_fields[] = {
	NUMBER_MEMBER(struct wire_delay, count, "count", "how often"),
	NUMBER_MEMBER(struct wire_delay, total_ns, "total_ns", "how long in all"),
};

static const struct schema delay_schema = {
	.name = "delay", .help = "waits of one kind", SCHEMA_FIELDS(delay_fields)};

#define INTEGER .type = FIELD_INTEGER
#define STRING	.type = FIELD_STRING
#define BOOL	.type = FIELD_BOOL

/* Name, group, key, header, help, levels, member, what it needs; then what else it has. */
#define NUMBER_FIELD(name_, group_, key_, header_, help_, levels_, member_, needs_, ...)           \
	{                                                                                          \
		.name = (name_), .group = (group_), FIELD_KEY(key_), .header = (header_),          \
		.help = (help_), .levels = (levels_), READ_NUMBER(struct row, member_),            \
		.needs = (needs_), .type = FIELD_INTEGER, ##__VA_ARGS__                            \
	}
/* The same with a getter, its argument after it, and a type at the end. */
#define THREAD_FIELD(name_, group_, key_, header_, help_, levels_, get_, argument_, needs_, ...)   \
	{                                                                                          \
		.name = (name_), .group = (group_), FIELD_KEY(key_), .header = (header_),          \
		.help = (help_), .levels = (levels_), .get = (get_), .argument = (argument_),      \
		.needs = (needs_), __VA_ARGS__                                                     \
	}
#define STATE_FIELD(name, number, key, header, help)                                               \
	NUMBER_FIELD(key, "states_ns", key, header, help, ALL, states_ns[STATE_##name],            \
		     NEEDS_STATE(STATE_##name)),
#define DELAY_FIELD(name, index, key, version, help)                                               \
	THREAD_FIELD("delay-" key, "delays", key, NULL, "delays: " help, ALL, get_delay, index,    \
		     NEEDS_DELAYS, .type = FIELD_OBJECT, .schema = &delay_schema,                  \
		     .flags = FIELD_MAYBE),

const struct field fields[] = {
	NUMBER_FIELD("pid", NULL, "pid", "PID", "process id", NAMED, pid, 0,
		     .flags = FIELD_NULL_IF_0),
	NUMBER_FIELD("tid", NULL, "tid", "TID", "thread id", THREADS, tid, 0,
		     .flags = FIELD_NULL_IF_0),
	NUMBER_FIELD("parent", NULL, "parent_pid", NULL, "process id of the parent", NAMED,
		     parent_pid, 0),
	THREAD_FIELD("comm", NULL, "comm", "COMM", "thread name", THREADS, get_comm, 0, 0, STRING),
	THREAD_FIELD("process", NULL, "process", "PROCESS", "process name", NAMED, get_process, 0,
		     0, STRING),
	THREAD_FIELD("cgroup", NULL, "cgroup", "CGROUP", "cgroup v2 path", ALL, get_cgroup, 0, 0,
		     STRING),
	NUMBER_FIELD("threads", NULL, "threads", "THR", "threads summed up here", SUMS, threads, 0),
	NUMBER_FIELD("start", NULL, "start_time_ns", NULL, "start, ns since boot", NAMED, start_ns,
		     0, .flags = FIELD_NULL_IF_0),
	NUMBER_FIELD("observed", NULL, "observed_ns", NULL, "time it existed in the interval", ALL,
		     observed_ns, 0),
	ON_CPU_STATES(STATE_FIELD) WIRE_WAITS(STATE_FIELD) /* thirteen */
	THREAD_FIELD("state", NULL, "state", "NOW", "state at the end of the interval", THREADS,
		     get_state, 0, NEEDS_NOW, STRING),
	THREAD_FIELD("reason", NULL, "reason", NULL, "system call, and the object it waits on",
		     THREADS, get_reason, 0, NEEDS_NOW, STRING),
	NUMBER_FIELD("in-state", NULL, "in_state_ns", NULL, "time in that state so far", THREADS,
		     in_state_ns, NEEDS_NOW),
	NUMBER_FIELD("voluntary", "switches", "voluntary", NULL, "switches because it blocked", ALL,
		     voluntary, WIRE_METRIC_SWITCHES),
	NUMBER_FIELD("involuntary", "switches", "involuntary", NULL,
		     "switches although it could go on", ALL, involuntary, WIRE_METRIC_SWITCHES),
	NUMBER_FIELD("wakeups", NULL, "wakeups", NULL, "times woken", ALL, woken,
		     WIRE_METRIC_WAKEUPS),
	NUMBER_FIELD("migrations", NULL, "migrations", NULL, "moves to another CPU", ALL,
		     migrations, WIRE_METRIC_MIGRATIONS),
	NUMBER_FIELD("waits", "runnable", "count", NULL, "waits for a CPU that ended", ALL,
		     latency_count, WIRE_METRIC_LATENCY),
	NUMBER_FIELD("max", "runnable", "max_ns", NULL, "longest wait for a CPU", ALL,
		     latency_max_ns, WIRE_METRIC_LATENCY, .flags = FIELD_NULL_IF_0),
	THREAD_FIELD("p50", "runnable", "p50_ns", NULL, "median wait for a CPU", ALL,
		     get_latency_percentile, 50, WIRE_METRIC_LATENCY, INTEGER),
	THREAD_FIELD("p99", "runnable", "p99_ns", "RQp99", "99th percentile of waits for a CPU",
		     ALL, get_latency_percentile, 99, WIRE_METRIC_LATENCY, INTEGER),
	NUMBER_FIELD("woken", "runnable", "woken", NULL, "became runnable by a wakeup", ALL, woken,
		     WIRE_METRIC_WAKEUPS),
	NUMBER_FIELD("preempted", "runnable", "preempted", NULL,
		     "stayed runnable when it lost its CPU", ALL, preempted, WIRE_METRIC_WAKEUPS),
	NUMBER_FIELD("throttled", "runnable", "throttled", NULL,
		     "of those, with its CPU budget used up", ALL, throttled, WIRE_METRIC_WAKEUPS),
	WIRE_DELAY_KINDS(DELAY_FIELD) /* eight */
	THREAD_FIELD("exited", NULL, "exited", NULL, "ended in the interval", ALL, get_exited, 0, 0,
		     BOOL),
	NUMBER_FIELD("exit-code", NULL, "exit_code", NULL, "wait status of the exited", THREADS,
		     exit_code, NEEDS_END),
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

const struct schema thread_schema = {
	.name = "thread",
	.help = "what a thread did, or those of a process or cgroup together",
	.fields = fields,
	.count = ARRAY_SIZE(fields),
	.lacks = row_lacks,
};

void field_get(const struct field *field, const struct row *row, const struct session_info *session,
	       struct value *ret_value)
{
	struct item item = {row, session};

	schema_get(&thread_schema, field, &item, ret_value);
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
