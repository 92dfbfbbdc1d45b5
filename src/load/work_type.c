// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/work_type.h"

#include <errno.h>

#include "base/similar.h"

#define WORK_TYPES(X)                                                                              \
	X(spin_wait)                                                                               \
	X(yield_heavy)                                                                             \
	X(mixed)                                                                                   \
	X(bursty)                                                                                  \
	X(pipe_io)                                                                                 \
	X(futex_ping_pong)                                                                         \
	X(cache_pressure)                                                                          \
	X(cache_yield)                                                                             \
	X(cache_pipe)                                                                              \
	X(futex_fan_out)                                                                           \
	X(fan_out_compute)                                                                         \
	X(affinity_churn)                                                                          \
	X(cross_affinity_churn)                                                                    \
	X(policy_churn)                                                                            \
	X(nice_sweep)                                                                              \
	X(mutex_contention)                                                                        \
	X(page_fault_churn)                                                                        \
	X(io_sync_write)                                                                           \
	X(io_rand_read)                                                                            \
	X(io_convoy)                                                                               \
	X(fork_exit)                                                                               \
	X(sequence)                                                                                \
	X(thundering_herd)                                                                         \
	X(priority_inversion)                                                                      \
	X(producer_consumer)                                                                       \
	X(rt_starvation)                                                                           \
	X(asymmetric_waker)                                                                        \
	X(wake_chain)                                                                              \
	X(numa_working_set_sweep)                                                                  \
	X(numa_migration_churn)                                                                    \
	X(cgroup_churn)                                                                            \
	X(cgroup_attach_storm)                                                                     \
	X(signal_storm)                                                                            \
	X(preempt_storm)                                                                           \
	X(epoll_storm)                                                                             \
	X(idle_churn)                                                                              \
	X(alu_hot)                                                                                 \
	X(ipc_variance)                                                                            \
	X(smt_sibling_spin)                                                                        \
	X(timer_latency)                                                                           \
	X(open_loop)                                                                               \
	X(rt_app)                                                                                  \
	X(schbench)                                                                                \
	X(taobench)                                                                                \
	X(net_traffic)                                                                             \
	X(irq_wake)                                                                                \
	X(custom)                                                                                  \
	X(exec)

#define X(name) extern const struct work_type work_##name;
WORK_TYPES(X)
#undef X

#define X(name) &work_##name,
const struct work_type *const work_types[] = {WORK_TYPES(X) NULL};
#undef X

int work_type_find(const char *name, const struct work_type **ret_type, struct error *error)
{
	struct similar similar = {.wanted = name};

	for (size_t i = 0; work_types[i]; i++) {
		if (similar_same(work_types[i]->name, name)) {
			*ret_type = work_types[i];
			return 0;
		}
		similar_try(&similar, work_types[i]->name);
	}
	return similar_error(error, EINVAL, &similar, "; `dwell load --list` shows them all",
			     "unknown work type '%s'", name);
}

unsigned int work_checkpoint_period(const struct work_type *type, const void *params,
				    unsigned int position)
{
	uint64_t a = CHECKPOINT_UNITS, b;

	if (!work_units(type, params, position, &b) || type->flags & WORK_BYPASS)
		return 0;
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	/* no units at all: 0 is a multiple of 1024 after each iteration; gcd(1024, 0) = 1024 */
	return (unsigned int)(CHECKPOINT_UNITS / a);
}
