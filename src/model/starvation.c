// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/starvation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/blame_workers.h"

/* A tid may have been several workers', one after the other. */
static bool is_worker(const struct row *row, const struct stall_worker *workers, size_t count)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (workers[middle].last.tid < row->tid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < count && workers[low].last.tid == row->tid; low++)
		if (workers[low].last.start_ns == row->start_ns &&
		    workers[low].last.kind != WIRE_SPAN_POOL)
			return true;
	return false;
}

/* Those of the interval, in the order that group_members_find() needs. NULL: out of memory. */
static struct group_member *find_members(struct stalls *stalls, const struct interval *interval,
					 size_t *ret_count)
{
	struct group_member *members =
		reallocarray(NULL, interval->row_count + 1, sizeof(*members));
	size_t count, found = 0;
	const struct stall_worker *workers = stalls_workers(stalls, &count);

	for (size_t i = 0; members && i < interval->row_count; i++)
		if (is_worker(&interval->rows[i], workers, count))
			members[found++] = (struct group_member){.tid = interval->rows[i].tid};
	if (members)
		group_members_sort(members, found);
	*ret_count = found;
	return members;
}

int starvation_add(struct starvation *starvation, struct stalls *stalls, struct interval *interval)
{
	cleanup_free struct group_member *members = NULL;
	size_t count, kept = 0;

	if (!session_has_blame(interval->session))
		return 0;
	members = find_members(stalls, interval, &count);
	if (!members)
		return -ENOMEM;
	for (size_t i = 0; i < interval->blame_count; i++) {
		struct blame blame = interval->blames[i];

		if (blame.state != STATE_RUNNABLE ||
		    !group_members_find(members, count, blame.victim.tid))
			continue;
		/* the workers are one victim */
		blame.victim = (struct blame_party){.group = 1};
		/* waits of before the first interval are not measured */
		if (!starvation->measured)
			blame.earlier_ns = 0;
		interval->blames[kept++] = blame;
	}
	interval->blame_count = kept;
	starvation->measured = true;
	return blame_sum_add(&starvation->sum, interval);
}

void starvation_merge(struct starvation *starvation)
{
	blame_sum_merge(&starvation->sum);
}

void starvation_end(struct starvation *starvation)
{
	blame_sum_end_workers(&starvation->sum);
}

void starvation_release(struct starvation *starvation)
{
	blame_sum_release(&starvation->sum);
}

static bool same_name(const struct blame *a, const struct blame *b, uint32_t process)
{
	return a->kind == b->kind && (a->kind != WIRE_CULPRIT_THREAD ||
				      (!strcmp(a->culprit.comm, b->culprit.comm) &&
				       (a->culprit.pid == process) == (b->culprit.pid == process)));
}

static int by_total(const void *left, const void *right)
{
	const struct starved_by *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

size_t starvation_names(const struct starvation *starvation, uint32_t process,
			struct starved_by names[STARVED_BY_MAX], uint64_t *ret_rest_ns)
{
	uint64_t known_ns = 0;
	size_t count = 0;

	*ret_rest_ns = 0;
	for (size_t i = 0; i < starvation->sum.count; i++) {
		const struct blame *blame = &starvation->sum.items[i];
		size_t k = 0;

		while (k < count && !same_name(names[k].first, blame, process))
			k++;
		if (k == STARVED_BY_MAX) {
			*ret_rest_ns += blame->total_ns;
			continue;
		}
		if (k == count)
			names[count++] = (struct starved_by){.first = blame};
		names[k].total_ns += blame->total_ns + blame->earlier_ns;
		known_ns += blame->earlier_ns;
		names[k].processes++;
	}
	/* what went on at the end of an interval, and whose it is has come out */
	for (size_t i = 0; i < count; i++)
		if (names[i].first->kind == WIRE_CULPRIT_UNKNOWN)
			names[i].total_ns -=
				names[i].total_ns < known_ns ? names[i].total_ns : known_ns;
	if (count)
		qsort(names, count, sizeof(*names), by_total);
	while (count && !names[count - 1].total_ns)
		count--;
	return count;
}

uint64_t starvation_total(const struct starvation *starvation)
{
	uint64_t total_ns = 0;

	for (size_t i = 0; i < starvation->sum.count; i++)
		total_ns += starvation->sum.items[i].total_ns;
	return total_ns;
}
