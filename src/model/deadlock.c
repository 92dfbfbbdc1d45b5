// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/deadlock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A wait for a lock whose holder is known. */
struct wait {
	const struct blame *blame;
	size_t seen; /* number of the walk that came by first, + 1; 0: none yet */
};

static int by_tid(const void *left, const void *right)
{
	const struct wait *a = left, *b = right;

	return (a->blame->victim.tid > b->blame->victim.tid) -
	       (a->blame->victim.tid < b->blame->victim.tid);
}

/* What the holder of the lock waits for; NULL: for no lock, or it is not known whose. */
static struct wait *next_of(struct wait *waits, size_t count, const struct wait *wait)
{
	struct blame of_holder = {.victim = wait->blame->holder};
	struct wait key = {.blame = &of_holder};

	return bsearch(&key, waits, count, sizeof(key), by_tid);
}

static uint64_t waited_ns(const struct interval *interval, uint32_t tid)
{
	for (size_t i = 0; i < interval->row_count; i++)
		if (interval->rows[i].tid == tid && !interval->rows[i].exited)
			return interval->rows[i].in_state_ns;
	return 0;
}

static struct deadlock describe(struct wait *waits, size_t count, const struct wait *first,
				const struct interval *interval)
{
	struct deadlock deadlock = {.for_ns = UINT64_MAX};
	const struct wait *wait = first;

	do {
		uint64_t waited = waited_ns(interval, wait->blame->victim.tid);

		if (deadlock.count < DEADLOCK_NAMED)
			deadlock.threads[deadlock.count] = wait->blame->victim;
		deadlock.count++;
		deadlock.total_ns += wait->blame->total_ns;
		if (waited < deadlock.for_ns)
			deadlock.for_ns = waited;
		wait = next_of(waits, count, wait);
	} while (wait != first);
	return deadlock;
}

int deadlock_find(struct deadlock *ret_deadlock, const struct interval *interval)
{
	cleanup_free struct wait *waits =
		reallocarray(NULL, interval->blame_count + 1, sizeof(*waits));
	size_t count = 0;

	*ret_deadlock = (struct deadlock){0};
	if (!waits)
		return -ENOMEM;
	for (size_t i = 0; i < interval->blame_count; i++)
		if (interval->blames[i].holder.tid && interval->blames[i].victim.tid)
			waits[count++] = (struct wait){.blame = &interval->blames[i]};
	if (count)
		qsort(waits, count, sizeof(*waits), by_tid);
	for (size_t i = 0; i < count; i++) {
		struct wait *wait = &waits[i];
		struct deadlock found;

		/* each has one next: a walk ends, or comes to what it has seen */
		while (wait && !wait->seen) {
			wait->seen = i + 1;
			wait = next_of(waits, count, wait);
		}
		if (!wait || wait->seen != i + 1)
			continue;
		found = describe(waits, count, wait, interval);
		if (found.total_ns > ret_deadlock->total_ns)
			*ret_deadlock = found;
	}
	return 0;
}
