// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/pauses.h"

#include "base/clock.h"

static uint64_t count_of(const struct pauses *pauses)
{
	return __atomic_load_n(&pauses->count, __ATOMIC_ACQUIRE);
}

static uint64_t length_until(const struct pause *pause, uint64_t now_ns)
{
	uint64_t ended_ns = __atomic_load_n(&pause->ended_ns, __ATOMIC_RELAXED);

	return (ended_ns && ended_ns < now_ns ? ended_ns : now_ns) - pause->began_ns;
}

void pauses_begin(struct pauses *pauses, uint64_t now_ns)
{
	const struct pause *last = &pauses->last[pauses->count % 2];
	struct pause *pause = &pauses->last[(pauses->count + 1) % 2];
	uint64_t before_ns = last->before_ns + last->ended_ns - last->began_ns;

	*pause = (struct pause){.began_ns = now_ns, .before_ns = before_ns};
	__atomic_store_n(&pauses->count, pauses->count + 1, __ATOMIC_RELEASE);
}

void pauses_end(struct pauses *pauses, uint64_t now_ns)
{
	__atomic_store_n(&pauses->last[pauses->count % 2].ended_ns, now_ns, __ATOMIC_RELAXED);
}

uint64_t pauses_until(const struct pauses *pauses, uint64_t *now_ns)
{
	uint64_t count = count_of(pauses);

	/* most runs freeze nothing */
	while (count) {
		struct pause pause = pauses->last[count % 2];
		uint64_t known = count;

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		count = count_of(pauses);
		if (count == known && pause.began_ns <= *now_ns)
			return pause.before_ns + length_until(&pause, *now_ns);
		*now_ns = clock_monotonic_ns();
	}
	return 0;
}

bool pauses_touch(const struct pauses *pauses, uint64_t ns)
{
	uint64_t count = count_of(pauses), ended_ns;

	/* most runs freeze nothing, and need no look at the clock */
	if (__builtin_expect(!count, 1))
		return false;
	ended_ns = __atomic_load_n(&pauses->last[count % 2].ended_ns, __ATOMIC_RELAXED);
	return !ended_ns || clock_monotonic_ns() <= ended_ns + ns;
}
