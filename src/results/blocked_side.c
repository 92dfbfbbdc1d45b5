// SPDX-License-Identifier: GPL-2.0-or-later
#include "results/blocked_side.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "emit/read.h"
#include "model/stalls.h"
#include "runtime/runtime.h"
#include "session/replay.h"
#include "view/blocked.h"
#include "view/blamed.h"
#include "view/blocked_words.h"

/* A recording on its way to a side. */
struct reading {
	struct stalls *stalls;
	uint64_t duration_ns;
};

static int take_record(void *data, const struct wire_header *record, struct error *error)
{
	struct reading *reading = data;
	struct stall stall;
	int result = stalls_feed(reading->stalls, record, &stall);

	return result < 0 ? error_set(error, -result, "cannot take a record: %s", strerror(-result))
			  : 0;
}

static int take_interval(void *data, struct interval *interval, struct error *error)
{
	struct reading *reading = data;

	(void)error;
	reading->duration_ns += interval->end_ns - interval->start_ns;
	return 0;
}

static int take_hotspots(struct compared_side *side, struct stalls *stalls)
{
	size_t count;
	const struct hotspot *hotspots;
	char name[BLOCKED_NAME_BYTES];
	int result = stalls_hotspots(stalls, HOTSPOTS_BY_FUNCTION, &hotspots, &count);

	for (size_t i = 0; result >= 0 && i < count; i++) {
		const struct frame *function = stalls_frame(stalls, hotspots[i].function);

		if (hotspots[i].in_place || stall_cause_is_machine(hotspots[i].cause))
			continue;
		*name = '\0';
		if (function)
			blocked_name(name, function);
		result = compared_add(side, name, stall_cause_info[hotspots[i].cause].key,
				      hotspots[i].count, hotspots[i].total_ns, hotspots[i].max_ns);
	}
	return result;
}

static int read_recording(struct compared_side *side, const char *path, struct error *error)
{
	struct reading reading = {.stalls = stalls_new(0, runtime_stack_marks())};
	struct replay replay = {
		.audience = {.data = &reading, .interval = take_interval, .record = take_record}};
	int result = reading.stalls ? replay_open(&replay, path, error)
				    : error_set(error, ENOMEM, "out of memory");

	if (result >= 0)
		result = replay_run(&replay, error);
	if (result >= 0 && !stalls_runtime(reading.stalls)->pid)
		result = error_set(error, EINVAL, "%s is not a recording of `dwell blocked`", path);
	if (result >= 0 && take_hotspots(side, reading.stalls) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0) {
		side->duration_ns = reading.duration_ns;
		side->threshold_ns = stalls_runtime(reading.stalls)->threshold_ns;
		side->is_seen = stalls_seen(reading.stalls);
	}
	replay_release(&replay);
	stalls_free(reading.stalls);
	return result;
}

static uint64_t number_at(const struct schema *schema, const json_t *object, const char *key)
{
	json_int_t number = json_integer_value(result_read(schema, object, key));

	return number > 0 ? (uint64_t)number : 0;
}

static bool is_machine(const char *cause)
{
	for (int i = 0; cause && i < STALL_CAUSES_COUNT; i++)
		if (!strcmp(cause, stall_cause_info[i].key))
			return stall_cause_is_machine((enum stall_cause)i);
	return false;
}

/* As stalls_seen() */
static bool is_seen(const json_t *summary)
{
	const json_t *workers = result_read(&blocked_schema, summary, "workers");
	bool seen = number_at(&blocked_schema, summary, "stalls") > 0;

	for (size_t i = 0; i < json_array_size(workers); i++) {
		const json_t *worker = json_array_get(workers, i);
		const struct schema *schema = &blocked_worker_schema;

		seen |= number_at(schema, worker, "polls") || number_at(schema, worker, "turns") ||
			json_is_object(result_read(schema, worker, "stuck"));
	}
	return seen;
}

static int take_summary(struct compared_side *side, const json_t *summary)
{
	const json_t *hotspots = result_read(&blocked_schema, summary, "hotspots");
	int result = 0;

	/* a file may have several, one after the other */
	side->is_seen |= is_seen(summary);
	side->duration_ns += number_at(&blocked_schema, summary, "duration_ns");
	side->threshold_ns = number_at(&blocked_schema, summary, "threshold_ns");
	for (size_t i = 0; result >= 0 && i < json_array_size(hotspots); i++) {
		const json_t *hotspot = json_array_get(hotspots, i);
		const char *function = result_read_string(&hotspot_schema, hotspot, "function");
		const char *cause = result_read_string(&hotspot_schema, hotspot, "cause");

		if (result_read_string(&hotspot_schema, hotspot, "legitimate") || is_machine(cause))
			continue;
		result = compared_add(side, function ? function : "", cause ? cause : "",
				      number_at(&hotspot_schema, hotspot, "count"),
				      number_at(&hotspot_schema, hotspot, "total_ns"),
				      number_at(&hotspot_schema, hotspot, "max_ns"));
	}
	return result;
}

/* JSON lines; the summary is the one of type "blocked". */
static int read_json(struct compared_side *side, FILE *file, const char *path, struct error *error)
{
	bool found = false;
	int result = 0;

	while (result >= 0) {
		json_error_t why;
		json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &why);
		const char *type;

		if (!line)
			break;
		type = json_string_value(json_object_get(line, "type"));
		if (type && !strcmp(type, "blocked")) {
			found = true;
			if (take_summary(side, line) < 0)
				result = error_set(error, ENOMEM, "out of memory");
		}
		json_decref(line);
	}
	if (result >= 0 && !found)
		return error_set(error, EINVAL,
				 "%s is neither a recording nor JSON of `dwell blocked`", path);
	return result;
}

int blocked_side_read(struct compared_side *side, const char *path, struct error *error)
{
	cleanup_file FILE *file = fopen(path, "re");
	int first;

	if (!file)
		return error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	first = getc(file);
	if (first != '{')
		return read_recording(side, path, error);
	ungetc(first, file);
	return read_json(side, file, path, error);
}
