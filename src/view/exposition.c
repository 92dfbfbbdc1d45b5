// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/exposition.h"

#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"

struct writer {
	struct output *out;
	enum exposition_format format;
	const struct exposition_extra *extra;
	bool labelled; /* a label has been written */
};

const char *exposition_type(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

static const char *const type_words[] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_INFO] = "info",
	[METRIC_HISTOGRAM] = "histogram",
};

/* A counter's samples end in _total; its family does, too, in the older format alone. */
static void write_family(void *data, const struct metric_family *family)
{
	struct writer *writer = data;
	struct output *out = writer->out;
	bool open = writer->format == EXPOSITION_OPENMETRICS;
	const char *suffix = open ? "" : metric_suffix(family);

	output_format(out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	/* the older format has no information */
	output_format(
		out, "# TYPE %s%s %s\n", family->name, suffix,
		type_words[family->type == METRIC_INFO && !open ? METRIC_GAUGE : family->type]);
	if (open && family->unit)
		output_format(out, "# UNIT %s %s\n", family->name, family->unit);
}

static void label(struct writer *writer, const char *name, const char *value)
{
	struct output *out = writer->out;
	size_t left = strlen(value);

	output_char(out, writer->labelled ? ',' : '{');
	writer->labelled = true;
	output_string(out, name);
	output_string(out, "=\"");
	while (left) {
		uint32_t character;
		char bytes[4];
		size_t length = text_decode(value, left, &character);

		if (text_is_hostile(character)) /* a line end, too */
			character = '?';
		if (character == '"' || character == '\\')
			output_char(out, '\\');
		output_bytes(out, bytes, text_encode(bytes, character));
		value += length;
		left -= length;
	}
	output_char(out, '"');
}

static void write_labels(struct writer *writer, const struct metric_label *labels, size_t count)
{
	for (size_t i = 0; i < count; i++)
		label(writer, labels[i].name, labels[i].value);
}

static void value(struct writer *writer, uint64_t number, bool is_ns)
{
	char text[32];

	if (writer->labelled)
		output_char(writer->out, '}');
	output_char(writer->out, ' ');
	if (!is_ns) {
		output_u64(writer->out, number);
		return;
	}
	snprintf(text, sizeof(text), "%llu.%09llu", (unsigned long long)(number / NS_PER_S),
		 (unsigned long long)(number % NS_PER_S));
	output_string(writer->out, text);
}

static void label_number(struct writer *writer, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	label(writer, name, text);
}

/*
 * Only OpenMetrics has exemplars. Names and values have at most 128 characters together: 19 of the
 * names, 20 and 10 of the numbers.
 */
#define EXEMPLAR_BYTES (128 - 19 - 20 - 10 + 1)

static void exemplar(struct writer *writer, const struct metric_histogram *histogram, size_t bucket)
{
	const struct stall_last *last = histogram->last;
	uint64_t ns = last ? last->ns : 0;
	bool is_its = ns && histogram->bounds[bucket] && ns < 1ULL << histogram->bounds[bucket] &&
		      (!bucket || ns >= 1ULL << histogram->bounds[bucket - 1]);
	char function[EXEMPLAR_BYTES];

	if (writer->format != EXPOSITION_OPENMETRICS || !is_its)
		return;
	snprintf(function, sizeof(function), "%s", last->function);
	output_string(writer->out, " # ");
	writer->labelled = false;
	label_number(writer, "tid", last->tid);
	label_number(writer, "start_ns", last->start_ns);
	if (*function)
		label(writer, "function", function);
	value(writer, ns, true);
}

static void write_sample(void *data, const struct metric_family *family,
			 const struct metric_sample *sample)
{
	struct writer *writer = data;
	struct output *out = writer->out;

	output_string(out, family->name);
	output_string(out, sample->suffix);
	writer->labelled = false;
	if (writer->extra)
		write_labels(writer, writer->extra->labels, writer->extra->label_count);
	write_labels(writer, sample->labels, sample->label_count);
	value(writer, sample->value, sample->is_seconds);
	if (sample->histogram)
		exemplar(writer, sample->histogram, sample->bucket);
	if (writer->extra) {
		output_char(out, ' ');
		output_u64(out, writer->extra->time_ms);
	}
	output_char(out, '\n');
}

static void write_point(void *data, const struct metric_family *family,
			const struct metric_point *point)
{
	metric_each_sample(family, point, write_sample, data);
}

void exposition_write(struct output *out, const struct metrics_input *input,
		      enum exposition_format format, const struct exposition_extra *extra)
{
	struct writer writer = {.out = out, .format = format, .extra = extra};
	const struct metric_sink sink = {&writer, write_family, write_point};

	metrics_walk(input, &sink);
	if (format == EXPOSITION_OPENMETRICS)
		output_string(out, "# EOF\n");
}
