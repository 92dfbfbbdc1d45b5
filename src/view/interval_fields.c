// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell top` and `dwell report` say of an interval. docs/formats/json.md is the contract. */
#include <assert.h>
#include <string.h>
#include <sys/wait.h>

#include "view/blame.h"
#include "view/fields.h"
#include "view/findings.h"
#include "view/report_fields.h"
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
	value_number(value, interval_length_ns(interval));
}

INTERVAL_GETTER(get_sources)
{
	value_elements(value, session_has_delays_beside(interval->session) ? 2 : 1);
}

FIELD_ELEMENT(source_element)
{
	const struct interval *interval = item->row;

	value_string(value, index ? "taskstats" : session_source(interval->session));
}

INTERVAL_GETTER(get_lost)
{
	value_number(value, losses_lost(&interval->losses));
}

INTERVAL_GETTER(get_machine_stolen)
{
	value_known(value, interval->machine_stolen_ns, session_has_machine(interval->session));
}

INTERVAL_GETTER(get_machine_busy)
{
	value_known(value, interval->machine_busy_ns, session_has_machine(interval->session));
}

INTERVAL_GETTER(get_overrun)
{
	value_known(value, interval->overrun_ns, session_has_pace(interval->session));
}

INTERVAL_GETTER(get_self_runnable)
{
	value_known(value, interval->self_runnable_ns, session_has_pace(interval->session));
}

INTERVAL_GETTER(get_is_verified)
{
	value_bool(value, session_is_verified(interval->session));
}

INTERVAL_GETTER(get_cpu_split)
{
	value_string(value, interval->session->wire.flags & WIRE_SESSION_PRECISE_SPLIT ? "precise"
										       : "tick");
}

INTERVAL_GETTER(get_states_kind)
{
	value_string(value, session_states_kind(interval->session));
}

INTERVAL_GETTER(get_sample)
{
	if (interval->session->wire.sample_ns)
		value_number(value, interval->session->wire.sample_ns);
	else
		value_absent(value);
}

static const struct field missing_fields[] = {
	STRING_FIELD("source", get_array_member, "what cannot be measured",
		     .argument = offsetof(struct wire_missing, source)),
	STRING_FIELD("why", get_array_member, "the reason, and how to get it",
		     .argument = offsetof(struct wire_missing, why)),
};

const struct schema missing_schema = {
	.name = "missing", .help = "what is not measured", SCHEMA_FIELDS(missing_fields)};

/* What was asked for, and is not in a recording; a live session lists that itself. */
static bool lacks_blame(const struct item *item)
{
	const struct session_info *session = ((const struct interval *)item->row)->session;
	const struct view *view = item->context;

	return view->blame != BLAME_NONE && !session->is_live && !session_has_blame(session);
}

FIELD_GETTER(get_missing)
{
	const struct interval *interval = item->row;

	value_elements(value, interval->session->missing_count + lacks_blame(item));
}

FIELD_ELEMENT(missing_element)
{
	static const struct wire_missing blame = {.source = "blame", .why = "not recorded"};
	const struct session_info *session = ((const struct interval *)item->row)->session;

	value_object(value, index < session->missing_count ? &session->missing[index] : &blame,
		     NULL);
}

INTERVAL_GETTER(get_damage)
{
	if (interval->summary)
		value_text(value, interval->summary->damage);
	else
		value_absent(value);
}

