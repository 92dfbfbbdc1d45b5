// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One of high and one of low priority need the same lock, and one in between keeps the low one from
 * giving it back; unless that inherits the priority of who waits. To be seen where all are on one
 * CPU.
 */
#include <limits.h>

#include "load/setup.h"
#include "load/work/lock.h"

#define READY_NS 1000000000ULL

enum mode { MODE_PLAIN, MODE_PI };

static const char *const modes[] = {"plain", "pi", NULL};

struct priority_inversion {
	uint64_t high, medium, low;
	uint64_t hold;
	uint64_t work;
	uint64_t pause;
	uint64_t mode;
};

static const struct param params[] = {
	PARAM(struct priority_inversion, high, COUNT, "1", 1, 1024, "workers with priority 70"),
	PARAM(struct priority_inversion, medium, COUNT, "1", 0, 1024,
	      "workers with priority 50, which do not need the lock"),
	PARAM(struct priority_inversion, low, COUNT, "1", 1, 1024, "workers with priority 30"),
	PARAM(struct priority_inversion, hold, COUNT, "4096", 0, 0,
	      "units of spinning of the low ones with the lock held"),
	PARAM(struct priority_inversion, work, COUNT, "1024", 0, 0,
	      "units of spinning of everybody without it"),
	PARAM(struct priority_inversion, pause, DURATION, "1ms", 0, 0,
	      "sleep of the high and medium ones, or the low ones never run"),
	{.name = "mode",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct priority_inversion, mode),
	 .initial = "plain",
	 .choices = modes,
	 .help = "whether the lock inherits priorities"},
	{.name = NULL},
};

enum role { ROLE_HIGH, ROLE_MEDIUM, ROLE_LOW };

static enum role role_of(const struct priority_inversion *priority_inversion, unsigned int position)
{
	return position < priority_inversion->high				  ? ROLE_HIGH
	       : position < priority_inversion->high + priority_inversion->medium ? ROLE_MEDIUM
										  : ROLE_LOW;
}

static unsigned int team_size(const void *params_)
{
	const struct priority_inversion *priority_inversion = params_;

	return (unsigned int)(priority_inversion->high + priority_inversion->medium +
			      priority_inversion->low);
}

struct shared {
	struct lock lock;
	_Alignas(64) uint32_t ready; /* members that have their priority */
};

/* What is computed while the lock is held. */
static uint64_t held_units(const struct priority_inversion *priority_inversion, enum role role)
{
	if (role == ROLE_LOW)
		return priority_inversion->hold;
	return priority_inversion->mode == MODE_PLAIN ? priority_inversion->work : 0;
}

static uint64_t units(const void *params_, unsigned int position)
{
	const struct priority_inversion *priority_inversion = params_;
	enum role role = role_of(priority_inversion, position);

	return priority_inversion->work +
	       (role == ROLE_MEDIUM ? 0 : held_units(priority_inversion, role));
}

/* On one CPU, those who came first would keep the others from ever getting their priority. */
static void await_team(struct worker *worker, uint32_t *ready)
{
	uint64_t deadline_ns = clock_monotonic_ns() + READY_NS;
	uint32_t seen = __atomic_add_fetch(ready, 1, __ATOMIC_ACQ_REL);

	worker_futex_wake(ready, INT_MAX);
	while (seen < worker->team_size && !worker_stopping() &&
	       clock_monotonic_ns() < deadline_ns) {
		worker_futex_wait(ready, seen);
		seen = __atomic_load_n(ready, __ATOMIC_ACQUIRE);
	}
}

static int begin(struct worker *worker)
{
	struct shared *shared = worker->shared;
	static const struct spec_policy policies[] = {
		[ROLE_HIGH] = {.kind = POLICY_FIFO, .priority = 70},
		[ROLE_MEDIUM] = {.kind = POLICY_FIFO, .priority = 50},
		[ROLE_LOW] = {.kind = POLICY_FIFO, .priority = 30},
	};

	setup_policy(&policies[role_of(worker->params, worker->position)], worker->report.note);
	await_team(worker, &shared->ready);
	return 0;
}

static void iterate(struct worker *worker)
{
	const struct priority_inversion *priority_inversion = worker->params;
	enum role role = role_of(priority_inversion, worker->position);
	bool inherits = priority_inversion->mode == MODE_PI;
	struct lock *lock = &((struct shared *)worker->shared)->lock;

	worker_spin(worker, priority_inversion->work);
	if (role != ROLE_MEDIUM) {
		if (inherits ? !lock_take_pi(worker, lock) : !lock_take(worker, lock))
			return;
		worker_spin(worker, held_units(priority_inversion, role));
		if (inherits)
			lock_release_pi(worker, lock);
		else
			lock_release(lock);
	}
	if (role != ROLE_LOW && priority_inversion->pause)
		worker_rest(worker, priority_inversion->pause);
}

const struct work_type work_priority_inversion = {
	.name = "priority-inversion",
	.summary = "a lock between workers of high and of low priority",
	.params = params,
	.params_bytes = sizeof(struct priority_inversion),
	.flags = WORK_REALTIME | WORK_WAITS,
	.team_size = team_size,
	.shared = sizeof(struct shared),
	.units = units,
	.begin = begin,
	.iterate = iterate,
};
