// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/remote_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Numbers of fields: github.com/prometheus/prometheus, prompb/remote.proto and types.proto. */
enum {
	REQUEST_SERIES = 1,
	REQUEST_METADATA = 3,
	SERIES_LABEL = 1,
	SERIES_SAMPLE = 2,
	LABEL_NAME = 1,
	LABEL_VALUE = 2,
	SAMPLE_VALUE = 1,
	SAMPLE_TIME = 2,
	METADATA_TYPE = 1,
	METADATA_FAMILY = 2,
	METADATA_HELP = 4,
	METADATA_UNIT = 5,
};

static const unsigned int type_numbers[] = {
	[METRIC_COUNTER] = 1,
	[METRIC_GAUGE] = 2,
	[METRIC_INFO] = 6,
	[METRIC_HISTOGRAM] = 3,
};

#define LABELS_MOST (METRIC_SAMPLE_LABELS + METRIC_EXTRA + 1)

struct writer {
	struct protobuf *out;
	struct protobuf series, inner;
	const struct metric_label *labels;
	size_t label_count;
	uint64_t time_ms;
};

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct metric_label *)left)->name,
		      ((const struct metric_label *)right)->name);
}

/* An empty one is the same as none, which is how it has to be written. */
static void put_label(struct writer *writer, const struct metric_label *label)
{
	if (!*label->value)
		return;
	protobuf_string(&writer->inner, LABEL_NAME, label->name);
	protobuf_text(&writer->inner, LABEL_VALUE, label->value);
	protobuf_message(&writer->series, SERIES_LABEL, &writer->inner);
}

static void put_sample(void *data, const struct metric_family *family,
		       const struct metric_sample *sample)
{
	struct writer *writer = data;
	struct metric_label labels[LABELS_MOST];
	size_t count = 0;
	char name[128];

	snprintf(name, sizeof(name), "%s%s", family->name, sample->suffix);
	labels[count++] = (struct metric_label){"__name__", name};
	for (size_t i = 0; i < sample->label_count; i++)
		labels[count++] = sample->labels[i];
	for (size_t i = 0; i < writer->label_count; i++)
		labels[count++] = writer->labels[i];
	/* receivers refuse any other order */
	qsort(labels, count, sizeof(*labels), by_name);
	for (size_t i = 0; i < count; i++)
		put_label(writer, &labels[i]);
	protobuf_double(&writer->inner, SAMPLE_VALUE, metric_value(sample));
	protobuf_number(&writer->inner, SAMPLE_TIME, writer->time_ms);
	protobuf_message(&writer->series, SERIES_SAMPLE, &writer->inner);
	protobuf_message(writer->out, REQUEST_SERIES, &writer->series);
}

static void put_family(void *data, const struct metric_family *family)
{
	struct writer *writer = data;
	char name[128];

	snprintf(name, sizeof(name), "%s%s", family->name, metric_suffix(family));
	protobuf_number(&writer->inner, METADATA_TYPE, type_numbers[family->type]);
	protobuf_string(&writer->inner, METADATA_FAMILY, name);
	protobuf_string(&writer->inner, METADATA_HELP, family->help);
	if (family->unit)
		protobuf_string(&writer->inner, METADATA_UNIT, family->unit);
	protobuf_message(writer->out, REQUEST_METADATA, &writer->inner);
}

static void put_point(void *data, const struct metric_family *family,
		      const struct metric_point *point)
{
	metric_each_sample(family, point, put_sample, data);
}

void remote_write_put(struct protobuf *out, const struct metrics_input *input,
		      const struct metric_label *labels, size_t label_count, uint64_t time_ms)
{
	struct writer writer = {
		.out = out,
		.labels = labels,
		.label_count = label_count < METRIC_EXTRA ? label_count : METRIC_EXTRA,
		.time_ms = time_ms,
	};
	const struct metric_sink sink = {&writer, put_family, put_point};

	metrics_walk(input, &sink);
	free(writer.series.bytes);
	free(writer.inner.bytes);
}
