// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/load_observer.h"

#include <errno.h>
#include <unistd.h>

#include "session/observer.h"

_Static_assert(STATES <= OUTCOME_STATES, "outcome.h has no room for all states");

static struct observed observed_of(const struct row *row)
{
	struct observed observed = {.measured = true, .observed_ns = row->observed_ns};

	for (int s = 0; s < STATES; s++)
		observed.states_ns[s] = row->states_ns[s];
	return observed;
}

int load_observer_open(struct observer **ret_observer, struct error *error)
{
	int result = observer_open(ret_observer, SOURCE_BPF, (uint32_t)getpid(), error);

	return result < 0 ? error_wrap(error, result, "--observe") : 0;
}

int load_observer_take(const struct observer *observer, struct outcome *outcome)
{
	const struct interval *interval = observer_interval(observer);
	const struct run *run = outcome->run;

	outcome->observed = calloc(run->workers + 1, sizeof(*outcome->observed));
	if (!outcome->observed)
		return -ENOMEM;
	if (!interval)
		return 0;
	outcome->observed_lost = losses_all(&interval->losses);
	for (int s = 0; s < STATES; s++)
		if (session_measures(interval->session, wire_of_state((enum state)s)))
			outcome->observed_states |= 1U << s;
	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct run_crew *worker_group = run->worker_groups[i];

		for (unsigned int k = 0; k < worker_group->worker_group.forked; k++) {
			uint32_t tid = shared_slot(&worker_group->worker_group.shared, k)->tid;
			const struct row *row = tid ? observer_find(observer, tid) : NULL;

			if (row)
				outcome->observed[worker_group->first_index + k] = observed_of(row);
		}
	}
	return 0;
}
