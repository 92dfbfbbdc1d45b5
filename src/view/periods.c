// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/periods.h"

#include <errno.h>
#include <string.h>

#include "base/gzip.h"
#include "emit/emit.h"
#include "view/serve.h"

void periods_init(struct periods *periods, const uint64_t *lengths_ns, size_t count)
{
	*periods = (struct periods){.level_count = count};
	for (size_t i = 0; i < count; i++)
		periods->levels[i].length_ns = lengths_ns[i];
}

void periods_release(struct periods *periods)
{
	for (size_t i = 0; i < PERIODS_LEVELS; i++)
		for (size_t j = 0; j < PERIODS_KEPT; j++)
			free(periods->levels[i].kept[j].packed);
	*periods = (struct periods){0};
}

static int keep(struct periods_level *level, const struct serve_period *period)
{
	cleanup(output_release) struct output out = {.fd = -1};
	struct kept_period *place = &level->kept[level->next];
	struct item item = {period, NULL};
	char *packed, *fitting;
	size_t length;

	if (output_init(&out, -1) < 0)
		return -ENOMEM;
	emit_json_line(&out, &serve_period_schema, &item);
	if (out.used && out.buffer[out.used - 1] == '\n')
		out.used--;
	/* a sixth of the memory, for some 300 us; hours of 50 groups would be 60 MiB else */
	if (out.error || gzip_pack(out.buffer, out.used, 1, &packed, &length) < 0)
		return -ENOMEM;
	fitting = realloc(packed, length);
	free(place->packed);
	*place = (struct kept_period){
		.packed = fitting ? fitting : packed,
		.packed_length = length,
		.length = out.used,
		.start_realtime_ns = period->start_realtime_ns,
		.end_realtime_ns = period->start_realtime_ns + period->duration_ns,
	};
	level->next = (level->next + 1) % PERIODS_KEPT;
	level->count += level->count < PERIODS_KEPT;
	return 0;
}

static int level_end(struct periods *periods, size_t number, struct counters *counters)
{
	struct periods_level *level = &periods->levels[number];
	struct serve_period period = {.counters = counters,
				      .mark = number,
				      .start_realtime_ns = level->start_realtime_ns,
				      .duration_ns = level->end_ns - level->start_ns};
	int result;

	if (!level->start_ns)
		return 0;
	result = keep(level, &period);
	counters_set_mark(counters, number);
	level->start_ns = 0;
	return result;
}

static int level_add(struct periods *periods, size_t number, struct counters *counters,
		     const struct interval *interval)
{
	struct periods_level *level = &periods->levels[number];

	if (!level->start_ns) {
		level->start_ns = interval->start_ns;
		level->start_realtime_ns = interval->start_realtime_ns;
	}
	level->end_ns = interval->end_ns;
	return level->end_ns - level->start_ns < level->length_ns
		       ? 0
		       : level_end(periods, number, counters);
}

int periods_add(struct periods *periods, struct counters *counters, const struct interval *interval)
{
	int result = 0;

	if (counters->intervals && interval->start_ns != counters->end_ns)
		result = periods_end(periods, counters);
	counters_add(counters, interval);
	for (size_t i = 0; result >= 0 && i < periods->level_count; i++)
		result = level_add(periods, i, counters, interval);
	return result;
}

int periods_end(struct periods *periods, struct counters *counters)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < periods->level_count; i++)
		result = level_end(periods, i, counters);
	return result;
}

static size_t level_for(const struct periods *periods, uint64_t step_ns)
{
	size_t found = 0;

	for (size_t i = 1; i < periods->level_count; i++)
		if (periods->levels[i].length_ns <= step_ns)
			found = i;
	return found;
}

static void write_period(struct output *out, const struct kept_period *period)
{
	char *json = malloc(period->length + 1);

	if (json && gzip_unpack(period->packed, period->packed_length, json, period->length) >= 0)
		output_bytes(out, json, period->length);
	else
		output_fail(out, ENOMEM);
	free(json);
}

void periods_write(const struct periods *periods, struct output *out, uint64_t step_ns,
		   uint64_t from_ns, uint64_t to_ns)
{
	const struct periods_level *level = &periods->levels[level_for(periods, step_ns)];
	size_t oldest = (level->next + PERIODS_KEPT - level->count) % PERIODS_KEPT;
	bool comma = false;

	output_char(out, '[');
	for (size_t i = 0; i < level->count; i++) {
		const struct kept_period *period = &level->kept[(oldest + i) % PERIODS_KEPT];

		if (period->end_realtime_ns <= from_ns ||
		    (to_ns && period->start_realtime_ns >= to_ns))
			continue;
		if (comma)
			output_string(out, ",\n");
		write_period(out, period);
		comma = true;
	}
	output_string(out, "]\n");
}
