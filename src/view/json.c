// SPDX-License-Identifier: GPL-2.0-or-later
/* One object a line; the contract is docs/formats/json.md. */
#include <sys/wait.h>

#include "base/json.h"
#include "view/view.h"

#define VERSION 1

static void write_value(struct json *json, const struct field *field, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NULL:
		json_null(json, field->key);
		break;
	case VALUE_NUMBER:
		json_u64(json, field->key, value->number);
		break;
	case VALUE_STRING:
		json_string(json, field->key, value->string);
		break;
	case VALUE_BOOL:
		json_bool(json, field->key, value->number);
		break;
	}
}

static void write_row(const struct view *view, struct json *json, const struct row *row)
{
	const char *group = NULL;
	struct value value;

	json_object_begin(json, NULL);
	for (size_t i = 0; i < field_count; i++) {
		const struct field *field = &fields[i];

		if (!field->key || !field_applies(field, view->by))
			continue;
		if (field->group != group) {
			if (group)
				json_object_end(json);
			if (field->group)
				json_object_begin(json, field->group);
			group = field->group;
		}
		field->get(field, row, &view->names, &value);
		write_value(json, field, &value);
	}
	if (group)
		json_object_end(json);
	json_object_end(json);
}

static void write_quality(const struct view *view, struct json *json,
			  const struct wire_losses *losses)
{
	json_object_begin(json, "quality");
	json_u64(json, "lost", losses->threads + losses->exits + losses->transitions);
	json_u64(json, "lost_threads", losses->threads);
	json_u64(json, "lost_exits", losses->exits);
	json_u64(json, "lost_transitions", losses->transitions);
	json_u64(json, "torn", losses->torn);
	json_string(json, "cpu_split", view->quality.precise_cpu_split ? "precise" : "tick");
	json_array_begin(json, "unavailable");
	for (size_t i = 0; i < view->quality.unavailable_count; i++) {
		json_object_begin(json, NULL);
		json_string(json, "source", view->quality.unavailable[i].source);
		json_string(json, "why", view->quality.unavailable[i].why);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void json_interval(const struct view *view, const struct interval *interval)
{
	struct json json = {.out = view->out};
	char start[VIEW_TIME_BYTES];
	size_t rows = view_rows(view, interval);

	view_format_time(start, interval->start_realtime_ns);
	json_object_begin(&json, NULL);
	json_string(&json, "type", "interval");
	json_u64(&json, "version", VERSION);
	json_string(&json, "start", start);
	json_u64(&json, "start_ns", interval->start_ns);
	json_u64(&json, "duration_ns", interval->end_ns - interval->start_ns);
	json_bool(&json, "final", interval->final);
	json_array_begin(&json, "sources");
	json_string(&json, NULL, view->quality.source);
	json_array_end(&json);
	write_quality(view, &json, &interval->losses);
	json_object_begin(&json, "self");
	json_u64(&json, "cpu_ns", view->cost.cpu_ns);
	json_u64(&json, "snapshot_ns", view->cost.snapshot_ns);
	json_object_end(&json);
	json_u64(&json, "total", interval->row_count);
	json_array_begin(&json, grouping_plurals[view->by]);
	for (size_t i = 0; i < rows; i++)
		write_row(view, &json, &interval->rows[i]);
	json_array_end(&json);
	json_object_end(&json);
	output_char(view->out, '\n');
}

static void json_child(const struct view *view, const struct child_outcome *outcome)
{
	struct json json = {.out = view->out};
	int status = outcome->wait_status;

	json_object_begin(&json, NULL);
	json_string(&json, "type", "exit");
	json_u64(&json, "version", VERSION);
	json_string(&json, "command", outcome->name);
	if (WIFEXITED(status))
		json_i64(&json, "status", WEXITSTATUS(status));
	else
		json_null(&json, "status");
	if (WIFSIGNALED(status))
		json_i64(&json, "signal", WTERMSIG(status));
	else
		json_null(&json, "signal");
	json_u64(&json, "duration_ns", outcome->duration_ns);
	json_object_end(&json);
	output_char(view->out, '\n');
}

const struct view_ops view_json = {
	.name = "json",
	.help = "one JSON object per interval and line",
	.interval = json_interval,
	.child = json_child,
};
