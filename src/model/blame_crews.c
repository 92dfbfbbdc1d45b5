// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/blame_crews.h"

#include <stdlib.h>
#include <string.h>

static int by_tid(const void *left, const void *right)
{
	const struct crew_member *a = left, *b = right;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

void crew_members_sort(struct crew_member *members, size_t count)
{
	if (count)
		qsort(members, count, sizeof(*members), by_tid);
}

const struct crew_member *crew_members_find(const struct crew_member *members, size_t count,
					    uint32_t tid)
{
	struct crew_member key = {.tid = tid};

	return count && tid ? bsearch(&key, members, count, sizeof(key), by_tid) : NULL;
}

size_t crew_members_adopt(struct crew_member *members, size_t count,
			  const struct interval *interval)
{
	size_t known;

	/* once for each generation, and once more */
	do {
		known = count;
		for (size_t i = 0; i < interval->row_count; i++) {
			const struct row *row = &interval->rows[i];
			const struct crew_member *parent =
				crew_members_find(members, known, row->parent_pid);

			if (parent && row->tid == row->pid &&
			    !crew_members_find(members, known, row->tid))
				members[count++] = (struct crew_member){
					.tid = row->tid, .crew = parent->crew, .adopted = true};
		}
		crew_members_sort(members, count);
	} while (count > known);
	return count;
}

static struct blame_party crew_party(const struct crew_member *member)
{
	return (struct blame_party){.crew = member->crew + 1};
}

/* Processes come and go: those of one name are one. */
static struct blame_party named_party(const struct blame_party *party)
{
	struct blame_party named = {0};

	memcpy(named.comm, party->process, sizeof(named.comm));
	memcpy(named.process, party->process, sizeof(named.process));
	return named;
}

void interval_blame_by_crew(struct interval *interval, const struct crew_member *members,
			    size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < interval->blame_count; i++) {
		struct blame blame = interval->blames[i];
		const struct crew_member *victim, *culprit;

		victim = crew_members_find(members, count, blame.victim.tid);
		if (!victim || victim->adopted || !state_is_lost(blame.state))
			continue;
		blame.victim = crew_party(victim);
		blame.thief.least_ns = 0; /* of workers only what they are to each other counts */
		if (blame.kind == WIRE_CULPRIT_THREAD) {
			culprit = crew_members_find(members, count, blame.culprit.tid);
			if (!culprit)
				culprit = crew_members_find(members, count, blame.culprit.pid);
			blame.culprit = culprit ? crew_party(culprit) : named_party(&blame.culprit);
		}
		interval->blames[kept++] = blame;
	}
	interval->blame_count = kept;
}

static int by_crew(const void *left, const void *right)
{
	const struct blame *a = left, *b = right;

	if (a->victim.crew != b->victim.crew)
		return a->victim.crew < b->victim.crew ? -1 : 1;
	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	if (a->state != b->state)
		return a->state < b->state ? -1 : 1;
	return blame_compare_parties(&a->culprit, &b->culprit);
}

/* The one of the same crew and state whose culprit is not known. NULL: there is none. */
static struct blame *unknown_of(struct blame_sum *sum, const struct blame *like)
{
	for (size_t i = 0; i < sum->count; i++)
		if (sum->items[i].victim.crew == like->victim.crew &&
		    sum->items[i].state == like->state && !sum->items[i].goes_on &&
		    sum->items[i].kind == WIRE_CULPRIT_UNKNOWN)
			return &sum->items[i];
	return NULL;
}

void blame_sum_end_crews(struct blame_sum *sum)
{
	size_t kept = 0;

	blame_sum_end(sum);
	/* with the workers their waits have ended: what no later interval has explained is unknown
	 */
	for (size_t i = 0; i < sum->count; i++) {
		struct blame *item = &sum->items[i], *unknown;

		if (!item->goes_on)
			continue;
		unknown = unknown_of(sum, item);
		item->goes_on = false;
		if (!unknown)
			continue;
		unknown->total_ns += item->total_ns;
		item->total_ns = 0;
	}
	for (size_t i = 0; i < sum->count; i++)
		if (sum->items[i].total_ns)
			sum->items[kept++] = sum->items[i];
	sum->count = kept;
	if (kept)
		qsort(sum->items, kept, sizeof(*sum->items), by_crew);
}