static const struct field quality_fields[] = {
	INTEGER_FIELD("lost", get_lost,
		      "sum of lost_threads, lost_exits and lost_transitions; 0: nothing is missing",
		      .flags = FIELD_OF_ROWS),
	NUMBER_MEMBER(struct interval, losses.threads, "lost_threads",
		      "threads for which there was no memory, or which were found late"),
	NUMBER_MEMBER(struct interval, losses.exits, "lost_exits",
		      "ended threads whose last totals found the buffer full"),
	NUMBER_MEMBER(struct interval, losses.transitions, "lost_transitions",
		      "wakeups and switches that were not seen"),
	INTEGER_FIELD("torn", get_u64_member, "threads that could not be read consistently",
		      .argument = offsetof(struct interval, losses.torn), .flags = FIELD_OF_ROWS),
	NUMBER_MEMBER(struct interval, losses.clamped, "clamped",
		      "turns whose clocks contradicted each other"),
	INTEGER_FIELD("machine_stolen_ns", get_machine_stolen,
		      "what the hypervisor took from all CPUs"),
	INTEGER_FIELD("machine_busy_ns", get_machine_busy, "busy and stolen time of all CPUs"),
	STRING_FIELD("cpu_split", get_cpu_split,
		     "tick or precise: how user and kernel are distinguished"),
	STRING_FIELD("states", get_states_kind, "exact, counters or sampled"),
	BOOL_FIELD("verified", get_is_verified,
		   "dwell verify had passed, with this dwell and kernel"),
	INTEGER_FIELD("overrun_ns", get_overrun, "how much longer the interval is than asked for"),
	INTEGER_FIELD("sample_ns", get_sample, "time between two looks, if sampled",
		      .flags = FIELD_MAYBE),
	STRING_FIELD("damage", get_damage,
		     "of `dwell report`: what of the recording could not be read; null: nothing",
		     .flags = FIELD_MAYBE),
	LIST_FIELD("unavailable", get_missing, missing_element, &missing_schema,
		   "what is not measured"),
};

static const struct schema quality_schema = {
	.name = "quality", .help = "how far to trust the figures", SCHEMA_FIELDS(quality_fields)};

static const struct field self_fields[] = {
	NUMBER_MEMBER(struct interval, self_cpu_ns, "cpu_ns", "CPU time that dwell used"),
	NUMBER_MEMBER(struct interval, snapshot_ns, "snapshot_ns", "time to read all threads"),
	INTEGER_FIELD("runnable_ns", get_self_runnable, "how long dwell itself waited for a CPU"),
};

static const struct schema self_schema = {
	.name = "self", .help = "what the measurement cost", SCHEMA_FIELDS(self_fields)};

FIELD_GETTER(get_rows)
{
	const struct interval *interval = item->row;

	value_rows(value, interval->rows, view_rows(item->context, interval),
		   sizeof(interval->rows[0]), interval->session);
}

FIELD_GETTER(get_reason_state)
{
	const struct wire_reason *reason = item->row;

	value_string(value, state_info[state_of_wait(reason->site.state)].key);
}

FIELD_GETTER(get_reason_text)
{
	const struct wire_reason *reason = item->row;

	reason_format(value->text, sizeof(value->text), reason->site,
		      session_is_native(item->context));
	value_string(value, value->text);
}

static const struct field reason_fields[] = {
	NUMBER_MEMBER(struct wire_reason, pid, "pid", "process id"),
	NUMBER_MEMBER(struct wire_reason, tid, "tid", "thread id"),
	STRING_FIELD("state", get_reason_state, "in which it waited"),
	STRING_FIELD("reason", get_reason_text, "system call and what it waited on"),
	NUMBER_MEMBER(struct wire_reason, count, "count", "waits that have ended"),
	NUMBER_MEMBER(struct wire_reason, total_ns, "total_ns", "their time"),
};

static const struct schema reason_schema = {.name = "reason",
					    .help = "how long a thread waited for one reason",
					    SCHEMA_FIELDS(reason_fields)};

/* Cumulative, of waits that have ended; for the processes whose reasons are kept. */
INTERVAL_GETTER(get_reasons)
{
	if (interval->reason_count)
		value_rows(value, interval->reasons, interval->reason_count,
			   sizeof(interval->reasons[0]), interval->session);
	else
		value_absent(value);
}

INTERVAL_GETTER(get_blame)
{
	if (session_has_blame(interval->session))
		value_rows(value, interval->blames, interval->blame_count,
			   sizeof(interval->blames[0]), interval->session);
	else
		value_absent(value);
}

INTERVAL_GETTER(get_findings)
{
	if (interval->findings)
		value_rows(value, interval->findings->items, interval->findings->count,
			   sizeof(interval->findings->items[0]), interval->session);
	else
		value_absent(value);
}

