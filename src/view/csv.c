// SPDX-License-Identifier: GPL-2.0-or-later
/* The fields of the JSON rows, one line per row and interval; nested keys become `group.key`. */
#include <string.h>

#include "base/text.h"
#include "view/view.h"

/* Two cells. */
static bool is_delay(const struct field *field)
{
	return field->group && !strcmp(field->group, "delays");
}

static void csv_begin(const struct view *view)
{
	output_string(view->out, "start,start_ns,duration_ns,lost,torn");
	for (size_t i = 0; i < field_count; i++) {
		if (!fields[i].key || !field_applies(&fields[i], view->by))
			continue;
		output_char(view->out, ',');
		if (fields[i].group)
			output_format(view->out, "%s.", fields[i].group);
		output_string(view->out, fields[i].key);
		if (is_delay(&fields[i]))
			output_format(view->out, ".count,%s.%s.total_ns", fields[i].group,
				      fields[i].key);
	}
	output_char(view->out, '\n');
}

static void write_value(struct output *out, const struct field *field, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NULL: /* an empty cell, never 0 */
		if (is_delay(field))
			output_char(out, ',');
		break;
	case VALUE_DELAY:
		output_u64(out, value->count);
		output_char(out, ',');
		output_u64(out, value->number);
		break;
	case VALUE_NUMBER:
		output_u64(out, value->number);
		break;
	case VALUE_STRING:
		text_csv(out, value->string);
		break;
	case VALUE_BOOL:
		output_string(out, value->number ? "true" : "false");
		break;
	}
}

static void csv_interval(const struct view *view, const struct interval *interval)
{
	const struct wire_losses *losses = &interval->losses;
	char start[VIEW_TIME_BYTES];
	size_t rows = view_rows(view, interval);
	struct value value;

	view_format_time(start, interval->start_realtime_ns);
	for (size_t i = 0; i < rows; i++) {
		output_string(view->out, start);
		output_char(view->out, ',');
		output_u64(view->out, interval->start_ns);
		output_char(view->out, ',');
		output_u64(view->out, interval->end_ns - interval->start_ns);
		output_char(view->out, ',');
		output_u64(view->out, losses_lost(losses));
		output_char(view->out, ',');
		output_u64(view->out, losses->torn);
		for (size_t j = 0; j < field_count; j++) {
			if (!fields[j].key || !field_applies(&fields[j], view->by))
				continue;
			output_char(view->out, ',');
			field_get(&fields[j], &interval->rows[i], interval->about, &value);
			write_value(view->out, &fields[j], &value);
		}
		output_char(view->out, '\n');
	}
}

const struct view_ops view_csv = {
	.name = "csv",
	.help = "one line per row and interval, with a heading",
	.begin = csv_begin,
	.interval = csv_interval,
};
