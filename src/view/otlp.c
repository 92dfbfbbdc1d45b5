// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/otlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "version.h"

/*
 * Numbers of fields: github.com/open-telemetry/opentelemetry-proto, metrics/v1/metrics.proto and
 * collector/metrics/v1/metrics_service.proto.
 */
enum {
	ANSWER_PARTIAL_SUCCESS = 1,
	PARTIAL_REJECTED = 1,
	PARTIAL_MESSAGE = 2,
	REQUEST_RESOURCE_METRICS = 1,
	RESOURCE_METRICS_RESOURCE = 1,
	RESOURCE_METRICS_SCOPE = 2,
	RESOURCE_ATTRIBUTE = 1,
	SCOPE_METRICS_SCOPE = 1,
	SCOPE_METRICS_METRIC = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
	VALUE_STRING = 1,
	METRIC_NAME = 1,
	METRIC_DESCRIPTION = 2,
	METRIC_UNIT = 3,
	METRIC_OF_GAUGE = 5,
	METRIC_OF_SUM = 7,
	METRIC_OF_HISTOGRAM = 9,
	DATA_POINT = 1,
	DATA_TEMPORALITY = 2,
	SUM_IS_MONOTONIC = 3,
	POINT_START = 2,
	POINT_TIME = 3,
	NUMBER_AS_DOUBLE = 4,
	NUMBER_AS_INTEGER = 6,
	NUMBER_ATTRIBUTE = 7,
	HISTOGRAM_COUNT = 4,
	HISTOGRAM_SUM = 5,
	HISTOGRAM_BUCKETS = 6,
	HISTOGRAM_BOUNDS = 7,
	HISTOGRAM_ATTRIBUTE = 9,
};

#define CUMULATIVE 2

struct writer {
	const struct counters *counters;
	struct metric_family family; /* whose points are in `data` */
	struct protobuf scope, metric, data, point, attribute, value;
};

static void put_attribute(struct writer *writer, struct protobuf *into, unsigned int field,
			  const struct metric_label *label)
{
	protobuf_text(&writer->value, VALUE_STRING, label->value);
	protobuf_string(&writer->attribute, ATTRIBUTE_KEY, label->name);
	protobuf_message(&writer->attribute, ATTRIBUTE_VALUE, &writer->value);
	protobuf_message(into, field, &writer->attribute);
}

/* Of the family before, whose points are all there. */
static void end_family(struct writer *writer)
{
	static const unsigned int fields[] = {
		[METRIC_COUNTER] = METRIC_OF_SUM,
		[METRIC_GAUGE] = METRIC_OF_GAUGE,
		[METRIC_INFO] = METRIC_OF_GAUGE,
		[METRIC_HISTOGRAM] = METRIC_OF_HISTOGRAM,
	};
	const struct metric_family *family = &writer->family;
	bool is_gauge = family->name && fields[family->type] == METRIC_OF_GAUGE;
	char name[128];

	if (!family->name)
		return;
	/* what reads this for Prometheus adds _total itself, and knows nothing of _info */
	snprintf(name, sizeof(name), "%s%s", family->name,
		 family->type == METRIC_INFO ? metric_suffix(family) : "");
	if (!is_gauge)
		protobuf_number(&writer->data, DATA_TEMPORALITY, CUMULATIVE);
	protobuf_number(&writer->data, SUM_IS_MONOTONIC, family->type == METRIC_COUNTER);
	protobuf_string(&writer->metric, METRIC_NAME, name);
	protobuf_string(&writer->metric, METRIC_DESCRIPTION, family->help);
	if (family->unit)
		protobuf_string(&writer->metric, METRIC_UNIT,
				metric_is_seconds(family) ? "s" : "By");
	protobuf_message(&writer->metric, fields[family->type], &writer->data);
	protobuf_message(&writer->scope, SCOPE_METRICS_METRIC, &writer->metric);
}

static void begin_family(void *data, const struct metric_family *family)
{
	struct writer *writer = data;

	end_family(writer);
	writer->family = *family;
}