FIELD_ELEMENT(timeline_element)
{
	unsigned int number = (unsigned int)index;

	value_made(value, &number, sizeof(number), ((const struct interval *)item->row)->summary);
}

INTERVAL_GETTER(get_timeline)
{
	if (interval->summary)
		value_elements(value, interval->summary->course.periods.count);
	else
		value_absent(value);
}

INTERVAL_GETTER(get_worst)
{
	if (interval->summary)
		value_rows(value, interval->summary->worst, interval->summary->worst_count,
			   sizeof(interval->summary->worst[0]), interval->session);
	else
		value_absent(value);
}

#define ROWS_FIELD(name, key_, plural)                                                             \
	LIST_FIELD(plural, get_rows, NULL, &thread_schema, "a row for each " key_,                 \
		   .levels = 1U << BY_##name),

static const struct field interval_fields[] = {
	/* rows have a `start` of their own */
	STRING_FIELD("start", get_start, "beginning, UTC", .name = "begin", .flags = FIELD_OF_ROWS),
	INTEGER_FIELD("start_ns", get_u64_member, "the same as CLOCK_MONOTONIC", .name = "begin_ns",
		      .argument = offsetof(struct interval, start_ns), .flags = FIELD_OF_ROWS),
	INTEGER_FIELD("duration_ns", get_duration, "its length", .flags = FIELD_OF_ROWS),
	BOOL_MEMBER(struct interval, final, "final", "the last one, which may be shorter"),
	LIST_FIELD("sources", get_sources, source_element, NULL, "where the figures come from"),
	OBJECT_FIELD("quality", get_same_row, &quality_schema, "how far to trust it",
		     .flags = FIELD_OF_ROWS),
	OBJECT_FIELD("self", get_same_row, &self_schema, "what the measurement cost"),
	LIST_FIELD("findings", get_findings, NULL, &finding_schema,
		   "the largest losses, in sentences; empty: none is worth one"),
	NUMBER_MEMBER(struct interval, row_count, "total", "rows there are; --top may print fewer"),
	GROUPINGS(ROWS_FIELD) /* three */
	LIST_FIELD("reasons", get_reasons, NULL, &reason_schema,
		   "with -p, -n and -t: waits by reason, since the beginning",
		   .flags = FIELD_MAYBE),
	LIST_FIELD("blame", get_blame, NULL, &blame_schema,
		   "with --blame: because of whom threads waited", .flags = FIELD_MAYBE),
	LIST_FIELD("timeline", get_timeline, timeline_element, &period_schema,
		   "of `dwell report`: the recording in up to 32 periods", .flags = FIELD_MAYBE),
	LIST_FIELD(
		"worst", get_worst, NULL, &worst_schema,
		"of `dwell report`: the ten intervals in which threads lost most, the worst first",
		.flags = FIELD_MAYBE),
};

static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are members like others");

const struct schema interval_schema = {.name = "interval",
				       .help = "what every thread did between two instants",
				       .version = 1,
				       SCHEMA_FIELDS(interval_fields),
				       .table = "thread"};

/* The same, with other rows. */
const struct schema interval_blame_schema = {.name = "interval",
					     .help = "because of whom every thread waited",
					     .version = 1,
					     SCHEMA_FIELDS(interval_fields),
					     .table = "blame"};

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

VALUE_GETTER(get_command, value_string, ((const struct wire_child *)item->row)->name)

static const struct field child_fields[] = {
	STRING_FIELD("command", get_command, "the watched command"),
	SIGNED_FIELD("status", get_status, "its exit status; null: a signal ended it"),
	SIGNED_FIELD("signal", get_signal, "the signal; null: it exited"),
	NUMBER_MEMBER(struct wire_child, duration_ns, "duration_ns", "how long it ran"),
};

const struct schema child_schema = {.name = "exit",
				    .help = "the end of the watched command",
				    .version = 1,
				    SCHEMA_FIELDS(child_fields)};
