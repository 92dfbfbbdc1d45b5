// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/blame_thieves.h"

#include <stdlib.h>

static int by_id(const void *left, const void *right)
{
	const struct blame_victim *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/* They come in the order of the rows, which is that of their ids as a rule. */
static void sort_victims(struct blame_victim *victims, size_t count)
{
	size_t sorted = 1;

	while (sorted < count && by_id(&victims[sorted - 1], &victims[sorted]) <= 0)
		sorted++;
	if (sorted < count)
		qsort(victims, count, sizeof(*victims), by_id);
}

/* Of one program; by cgroup there are no names. */
static bool is_same(const struct blame_party *a, const struct blame_party *b)
{
	return !strcmp(a->process, b->process) && (*a->process || a->cgroup_id == b->cgroup_id);
}

/* What both have in common: the thread, the process, or the program alone. */
static void widen(struct blame_party *party, const struct blame_party *other)
{
	if (party->tid == other->tid && party->start == other->start && party->pid == other->pid)
		return;
	party->tid = party->start = 0;
	if (party->pid != other->pid)
		party->pid = 0;
	memcpy(party->comm, party->process, sizeof(party->comm));
}

/* From the narrowest: who is named is a thread where one thread has most. */
enum width { WIDTH_THREAD, WIDTH_PROCESS, WIDTH_PROGRAM, WIDTHS };

static bool is_as_wide(const struct blame_party *a, const struct blame_party *b, enum width width)
{
	return is_same(a, b) && (width == WIDTH_PROGRAM || a->pid == b->pid) &&
	       (width != WIDTH_THREAD || (a->tid == b->tid && a->start == b->start));
}

/* Of a wait for a CPU because of a thread. */
static bool is_theft(const struct blame *blame)
{
	return blame->state == STATE_RUNNABLE && blame->kind == WIRE_CULPRIT_THREAD;
}

/* Who had the CPU for most of the victim's waits for it. */
static struct blame_thief thief_of(const struct blame *items, size_t count, enum width width)
{
	struct blame_thief most = {.least_ns = 0};

	for (size_t i = 0; i < count; i++) {
		struct blame_thief thief = {.party = items[i].culprit};

		for (size_t k = 0; is_theft(&items[i]) && k < count; k++) {
			if (!is_theft(&items[k]) ||
			    !is_as_wide(&items[k].culprit, &items[i].culprit, width))
				continue;
			thief.least_ns += items[k].total_ns;
			widen(&thief.party, &items[k].culprit);
		}
		if (thief.least_ns > most.least_ns)
			most = thief;
	}
	return most;
}

static void set_thief(struct blame *blame, const struct blame *items, size_t count)
{
	uint64_t all_ns = 0;

	for (size_t i = 0; i < count; i++)
		all_ns += items[i].state == STATE_RUNNABLE ? items[i].total_ns : 0;
	for (int width = 0; width < WIDTHS && !blame_thief_of(blame); width++) {
		struct blame_thief thief = thief_of(items, count, (enum width)width);
		uint64_t others_ns = all_ns - thief.least_ns;

		if (blame->total_ns <= others_ns || !thief.least_ns)
			continue;
		blame->thief = thief;
		blame->thief.least_ns = blame->total_ns - others_ns;
	}
}

void blame_thieves_find(struct blame *items, const size_t *thefts, size_t count,
			struct blame_victim *victims, size_t victim_count)
{
	if (count)
		sort_victims(victims, victim_count);
	for (size_t i = 0; i < count; i++) {
		struct blame *blame = &items[thefts[i]];
		const struct blame_victim *found;
		struct blame_victim key = {.tid = blame->culprit.tid,
					   .start = blame->culprit.start};

		found = bsearch(&key, victims, victim_count, sizeof(*victims), by_id);
		if (found && blame->total_ns)
			set_thief(blame, &items[found->first], found->count);
	}
}

void blame_thief_add(struct blame_thief *thief, const struct blame_thief *other)
{
	uint64_t both_ns = thief->least_ns + other->least_ns;
	struct blame_thief larger = thief->least_ns < other->least_ns ? *other : *thief;

	/* a name for nearly all says more than one for all */
	if (is_same(&thief->party, &other->party) && larger.least_ns < both_ns / 10 * 9) {
		larger.least_ns = both_ns;
		widen(&larger.party,
		      thief->least_ns < other->least_ns ? &thief->party : &other->party);
	} else if (is_as_wide(&thief->party, &other->party, WIDTH_THREAD)) {
		larger.least_ns = both_ns;
	}
	*thief = larger;
}
