// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/clickhouse.h"

#include <stdio.h>
#include <time.h>

#include "base/text.h"

struct writer {
	struct output *out;
	const char *host;
	char time[64]; /* and milliseconds, as members */
};

static void write_sample(void *data, const struct metric_family *family,
			 const struct metric_sample *sample)
{
	struct writer *writer = data;
	struct output *out = writer->out;
	char text[64];

	output_format(out, "{%s,\"host\":", writer->time);
	text_json(out, writer->host);
	output_format(out, ",\"metric\":\"%s%s\"", family->name, sample->suffix);
	for (size_t i = 0; i < sample->label_count; i++) {
		output_format(out, ",\"%s\":", sample->labels[i].name);
		text_json(out, sample->labels[i].value);
	}
	snprintf(text, sizeof(text), ",\"value\":%.17g}\n", metric_value(sample));
	output_string(out, text);
}

static void write_family(void *data, const struct metric_family *family)
{
	(void)data;
	(void)family;
}

static void write_point(void *data, const struct metric_family *family,
			const struct metric_point *point)
{
	metric_each_sample(family, point, write_sample, data);
}

void clickhouse_write(struct output *out, const struct metrics_input *input, const char *host,
		      uint64_t time_ms)
{
	struct writer writer = {.out = out, .host = host};
	const struct metric_sink sink = {&writer, write_family, write_point};
	time_t seconds = (time_t)(time_ms / 1000);
	char date[24] = "";
	struct tm parts;

	if (gmtime_r(&seconds, &parts))
		strftime(date, sizeof(date), "%F %T", &parts);
	snprintf(writer.time, sizeof(writer.time), "\"time\":\"%s\",\"ms\":%u", date,
		 (unsigned int)(time_ms % 1000));
	metrics_walk(input, &sink);
}
