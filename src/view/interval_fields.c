// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell top` and `dwell report` say of an interval. docs/formats/json.md is the contract. */
#include <assert.h>
#include <string.h>
#include <sys/wait.h>

#include "view/fields.h"
#include "view/view.h"

/* A getter of struct interval. The context is the view that shows it. */
#define INTERVAL_GETTER(name)                                                                      \
	static void name##_of(const struct interval *interval, struct value *value);               \
	FIELD_GETTER(name)                                                                         \
	{                                                                                          \
		name##_of(item->row, value);                                                       \
	}                                                                                          \
	static void name##_of(const struct interval *interval, struct value *value)

INTERVAL_GETTER(get_start)
{
	view_format_time(value->text, interval->start_realtime_ns);
	value_string(value, value->text);
}

INTERVAL_GETTER(get_duration)
{
	value_number(value, interval->end_ns - interval->start_ns);
}

INTERVAL_GETTER(get_sources)
{
	value_elements(value, about_has_delays_beside(interval->about) ? 2 : 1);
}

FIELD_ELEMENT(source_element)
{
	const struct interval *interval = item->row;

	value_string(value, index ? "taskstats" : about_source(interval->about));
}

INTERVAL_GETTER(get_lost)
{
	value_number(value, losses_lost(&interval->losses));
}

INTERVAL_GETTER(get_machine_stolen)
{
	value_known(value, interval->machine_stolen_ns, about_has_machine(interval->about));
}

INTERVAL_GETTER(get_machine_busy)
{
	value_known(value, interval->machine_busy_ns, about_has_machine(interval->about));
}

INTERVAL_GETTER(get_cpu_split)
{
	value_string(value, interval->about->session.flags & WIRE_SESSION_PRECISE_SPLIT ? "precise"
											: "tick");
}

INTERVAL_GETTER(get_states_kind)
{
	value_string(value, about_states_kind(interval->about));
}

INTERVAL_GETTER(get_sample)
{
	if (interval->about->session.sample_ns)
		value_number(value, interval->about->session.sample_ns);
	else
		value_absent(value);
}

static const struct field missing_fields[] = {
	{.key = "source",
	 .help = "what cannot be measured",
	 .get = get_array_member,
	 .argument = offsetof(struct wire_missing, source),
	 .type = FIELD_STRING},
	{.key = "why",
	 .help = "the reason, and how to get it",
	 .get = get_array_member,
	 .argument = offsetof(struct wire_missing, why),
	 .type = FIELD_STRING},
};

const struct schema missing_schema = {
	.name = "missing", .help = "what is not measured", SCHEMA_FIELDS(missing_fields)};

INTERVAL_GETTER(get_missing)
{
	const struct about *about = interval->about;

	value_rows(value, about->missing, about->missing_count, sizeof(about->missing[0]), NULL);
}

static const struct field quality_fields[] = {
	{.key = "lost",
	 .help = "sum of the next three; 0: nothing is missing",
	 .get = get_lost,
	 .flags = FIELD_OF_ROWS},
	NUMBER_FIELD(struct interval, losses.threads, "lost_threads",
		     "threads for which there was no memory, or which were found late"),
	NUMBER_FIELD(struct interval, losses.exits, "lost_exits",
		     "ended threads whose last totals found the buffer full"),
	NUMBER_FIELD(struct interval, losses.transitions, "lost_transitions",
		     "wakeups and switches that were not seen"),
	{.key = "torn",
	 .help = "threads that could not be read consistently",
	 .get = get_u64_member,
	 .argument = offsetof(struct interval, losses.torn),
	 .flags = FIELD_OF_ROWS},
	NUMBER_FIELD(struct interval, losses.clamped, "clamped",
		     "turns whose clocks contradicted each other"),
	{.key = "machine_stolen_ns",
	 .help = "what the hypervisor took from all CPUs",
	 .get = get_machine_stolen},
	{.key = "machine_busy_ns",
	 .help = "busy and stolen time of all CPUs",
	 .get = get_machine_busy},
	{.key = "cpu_split",
	 .help = "tick or precise: how user and kernel are distinguished",
	 .get = get_cpu_split,
	 .type = FIELD_STRING},
	{.key = "states",
	 .help = "exact, counters or sampled",
	 .get = get_states_kind,
	 .type = FIELD_STRING},
	{.key = "sample_ns",
	 .help = "time between two looks, if sampled",
	 .get = get_sample,
	 .flags = FIELD_MAYBE},
	{.key = "unavailable",
	 .help = "what is not measured",
	 .get = get_missing,
	 .type = FIELD_LIST,
	 .schema = &missing_schema},
};

static const struct schema quality_schema = {
	.name = "quality", .help = "how far to trust the figures", SCHEMA_FIELDS(quality_fields)};

static const struct field self_fields[] = {
	NUMBER_FIELD(struct interval, self_cpu_ns, "cpu_ns", "CPU time that dwell used"),
	NUMBER_FIELD(struct interval, snapshot_ns, "snapshot_ns", "time to read all threads"),
};

static const struct schema self_schema = {
	.name = "self", .help = "what the measurement cost", SCHEMA_FIELDS(self_fields)};

