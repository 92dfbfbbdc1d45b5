// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/observer.h"

#include <errno.h>
#include <stdlib.h>

#include "base/duration.h"
#include "session/snapshot.h"

/* A snapshot may be late; nothing is asked for more often. */
#define INTERVAL_NS (3600 * NS_PER_S)

struct observer {
	struct targets targets;
	struct source *source;
	struct intervals *intervals;
	struct interval *interval;
};

static int take_record(void *data, const struct wire_header *record)
{
	struct observer *observer = data;
	int result = intervals_feed(observer->intervals, record, &observer->interval);

	return result < 0 ? result : 0;
}

int observer_open(struct observer **ret_observer, const struct observer_options *options,
		  struct error *error)
{
	struct observer *observer = calloc(1, sizeof(*observer));
	struct source_options source = {
		.choice = options->choice, .interval_ns = INTERVAL_NS, .blame = options->blame};
	int result;

	if (!observer)
		return error_set(error, ENOMEM, "out of memory");
	observer->targets.children = true;
	observer->intervals = intervals_new();
	result = observer->intervals ? targets_add_process(&observer->targets, options->pid, error)
				     : error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = source_open(&observer->source, &source, &observer->targets,
				     (struct record_sink){take_record, observer}, error);
	if (result < 0)
		observer_close(observer);
	else
		*ret_observer = observer;
	return result;
}

void observer_close(struct observer *observer)
{
	if (!observer)
		return;
	source_close(observer->source);
	intervals_free(observer->intervals);
	targets_release(&observer->targets);
	free(observer);
}

int observer_descriptors(const struct observer *observer, int descriptors[SOURCE_DESCRIPTORS])
{
	return source_descriptors(observer->source, descriptors);
}

int observer_work(struct observer *observer, struct error *error)
{
	return source_work(observer->source, error);
}

int observer_begin(struct observer *observer, struct error *error)
{
	return snapshot_take(observer->source, observer->intervals, false, error);
}

int observer_end(struct observer *observer, struct error *error)
{
	return snapshot_take(observer->source, observer->intervals, true, error);
}

void observer_hooks(const struct observer *observer, struct hook_stats *stats)
{
	source_hooks(observer->source, stats);
}

struct interval *observer_interval(const struct observer *observer)
{
	return observer->interval;
}

const struct row *observer_find(const struct observer *observer, uint32_t tid)
{
	const struct interval *interval = observer->interval;
	const struct row *best = NULL;

	for (size_t i = 0; interval && i < interval->row_count; i++)
		if (interval->rows[i].tid == tid &&
		    (!best || interval->rows[i].observed_ns > best->observed_ns))
			best = &interval->rows[i];
	return best;
}
