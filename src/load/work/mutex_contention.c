// SPDX-License-Identifier: GPL-2.0-or-later
/* Workers that need the same lock. */
#include "load/work/lock.h"
#include "load/work_type.h"

struct mutex_contention {
	uint64_t contenders;
	uint64_t hold;
	uint64_t work;
};

static const struct param params[] = {
	PARAM(struct mutex_contention, contenders, COUNT, "4", 1, 4096, "workers of each lock"),
	PARAM(struct mutex_contention, hold, COUNT, "256", 0, 0,
	      "units of spinning with the lock held"),
	PARAM(struct mutex_contention, work, COUNT, "1024", 0, 0,
	      "units of spinning before it is taken"),
	{.name = NULL},
};

static unsigned int team_size(const void *params_)
{
	return (unsigned int)((const struct mutex_contention *)params_)->contenders;
}

static uint64_t units(const void *params_, unsigned int position)
{
	const struct mutex_contention *mutex_contention = params_;

	(void)position;
	return mutex_contention->work + mutex_contention->hold;
}

static void iterate(struct worker *worker)
{
	const struct mutex_contention *mutex_contention = worker->params;
	struct lock *lock = worker->shared;

	worker_spin(worker, mutex_contention->work);
	if (!lock_take(worker, lock))
		return;
	worker_spin(worker, mutex_contention->hold);
	lock_release(lock);
}

const struct work_type work_mutex_contention = {
	.name = "mutex-contention",
	.summary = "several contend for a lock",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct mutex_contention),
	.team_size = team_size,
	.shared = sizeof(struct lock),
	.units = units,
	.iterate = iterate,
};