FIELD_GETTER(get_rows)
{
	const struct interval *interval = item->row;

	value_rows(value, interval->rows, view_rows(item->context, interval),
		   sizeof(interval->rows[0]), interval->about);
}

FIELD_GETTER(get_reason_state)
{
	const struct wire_reason *reason = item->row;

	value_string(value, state_info[state_of_wait(reason->where.state)].key);
}

FIELD_GETTER(get_reason_text)
{
	const struct wire_reason *reason = item->row;

	reason_format(value->text, sizeof(value->text), reason->where,
		      about_is_native(item->context));
	value_string(value, value->text);
}

static const struct field reason_fields[] = {
	NUMBER_FIELD(struct wire_reason, pid, "pid", "process id"),
	NUMBER_FIELD(struct wire_reason, tid, "tid", "thread id"),
	{.key = "state",
	 .help = "in which it waited",
	 .get = get_reason_state,
	 .type = FIELD_STRING},
	{.key = "reason",
	 .help = "system call and what it waited on",
	 .get = get_reason_text,
	 .type = FIELD_STRING},
	NUMBER_FIELD(struct wire_reason, count, "count", "waits that have ended"),
	NUMBER_FIELD(struct wire_reason, total_ns, "total_ns", "their time"),
};

static const struct schema reason_schema = {.name = "reason",
					    .help = "how long a thread waited for one reason",
					    SCHEMA_FIELDS(reason_fields)};

/* Cumulative, of waits that have ended; for the processes whose reasons are kept. */
INTERVAL_GETTER(get_reasons)
{
	if (interval->reason_count)
		value_rows(value, interval->reasons, interval->reason_count,
			   sizeof(interval->reasons[0]), interval->about);
	else
		value_absent(value);
}

#define ROWS_FIELD(name, key_, plural)                                                             \
	{.key = (plural),                                                                          \
	 .help = "a row for each " key_,                                                           \
	 .levels = 1U << BY_##name,                                                                \
	 .get = get_rows,                                                                          \
	 .type = FIELD_LIST,                                                                       \
	 .schema = &thread_schema},

static const struct field interval_fields[] = {
	/* rows have a `start` of their own */
	{.name = "begin",
	 .key = "start",
	 .help = "beginning, UTC",
	 .get = get_start,
	 .type = FIELD_STRING,
	 .flags = FIELD_OF_ROWS},
	{.name = "begin_ns",
	 .key = "start_ns",
	 .help = "the same as CLOCK_MONOTONIC",
	 .get = get_u64_member,
	 .argument = offsetof(struct interval, start_ns),
	 .flags = FIELD_OF_ROWS},
	{.key = "duration_ns", .help = "its length", .get = get_duration, .flags = FIELD_OF_ROWS},
	BOOL_FIELD(struct interval, final, "final", "the last one, which may be shorter"),
	{.key = "sources",
	 .help = "where the figures come from",
	 .get = get_sources,
	 .element = source_element,
	 .type = FIELD_LIST},
	{.key = "quality",
	 .help = "how far to trust it",
	 .get = get_same_row,
	 .type = FIELD_OBJECT,
	 .schema = &quality_schema,
	 .flags = FIELD_OF_ROWS},
	{.key = "self",
	 .help = "what the measurement cost",
	 .get = get_same_row,
	 .type = FIELD_OBJECT,
	 .schema = &self_schema},
	NUMBER_FIELD(struct interval, row_count, "total", "rows there are; --top may print fewer"),
	GROUPINGS(ROWS_FIELD) /* three */
	{.key = "reasons",
	 .help = "with -p, -n and -t: waits by reason, since the beginning",
	 .get = get_reasons,
	 .type = FIELD_LIST,
	 .schema = &reason_schema,
	 .flags = FIELD_MAYBE},
};

static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are members like others");

const struct schema interval_schema = {.name = "interval",
				       .help = "what every thread did between two instants",
				       .version = 1,
				       SCHEMA_FIELDS(interval_fields),
				       .table = "thread"};

FIELD_GETTER(get_status)
{
	int status = (int)((const struct wire_child *)item->row)->wait_status;

	value_signed(value, WEXITSTATUS(status));
	if (!WIFEXITED(status))
		value_null(value);
}

FIELD_GETTER(get_signal)
{
	int status = (int)((const struct wire_child *)item->row)->wait_status;

	value_signed(value, WTERMSIG(status));
	if (!WIFSIGNALED(status))
		value_null(value);
}

FIELD_GETTER(get_command)
{
	value_string(value, ((const struct wire_child *)item->row)->name);
}

static const struct field child_fields[] = {
	{.key = "command", .help = "the watched command", .get = get_command, .type = FIELD_STRING},
	{.key = "status",
	 .help = "its exit status; null: a signal ended it",
	 .get = get_status,
	 .type = FIELD_SIGNED},
	{.key = "signal",
	 .help = "the signal; null: it exited",
	 .get = get_signal,
	 .type = FIELD_SIGNED},
	NUMBER_FIELD(struct wire_child, duration_ns, "duration_ns", "how long it ran"),
};

const struct schema child_schema = {.name = "exit",
				    .help = "the end of the watched command",
				    .version = 1,
				    SCHEMA_FIELDS(child_fields)};
