// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/report_fields.h"

#include "view/blame.h"
#include "view/view.h"

static unsigned int number_of(const struct item *item)
{
	return *(const unsigned int *)item->row;
}

static const struct summary *summary_of(const struct item *item)
{
	return item->context;
}

FIELD_GETTER(get_period_start)
{
	view_format_time(value->text, summary_of(item)->course.start_realtime_ns[number_of(item)]);
	value_string(value, value->text);
}

VALUE_GETTER(get_period_duration, value_number,
	     summary_of(item)->course.periods.duration_ns[number_of(item)])
VALUE_GETTER(get_period_state, value_known,
	     summary_of(item)->course.states[field->argument].ns[number_of(item)],
	     session_measures(summary_of(item)->whole.session,
			      wire_of_state((enum state)field->argument)))

#define PERIOD_STATE_FIELD(name_, number, key_, header_, help_)                                    \
	INTEGER_FIELD(key_, get_period_state, help_, .group = "states_ns",                         \
		      .argument = STATE_##name_),

static const struct field period_fields[] = {
	STRING_FIELD("start", get_period_start, "beginning, UTC"),
	INTEGER_FIELD("duration_ns", get_period_duration, "time measured in it"),
	ON_CPU_STATES(PERIOD_STATE_FIELD) WIRE_WAITS(PERIOD_STATE_FIELD) /* thirteen */
};

const struct schema period_schema = {.name = "period",
				     .help = "time of all threads in a part of the recording",
				     SCHEMA_FIELDS(period_fields)};

static const struct worst_interval *worst_of(const struct item *item)
{
	return item->row;
}

FIELD_GETTER(get_worst_start)
{
	view_format_time(value->text, worst_of(item)->start_realtime_ns);
	value_string(value, value->text);
}

FIELD_GETTER(get_most)
{
	value_object(value, &worst_of(item)->most, item->context);
	if (!worst_of(item)->most.total_ns)
		value_null(value);
}

static const struct field worst_fields[] = {
	STRING_FIELD("start", get_worst_start, "beginning, UTC"),
	NUMBER_MEMBER(struct worst_interval, duration_ns, "duration_ns", "its length"),
	NUMBER_MEMBER(struct worst_interval, lost_ns, "lost_ns", "what its threads lost"),
	OBJECT_FIELD("most", get_most, &blame_schema, "the largest part of that; null: no blame"),
};

const struct schema worst_schema = {.name = "worst_interval",
				    .help = "an interval in which threads lost most",
				    SCHEMA_FIELDS(worst_fields)};
