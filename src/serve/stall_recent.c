// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/stall_recent.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "serve/stall_watch.h"

static void replace(char **place, const char *line, size_t length)
{
	free(*place);
	*place = line && length <= STALL_RECENT_BYTES ? strndup(line, length) : NULL;
}

void stall_recent_add(struct stall_recent *recent, const char *line, size_t length)
{
	replace(&recent->stalls[recent->next], line, length);
	if (recent->stalls[recent->next])
		recent->next = (recent->next + 1) % STALLS_RECENT;
}

void stall_recent_set_stuck(struct stall_recent *recent, const char *line, size_t length)
{
	replace(&recent->stuck, line, length);
}

void stall_recent_release(struct stall_recent *recent)
{
	for (size_t i = 0; i < STALLS_RECENT; i++)
		free(recent->stalls[i]);
	free(recent->stuck);
}

/* The latest first. */
static void write_lines(struct json *json, const struct stall_recent *recent)
{
	json_array_begin(json, "stalls");
	for (size_t i = 1; i <= STALLS_RECENT; i++) {
		size_t at = (recent->next + STALLS_RECENT - i) % STALLS_RECENT;

		if (recent->stalls[at])
			json_add_made(json, NULL, recent->stalls[at]);
	}
	json_array_end(json);
}

void stall_recent_write(const struct stall_watch *watch, struct output *out)
{
	struct json json = {.out = out};

	json_array_begin(&json, NULL);
	for (size_t i = 0; watch && i < stall_watch_count(watch); i++) {
		const struct stall_counts_of *counts = stall_watch_counts(watch, i);
		const struct stall_recent *recent = stall_watch_recent(watch, i);

		json_object_begin(&json, NULL);
		json_add_string(&json, "process", counts->process);
		json_add_bool(&json, "watched", counts->is_up);
		json_add_u64(&json, "now_ns", clock_monotonic_ns());
		json_add_u64(&json, "stuck_workers", counts->stuck);
		json_array_begin(&json, "stuck");
		if (recent->stuck)
			json_add_made(&json, NULL, recent->stuck);
		json_array_end(&json);
		write_lines(&json, recent);
		json_object_end(&json);
	}
	json_array_end(&json);
	output_char(out, '\n');
}
