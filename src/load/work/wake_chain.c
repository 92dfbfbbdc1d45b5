// SPDX-License-Identifier: GPL-2.0-or-later
/* Stages in a ring of whom each waits for the one before, works, and wakes the next. */
#include <limits.h>

#include "load/work_type.h"

#define UNITS 256

enum by { BY_PIPE, BY_FUTEX };

static const char *const ways[] = {"pipe", "futex", NULL};

struct wake_chain {
	uint64_t depth;
	uint64_t work;
	uint64_t by;
};

static const struct param params[] = {
	PARAM(struct wake_chain, depth, COUNT, "4", 2, 4096, "stages"),
	PARAM(struct wake_chain, work, DURATION, "100us", 0, 0, "how long each computes"),
	{.name = "by",
	 .kind = PARAM_CHOICE,
	 .offset = offsetof(struct wake_chain, by),
	 .initial = "pipe",
	 .choices = ways,
	 .help = "how they wake each other"},
	{.name = NULL},
};

struct stamp {
	_Alignas(64) uint64_t ns;
};

struct shared {
	uint32_t turn;	       /* futex: WORKER_TURN() of the stage whose it is */
	struct stamp stamps[]; /* when each stage woke the next */
};

static unsigned int team_size(const void *params_)
{
	return (unsigned int)((const struct wake_chain *)params_)->depth;
}

static size_t shared_bytes(const void *params_)
{
	const struct wake_chain *wake_chain = params_;

	return sizeof(struct shared) + wake_chain->depth * sizeof(struct stamp);
}

/* Unlike worker_await_change(): all are woken each time, but one wait lasts until one's turn. */
static bool await_turn(struct worker *worker, const struct shared *shared, const uint64_t *stamp_ns)
{
	uint64_t began_ns = clock_monotonic_ns(), now_ns;
	bool blocked = false;
	uint32_t turn;

	while ((turn = __atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE)) !=
	       WORKER_TURN(worker->position)) {
		if (worker_stopping()) {
			worker_gave_up(worker, began_ns);
			return false;
		}
		blocked |= worker_futex_wait(&shared->turn, turn);
	}
	now_ns = clock_monotonic_ns();
	worker_sample(worker, SAMPLES_RESUME, now_ns - began_ns);
	if (blocked)
		worker_woken(worker, __atomic_load_n(stamp_ns, __ATOMIC_RELAXED), began_ns, now_ns);
	worker_look(worker, now_ns);
	return true;
}

static void compute(struct worker *worker, uint64_t ns)
{
	uint64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + ns;

	do {
		worker_spin(worker, UNITS);
		now_ns = clock_monotonic_ns();
		/* what takes long by request is no gap */
		worker_look(worker, now_ns);
	} while (now_ns < until_ns && !worker_stopping());
}

static void iterate(struct worker *worker)
{
	const struct wake_chain *wake_chain = worker->params;
	struct shared *shared = worker->shared;
	uint32_t depth = worker->team_size, next = (worker->position + 1) % depth;
	uint64_t *before_ns = &shared->stamps[(worker->position + depth - 1) % depth].ns;
	uint64_t *stamp_ns = &shared->stamps[worker->position].ns;
	bool futex = wake_chain->by == BY_FUTEX;

	/* the first stage has no waker the first time */
	if (worker->position || worker->iterations)
		if (futex ? !await_turn(worker, shared, before_ns)
			  : !worker_pipe_receive(worker, before_ns))
			return;
	compute(worker, wake_chain->work);
	if (!futex) {
		worker_pipe_send(worker, stamp_ns);
		return;
	}
	worker_stamp(stamp_ns);
	__atomic_store_n(&shared->turn, WORKER_TURN(next), __ATOMIC_RELEASE);
	worker_futex_wake(&shared->turn, INT_MAX);
}

const struct work_type work_wake_chain = {
	.name = "wake-chain",
	.summary = "stages of which each wakes the next",
	.params = params,
	.params_bytes = sizeof(struct wake_chain),
	.flags = WORK_PIPES | WORK_WAITS,
	.team_size = team_size,
	.shared_bytes = shared_bytes,
	.iterate = iterate,
};
