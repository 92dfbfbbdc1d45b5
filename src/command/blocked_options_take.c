// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes what the options of `dwell blocked` are given. */
#include "command/blocked_options_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/size.h"

#define RING_MIN (64U << 10)
#define RING_MAX (1U << 30)
/* Some intervals, or shares are of one. */
#define WINDOW_MIN_NS NS_PER_S

int blocked_take_frequency(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	uint64_t frequency;
	int result = parsing_count(value, "--freq", &frequency, error);

	if (result == 0 && frequency > 10000)
		return error_set(error, EINVAL, "--freq %s is too much: 10000 at most", value);
	options->spans.frequency = (unsigned int)frequency;
	return result;
}

int blocked_take_runtime(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	options->runtime = runtime_find(value);
	return options->runtime || !strcmp(value, "auto")
		       ? 0
		       : parsing_unknown(error, "runtime", value, RUNTIME_CHOICES);
}

int blocked_take_threshold(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	int result = duration_parse(value, &options->spans.threshold_ns, error);

	if (!strcmp(value, "0"))
		return error_set(error, EINVAL, "--threshold 0 is too short (10us at least)");
	if (result == 0 && options->spans.threshold_ns < 10 * NS_PER_US)
		return error_set(error, EINVAL, "--threshold %s is too short (10us at least)",
				 value);
	return result;
}

int blocked_take_budget(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	char *end;
	double percent = strtod(value, &end);

	if (end == value || *end || !(percent > 0 && percent <= 100))
		return error_set(error, EINVAL,
				 "--budget %s: a number of percent, above 0, 100 at most", value);
	options->spans.budget = percent / 100;
	return 0;
}

int blocked_take_ring(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	uint64_t bytes;
	int result = size_parse(value, &bytes, error);

	if (result < 0)
		return result;
	/* a stack with its registers is a little over 32 KiB */
	if (bytes & (bytes - 1) || bytes < RING_MIN || bytes > RING_MAX)
		return error_set(error, EINVAL, "--ring %s: use a power of two from 64K to 1G",
				 value);
	options->spans.ring_bytes = (uint32_t)bytes;
	return 0;
}

int blocked_take_ready_fd(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	uint64_t fd;
	int result = parsing_count(value, "--ready-fd", &fd, error);

	if (result == 0 && (fd > INT_MAX || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0))
		return error_set(error, EINVAL, "--ready-fd %s: no such descriptor is open", value);
	if (result == 0)
		options->ready_fd = (int)fd;
	return result;
}

int blocked_take_name(void *targets, const char *value, struct error *error)
{
	return targets_add_name(targets, value, error);
}

int blocked_take_process(void *targets, const char *value, struct error *error)
{
	return targets_parse(targets, value, TARGET_PROCESS, error);
}

int blocked_take_workers(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	if (!*value || strlen(value) >= sizeof(options->spans.prefix))
		return error_set(error, EINVAL,
				 "--workers '%s': names of threads have 1 to 15 bytes", value);
	snprintf(options->spans.prefix, sizeof(options->spans.prefix), "%s", value);
	return 0;
}

int blocked_take_window(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;
	int result = duration_parse(value, &options->window_ns, error);

	if (result == 0 && options->window_ns < WINDOW_MIN_NS)
		return error_set(error, EINVAL, "--window %s is too short (1s at least)", value);
	return result;
}

/* From 0 up. */
int blocked_take_max_stalls(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	options->max_stalls_given = true;
	options->max_stalls = 0;
	if (!strcmp(value, "0") ||
	    parsing_count(value, "--max-stalls", &options->max_stalls, NULL) >= 0)
		return 0;
	return error_set(error, EINVAL, "--max-stalls needs a number from 0 up, not '%s'", value);
}

int blocked_take_by(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	for (size_t i = 0; i < BLOCKED_ROWS_COUNT; i++) {
		if (!strcmp(blocked_row_schemas[i]->table, value)) {
			options->by = (enum blocked_rows)i;
			return 0;
		}
	}
	return parsing_unknown(error, "kind of rows", value, "hotspot or task");
}

int blocked_take_export_format(void *data, const char *value, struct error *error)
{
	struct blocked_options *options = data;

	options->export_format = blocked_export_find(value);
	return options->export_format
		       ? 0
		       : parsing_unknown(error, "export format", value, "chrome, folded or json");
}
