// SPDX-License-Identifier: GPL-2.0-or-later
/* One object a line; the contract is docs/formats/json.md. */
#include <string.h>
#include <sys/wait.h>

#include "base/json.h"
#include "view/view.h"

#define VERSION 1

static void write_value(struct json *json, const struct field *field, const struct value *value)
{
	switch (value->kind) {
	case VALUE_NULL:
		json_add_null(json, field->key);
		break;
	case VALUE_NUMBER:
		json_add_u64(json, field->key, value->number);
		break;
	case VALUE_STRING:
		json_add_string(json, field->key, value->string);
		break;
	case VALUE_BOOL:
		json_add_bool(json, field->key, value->number);
		break;
	case VALUE_DELAY:
		json_object_begin(json, field->key);
		json_add_u64(json, "count", value->count);
		json_add_u64(json, "total_ns", value->number);
		json_object_end(json);
		break;
	}
}

/* Not a single one is known: null, not an object of nulls. */
static bool is_empty(const char *group, const struct row *row)
{
	return !strcmp(group, "delays") && !row->delays_measured;
}

static void write_row(const struct view *view, struct json *json, const struct row *row,
		      const struct about *about)
{
	const char *group = NULL;
	bool open = false;
	struct value value;

	json_object_begin(json, NULL);
	for (size_t i = 0; i < field_count; i++) {
		const struct field *field = &fields[i];

		if (!field->key || !field_applies(field, view->by))
			continue;
		if (field->group != group) {
			if (open)
				json_object_end(json);
			group = field->group;
			open = group && !is_empty(group, row);
			if (open)
				json_object_begin(json, group);
			else if (group)
				json_add_null(json, group);
		}
		if (group && !open)
			continue;
		field_get(field, row, about, &value);
		write_value(json, field, &value);
	}
	if (open)
		json_object_end(json);
	json_object_end(json);
}

static void write_quality(struct json *json, const struct interval *interval)
{
	const struct wire_losses *losses = &interval->losses;
	const struct about *about = interval->about;

	json_object_begin(json, "quality");
	json_add_u64(json, "lost", losses_lost(losses));
	json_add_u64(json, "lost_threads", losses->threads);
	json_add_u64(json, "lost_exits", losses->exits);
	json_add_u64(json, "lost_transitions", losses->transitions);
	json_add_u64(json, "torn", losses->torn);
	json_add_u64(json, "clamped", losses->clamped);
	json_add_known(json, "machine_stolen_ns", interval->machine_stolen_ns,
		       about_has_machine(about));
	json_add_known(json, "machine_busy_ns", interval->machine_busy_ns,
		       about_has_machine(about));
	json_add_string(json, "cpu_split",
			about->session.flags & WIRE_SESSION_PRECISE_SPLIT ? "precise" : "tick");
	json_add_string(json, "states", about_states_kind(about));
	if (about->session.sample_ns)
		json_add_u64(json, "sample_ns", about->session.sample_ns);
	json_array_begin(json, "unavailable");
	for (size_t i = 0; i < about->missing_count; i++) {
		json_object_begin(json, NULL);
		json_add_string(json, "source", about->missing[i].source);
		json_add_string(json, "why", about->missing[i].why);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

/* Cumulative, of waits that have ended; for the processes whose reasons are kept. */
static void write_reasons(struct json *json, const struct interval *interval)
{
	char text[REASON_BYTES];

	json_array_begin(json, "reasons");
	for (size_t i = 0; i < interval->reason_count; i++) {
		const struct wire_reason *reason = &interval->reasons[i];

		reason_format(text, sizeof(text), reason->where, about_is_native(interval->about));
		json_object_begin(json, NULL);
		json_add_u64(json, "pid", reason->pid);
		json_add_u64(json, "tid", reason->tid);
		json_add_string(json, "state", state_info[state_of_wait(reason->where.state)].key);
		json_add_string(json, "reason", text);
		json_add_u64(json, "count", reason->count);
		json_add_u64(json, "total_ns", reason->total_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_interval(const struct view *view, const struct interval *interval)
{
	struct json json = {.out = view->out};
	char start[VIEW_TIME_BYTES];
	size_t rows = view_rows(view, interval);

	view_format_time(start, interval->start_realtime_ns);
	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "interval");
	json_add_u64(&json, "version", VERSION);
	json_add_string(&json, "start", start);
	json_add_u64(&json, "start_ns", interval->start_ns);
	json_add_u64(&json, "duration_ns", interval->end_ns - interval->start_ns);
	json_add_bool(&json, "final", interval->final);
	json_array_begin(&json, "sources");
	json_add_string(&json, NULL, about_source(interval->about));
	if (about_has_delays_beside(interval->about))
		json_add_string(&json, NULL, "taskstats");
	json_array_end(&json);
	write_quality(&json, interval);
	json_object_begin(&json, "self");
	json_add_u64(&json, "cpu_ns", interval->self_cpu_ns);
	json_add_u64(&json, "snapshot_ns", interval->snapshot_ns);
	json_object_end(&json);
	json_add_u64(&json, "total", interval->row_count);
	json_array_begin(&json, grouping_plurals[view->by]);
	for (size_t i = 0; i < rows; i++)
		write_row(view, &json, &interval->rows[i], interval->about);
	json_array_end(&json);
	if (interval->reason_count)
		write_reasons(&json, interval);
	json_object_end(&json);
	output_char(view->out, '\n');
}

static void json_child(const struct view *view, const struct wire_child *child)
{
	struct json json = {.out = view->out};
	int status = (int)child->wait_status;

	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "exit");
	json_add_u64(&json, "version", VERSION);
	json_add_string(&json, "command", child->name);
	if (WIFEXITED(status))
		json_add_i64(&json, "status", WEXITSTATUS(status));
	else
		json_add_null(&json, "status");
	if (WIFSIGNALED(status))
		json_add_i64(&json, "signal", WTERMSIG(status));
	else
		json_add_null(&json, "signal");
	json_add_u64(&json, "duration_ns", child->duration_ns);
	json_object_end(&json);
	output_char(view->out, '\n');
}

const struct view_ops view_json = {
	.name = "json",
	.help = "one JSON object per interval and line",
	.interval = json_interval,
	.child = json_child,
};
