// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/push_figures.h"

#include <errno.h>
#include <string.h>

#include "base/duration.h"
#include "view/clickhouse.h"
#include "view/exposition.h"
#include "view/otlp.h"
#include "view/remote_write.h"

/* What a scrape adds by itself, under the names that rules and dashboards ask for. */
#define JOB "dwell"

/* The bytes of an output that keeps all in memory. */
static int take_output(struct output *out, char **ret_bytes, size_t *ret_length)
{
	if (out->error)
		return -ENOMEM;
	*ret_bytes = out->buffer;
	*ret_length = out->used;
	out->buffer = NULL;
	return 0;
}

static int take_message(struct protobuf *message, char **ret_bytes, size_t *ret_length)
{
	if (message->failed) {
		free(message->bytes);
		return -ENOMEM;
	}
	*ret_bytes = (char *)message->bytes;
	*ret_length = message->used;
	return 0;
}

int push_figures_metrics(enum push_protocol protocol, const struct metrics_input *input,
			 const char *host, char **ret_bytes, size_t *ret_length)
{
	const struct metric_label labels[] = {{"instance", host}, {"job", JOB}};
	const struct metric_label attributes[] = {
		{"host.name", host}, {"service.instance.id", host}, {"service.name", JOB}};
	uint64_t time_ms = input->counters->end_realtime_ns / NS_PER_MS;
	const struct exposition_extra extra = {labels, ARRAY_SIZE(labels), time_ms};
	cleanup(output_release) struct output out = {.fd = -1};
	struct protobuf message = {0};

	switch (protocol) {
	case PUSH_REMOTE_WRITE:
		remote_write_put(&message, input, labels, ARRAY_SIZE(labels), time_ms);
		return take_message(&message, ret_bytes, ret_length);
	case PUSH_OTLP:
		otlp_put(&message, input, attributes, ARRAY_SIZE(attributes));
		return take_message(&message, ret_bytes, ret_length);
	case PUSH_VICTORIAMETRICS:
	case PUSH_CLICKHOUSE:
		if (output_init(&out, -1) < 0)
			return -ENOMEM;
		if (protocol == PUSH_CLICKHOUSE)
			clickhouse_write(&out, input, host, time_ms);
		else
			exposition_write(&out, input, EXPOSITION_TEXT, &extra);
		return take_output(&out, ret_bytes, ret_length);
	case PUSH_PYROSCOPE:
	case PUSH_PROTOCOLS:
		break;
	}
	return -EINVAL;
}

/* Units as Pyroscope knows them: its only one for time besides samples is of locks. */
static const char form_begin[] =
	"--" PUSH_BOUNDARY "\r\n"
	"Content-Disposition: form-data; name=\"sample_type_config\"; filename=\"config.json\"\r\n"
	"Content-Type: application/json\r\n\r\n"
	"{\"samples\":{\"units\":\"samples\",\"display-name\":\"samples\"},"
	"\"cpu\":{\"units\":\"lock_nanoseconds\",\"display-name\":\"cpu\"},"
	"\"off_cpu\":{\"units\":\"lock_nanoseconds\",\"display-name\":\"off_cpu\"}}\r\n"
	"--" PUSH_BOUNDARY "\r\n"
	"Content-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n"
	"Content-Type: application/octet-stream\r\n\r\n";
static const char form_end[] = "\r\n--" PUSH_BOUNDARY "--\r\n";

int push_figures_profile(const void *pprof, size_t length, char **ret_bytes, size_t *ret_length)
{
	cleanup(output_release) struct output out = {.fd = -1};

	if (output_init(&out, -1) < 0)
		return -ENOMEM;
	output_bytes(&out, form_begin, sizeof(form_begin) - 1);
	output_bytes(&out, pprof, length);
	output_bytes(&out, form_end, sizeof(form_end) - 1);
	return take_output(&out, ret_bytes, ret_length);
}