static void put_histogram(struct writer *writer, const struct metric_histogram *histogram)
{
	struct protobuf *point = &writer->point, *packed = &writer->value;

	protobuf_fixed(point, HISTOGRAM_COUNT, histogram->total);
	protobuf_double(point, HISTOGRAM_SUM, (double)histogram->sum_ns / 1e9);
	for (size_t i = 0; i < histogram->count; i++)
		protobuf_packed_fixed(packed, histogram->counts[i]);
	protobuf_message(point, HISTOGRAM_BUCKETS, packed);
	for (size_t i = 0; i + 1 < histogram->count; i++)
		protobuf_packed_double(packed, metric_bound_seconds(histogram->bounds[i]));
	protobuf_message(point, HISTOGRAM_BOUNDS, packed);
}

static void put_point(void *data, const struct metric_family *family,
		      const struct metric_point *point)
{
	struct writer *writer = data;
	bool is_cumulative = family->type == METRIC_COUNTER || point->histogram;
	uint64_t start_ns = point->begun_ns ? point->begun_ns : writer->counters->start_realtime_ns;

	if (is_cumulative)
		protobuf_fixed(&writer->point, POINT_START, start_ns);
	protobuf_fixed(&writer->point, POINT_TIME, writer->counters->end_realtime_ns);
	if (point->histogram)
		put_histogram(writer, point->histogram);
	else if (metric_is_seconds(family))
		protobuf_double(&writer->point, NUMBER_AS_DOUBLE, (double)point->value / 1e9);
	else
		protobuf_fixed(&writer->point, NUMBER_AS_INTEGER, point->value);
	for (size_t i = 0; i < point->label_count; i++)
		put_attribute(writer, &writer->point,
			      point->histogram ? HISTOGRAM_ATTRIBUTE : NUMBER_ATTRIBUTE,
			      &point->labels[i]);
	protobuf_message(&writer->data, DATA_POINT, &writer->point);
}

void otlp_put(struct protobuf *out, const struct metrics_input *input,
	      const struct metric_label *attributes, size_t attribute_count)
{
	struct writer writer = {.counters = input->counters};
	const struct metric_sink sink = {&writer, begin_family, put_point};
	struct protobuf whole = {0}, part = {0};

	protobuf_string(&part, SCOPE_NAME, "dwell");
	protobuf_string(&part, SCOPE_VERSION, DWELL_VERSION);
	protobuf_message(&writer.scope, SCOPE_METRICS_SCOPE, &part);
	metrics_walk(input, &sink);
	end_family(&writer);
	for (size_t i = 0; i < attribute_count; i++)
		put_attribute(&writer, &part, RESOURCE_ATTRIBUTE, &attributes[i]);
	protobuf_message(&whole, RESOURCE_METRICS_RESOURCE, &part);
	protobuf_message(&whole, RESOURCE_METRICS_SCOPE, &writer.scope);
	protobuf_message(out, REQUEST_RESOURCE_METRICS, &whole);
	free(whole.bytes);
	free(part.bytes);
	free(writer.scope.bytes);
	free(writer.metric.bytes);
	free(writer.data.bytes);
	free(writer.point.bytes);
	free(writer.attribute.bytes);
	free(writer.value.bytes);
}

uint64_t otlp_rejected(const uint8_t *answer, size_t length, char *words, size_t room)
{
	struct protobuf_reader all = {answer, answer + length}, partial, bytes;
	uint64_t number, rejected = 0;
	unsigned int field;

	*words = '\0';
	if (protobuf_read(&all, &number, &partial) != ANSWER_PARTIAL_SUCCESS || !partial.at)
		return 0;
	while ((field = protobuf_read(&partial, &number, &bytes))) {
		if (field == PARTIAL_REJECTED && !bytes.at)
			rejected = number;
		else if (field == PARTIAL_MESSAGE && bytes.at)
			snprintf(words, room, "%.*s", (int)(bytes.end - bytes.at),
				 (const char *)bytes.at);
	}
	return rejected;
}
