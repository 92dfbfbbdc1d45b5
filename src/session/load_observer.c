// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/load_observer.h"

#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "model/blame_workers.h"
#include "session/observer.h"

_Static_assert(STATES <= OUTCOME_STATES, "outcome.h has no room for all states");

/*
 * The kernel side keeps a few culprits of a thread in an interval and folds the rest: many workers
 * on one CPU have many. Short intervals let most of them be named.
 */
#define TICKS_AN_INTERVAL 2

struct observed_worker {
	struct observed sums;
	uint64_t start_ns; /* the thread's; with the tid its identity */
	uint64_t longest_ns;
	bool known; /* start_ns is */
	bool ended; /* another thread may have its tid now */
};

struct load_observer {
	struct observer *observer;
	const struct run *run;
	struct observed_worker *workers; /* by number in the run */
	size_t worker_count, worker_room;
	struct blame_sum blame;
	uint64_t lost;
	uint32_t states; /* as outcome.observed_states */
	unsigned int ticks;
	bool any; /* interval */
	bool has_blame;
};

int load_observer_open(struct load_observer **ret_observer, const struct run *run,
		       struct error *error)
{
	struct load_observer *observer = calloc(1, sizeof(*observer));
	int result;

	if (!observer)
		return error_set(error, ENOMEM, "out of memory");
	observer->run = run;
	result = observer_open(&observer->observer,
			       &(struct observer_options){.choice = SOURCE_BPF,
							  .pid = (uint32_t)getpid(),
							  .blame = true},
			       error);
	if (result < 0) {
		load_observer_close(observer);
		return error_wrap(error, result, "--observe");
	}
	*ret_observer = observer;
	return 0;
}

void load_observer_close(struct load_observer *observer)
{
	if (!observer)
		return;
	observer_close(observer->observer);
	blame_sum_release(&observer->blame);
	free(observer->workers);
	free(observer);
}

int load_observer_descriptors(const struct load_observer *observer, int *descriptors)
{
	return observer_descriptors(observer->observer, descriptors);
}

int load_observer_work(struct load_observer *observer, struct error *error)
{
	return observer_work(observer->observer, error);
}

/* Those that have been forked so far; the new ones are all zeros. */
static int make_workers(struct load_observer *observer)
{
	size_t count = observer->run->workers;

	if (array_reserve(&observer->workers, &observer->worker_room, count,
			  sizeof(*observer->workers)) < 0)
		return -ENOMEM;
	for (; observer->worker_count < count; observer->worker_count++)
		observer->workers[observer->worker_count] =
			(struct observed_worker){.known = false};
	return 0;
}

/* Those that may be in the interval that has ended; how many. */
static size_t find_members(const struct load_observer *observer, struct group_member *members)
{
	const struct run *run = observer->run;
	size_t count = 0;

	for (size_t i = 0; i < run->worker_group_count; i++) {
		const struct run_group *group = run->worker_groups[i];

		for (unsigned int k = 0; k < group->worker_group.forked; k++) {
			uint32_t tid = shared_slot(&group->worker_group.shared, k)->tid;

			if (tid && !observer->workers[group->first_index + k].ended)
				members[count++] =
					(struct group_member){.tid = tid,
							      .group = (uint32_t)i,
							      .number = group->first_index + k};
		}
	}
	group_members_sort(members, count);
	return count;
}

/* A tid may be another thread's in the same interval: the worker is the one that was seen longest.
 */
static void identify(struct load_observer *observer, const struct interval *interval,
		     const struct group_member *members, size_t count)
{
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		const struct group_member *member = group_members_find(members, count, row->tid);
		struct observed_worker *worker = member ? &observer->workers[member->number] : NULL;

		if (!worker || worker->known ||
		    (worker->start_ns && row->observed_ns <= worker->longest_ns))
			continue;
		worker->start_ns = row->start_ns;
		worker->longest_ns = row->observed_ns;
	}
	for (size_t i = 0; i < count; i++)
		observer->workers[members[i].number].known =
			observer->workers[members[i].number].start_ns != 0;
}

static void add_rows(struct load_observer *observer, const struct interval *interval,
		     const struct group_member *members, size_t count)
{
	for (size_t i = 0; i < interval->row_count; i++) {
		const struct row *row = &interval->rows[i];
		const struct group_member *member = group_members_find(members, count, row->tid);
		struct observed_worker *worker = member ? &observer->workers[member->number] : NULL;

		if (!worker || worker->start_ns != row->start_ns)
			continue;
		worker->sums.measured = true;
		worker->sums.observed_ns += row->observed_ns;
		for (int s = 0; s < STATES; s++)
			worker->sums.states_ns[s] += row->states_ns[s];
		worker->ended |= row->exited;
	}
}

static int add_blame(struct load_observer *observer, struct interval *interval,
		     struct group_member *members, size_t count)
{
	/* waits of before the run are none of its own */
	for (size_t i = 0; !observer->any && i < interval->blame_count; i++)
		interval->blames[i].earlier_ns = 0;
	count = group_members_adopt(members, count, interval);
	interval_blame_of_workers(interval, members, count);
	return blame_sum_add(&observer->blame, interval);
}

static int add_interval(struct load_observer *observer, struct interval *interval)
{
	cleanup_free struct group_member *members = reallocarray(
		NULL, observer->run->workers + interval->row_count + 1, sizeof(*members));
	size_t count;
	int result;

	if (!members || make_workers(observer) < 0)
		return -ENOMEM;
	for (int s = 0; s < STATES; s++)
		if (session_measures(interval->session, wire_of_state((enum state)s)))
			observer->states |= 1U << s;
	observer->has_blame = session_has_blame(interval->session);
	observer->lost += losses_all(&interval->losses);
	count = find_members(observer, members);
	identify(observer, interval, members, count);
	add_rows(observer, interval, members, count);
	result = add_blame(observer, interval, members, count);
	observer->any = true;
	return result;
}

int load_observer_begin(struct load_observer *observer, struct error *error)
{
	return observer_begin(observer->observer, error);
}

/* Ends an interval, and adds it. */
static int look(struct load_observer *observer,
		int (*snapshot)(struct observer *observer, struct error *error),
		struct error *error)
{
	struct interval *interval;
	int result = snapshot(observer->observer, error);

	if (result < 0)
		return result;
	interval = observer_interval(observer->observer);
	if (interval && add_interval(observer, interval) < 0)
		return error_set(error, ENOMEM, "out of memory");
	return 0;
}

int load_observer_tick(struct load_observer *observer, struct error *error)
{
	if (++observer->ticks % TICKS_AN_INTERVAL)
		return 0;
	return look(observer, observer_begin, error);
}

int load_observer_end(struct load_observer *observer, struct error *error)
{
	return look(observer, observer_end, error);
}

int load_observer_take(struct load_observer *observer, struct outcome *outcome)
{
	outcome->observed = calloc(outcome->run->workers + 1, sizeof(*outcome->observed));
	if (!outcome->observed)
		return -ENOMEM;
	for (size_t i = 0; i < observer->worker_count; i++)
		outcome->observed[i] = observer->workers[i].sums;
	outcome->observed_lost = observer->lost;
	outcome->observed_states = observer->states;
	if (!observer->has_blame)
		return 0;
	blame_sum_end_workers(&observer->blame);
	outcome->blames = observer->blame.items;
	outcome->blame_count = observer->blame.count;
	outcome->has_blame = true;
	observer->blame = (struct blame_sum){0};
	return 0;
}
