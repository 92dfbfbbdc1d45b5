// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/load_observer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/duration.h"
#include "session/snapshot.h"
#include "model/interval.h"

_Static_assert(STATES <= OUTCOME_STATES, "outcome.h has no room for all states");

/* A snapshot may be late; nothing is asked for more often. */
#define INTERVAL_NS (3600 * NS_PER_S)

/* A thread that was seen, with the sum of what it did. */
struct seen {
	uint32_t tid;
	uint64_t start_ns;
	struct observed observed;
};

struct load_observer {
	struct targets targets;
	struct source *source;
	struct intervals *intervals;
	struct seen *seen;
	size_t count, room;
	uint64_t lost; /* of any kind: the figures are short by it */
};

static struct seen *find(struct load_observer *observer, const struct row *row)
{
	for (size_t i = 0; i < observer->count; i++)
		if (observer->seen[i].tid == row->tid &&
		    observer->seen[i].start_ns == row->start_ns)
			return &observer->seen[i];
	if (array_reserve(&observer->seen, &observer->room, observer->count + 1,
			  sizeof(*observer->seen)) < 0)
		return NULL;
	observer->seen[observer->count] = (struct seen){.tid = row->tid, .start_ns = row->start_ns};
	return &observer->seen[observer->count++];
}

static int add_interval(struct load_observer *observer, const struct interval *interval)
{
	const struct wire_losses *losses = &interval->losses;

	observer->lost += losses_all(losses);
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		struct seen *seen = find(observer, row);

		if (!seen)
			return -ENOMEM;
		seen->observed.measured = true;
		seen->observed.observed_ns += row->observed_ns;
		for (int s = 0; s < STATES; s++)
			seen->observed.states_ns[s] += row->states_ns[s];
	}
	return 0;
}

static int take_record(void *data, const struct wire_header *record)
{
	struct load_observer *observer = data;
	struct interval *interval;
	int result = intervals_feed(observer->intervals, record, &interval);

	return result > 0 ? add_interval(observer, interval) : result;
}

int load_observer_open(struct load_observer **ret_observer, int fds[2], unsigned int *ret_fd_count,
		       struct error *error)
{
	struct load_observer *observer = calloc(1, sizeof(*observer));
	struct source_options options = {.choice = SOURCE_BPF, .interval_ns = INTERVAL_NS};
	int result;

	_Static_assert(SOURCE_DESCRIPTORS <= 2, "room for what source_descriptors() gives");
	if (!observer)
		return error_set(error, ENOMEM, "out of memory");
	observer->targets.children = true;
	observer->intervals = intervals_new();
	result = observer->intervals
			 ? targets_add_process(&observer->targets, (uint32_t)getpid(), error)
			 : error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		result = source_open(&observer->source, &options, &observer->targets,
				     (struct record_sink){take_record, observer}, error);
	if (result < 0) {
		load_observer_close(observer);
		return error_wrap(error, result, "--observe");
	}
	*ret_fd_count = (unsigned int)source_descriptors(observer->source, fds);
	*ret_observer = observer;
	return 0;
}

void load_observer_close(struct load_observer *observer)
{
	if (!observer)
		return;
	source_close(observer->source);
	intervals_free(observer->intervals);
	targets_release(&observer->targets);
	free(observer->seen);
	free(observer);
}

int load_observer_begin(struct load_observer *observer, struct error *error)
{
	return snapshot_take(observer->source, observer->intervals, false, error);
}

int load_observer_work(struct load_observer *observer, struct error *error)
{
	return source_work(observer->source, error);
}

int load_observer_end(struct load_observer *observer, struct error *error)
{
	return snapshot_take(observer->source, observer->intervals, true, error);
}

/* The one of that tid that was seen longest: a tid may be used again in a long run. */
static const struct seen *best_of(const struct load_observer *observer, uint32_t tid)
{
	const struct seen *best = NULL;

	for (size_t i = 0; i < observer->count; i++)
		if (observer->seen[i].tid == tid &&
		    (!best || observer->seen[i].observed.observed_ns > best->observed.observed_ns))
			best = &observer->seen[i];
	return best;
}

int load_observer_take(struct load_observer *observer, struct outcome *outcome)
{
	const struct run *run = outcome->run;

	outcome->observed = calloc(run->workers + 1, sizeof(*outcome->observed));
	if (!outcome->observed)
		return -ENOMEM;
	outcome->observed_lost = observer->lost;
	for (int s = 0; s < STATES; s++)
		if (about_measures(intervals_about(observer->intervals),
				   wire_of_state((enum state)s)))
			outcome->observed_states |= 1U << s;
	for (size_t i = 0; i < run->crew_count; i++) {
		const struct run_crew *crew = run->crews[i];

		for (unsigned int k = 0; k < crew->crew.forked; k++) {
			uint32_t tid = shared_slot(&crew->crew.shared, k)->tid;
			const struct seen *seen = tid ? best_of(observer, tid) : NULL;

			if (seen)
				outcome->observed[crew->first_index + k] = seen->observed;
		}
	}
	return 0;
}
