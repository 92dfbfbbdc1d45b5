// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairs that hand a futex word over: whose turn it is. */
#include "load/work_type.h"

struct futex_ping_pong {
	uint64_t spin_iters;
};

static const struct param params[] = {
	PARAM(struct futex_ping_pong, spin_iters, COUNT, "1024", 0, 0,
	      "units of spinning before the word is handed over"),
	{.name = NULL},
};

struct shared {
	uint32_t turn; /* WORKER_TURN() of whose it is */
	_Alignas(64) uint64_t stamp_ns[2];
};

static uint64_t units(const void *params_, unsigned int position)
{
	(void)position;
	return ((const struct futex_ping_pong *)params_)->spin_iters;
}

static void iterate(struct worker *worker)
{
	const struct futex_ping_pong *futex_ping_pong = worker->params;
	struct shared *shared = worker->shared;
	uint32_t other = !worker->position;

	worker_spin(worker, futex_ping_pong->spin_iters);
	worker_stamp(&shared->stamp_ns[worker->position]);
	__atomic_store_n(&shared->turn, WORKER_TURN(other), __ATOMIC_RELEASE);
	worker_futex_wake(&shared->turn, 1);
	worker_await_change(worker, &shared->turn, WORKER_TURN(other), &shared->stamp_ns[other]);
}

const struct work_type work_futex_ping_pong = {
	.name = "futex-ping-pong",
	.summary = "pairs hand a futex word over",
	.flags = WORK_WAITS,
	.params = params,
	.params_bytes = sizeof(struct futex_ping_pong),
	.team = 2,
	.shared = sizeof(struct shared),
	.units = units,
	.iterate = iterate,
};
