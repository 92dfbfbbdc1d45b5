// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/group.h"

#include <stdlib.h>
#include <string.h>

const char *const grouping_keys[GROUPINGS_COUNT] = {
#define X(name, key, plural) [BY_##name] = key,
	GROUPINGS(X)
#undef X
};

static const char *const plurals[GROUPINGS_COUNT] = {
#define X(name, key, plural) [BY_##name] = plural,
	GROUPINGS(X)
#undef X
};

const char *grouping_noun(enum grouping by, size_t count)
{
	return count == 1 ? grouping_keys[by] : plurals[by];
}

static int by_name(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	return strcmp(a->process, b->process);
}

static int by_cgroup(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

static int by_name_and_cgroup(const void *left, const void *right)
{
	int order = by_name(left, right);

	return order ? order : by_cgroup(left, right);
}

/*
 * By age, and a process's leader is its oldest thread, so that a group takes its name and start
 * from the process, and a process that got the pid of another begins a group of its own.
 */
static int by_process(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	/* of those without a pid, rows_fold_ended() has left one for each name and cgroup */
	if (!a->pid)
		return by_name_and_cgroup(a, b);
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return (a->tid != a->pid) - (b->tid != b->pid);
}

static bool same_process(const struct row *group, const struct row *row)
{
	if (group->pid != row->pid || !row->pid)
		return false;
	return row->tid != row->pid || group->start_ns == row->start_ns;
}

static void begin_process(struct row *sum)
{
	/* the start is unknown where the leader has ended before the others */
	if (sum->tid != sum->pid)
		sum->start_ns = 0;
	memcpy(sum->comm, sum->process, sizeof(sum->comm));
}

static bool same_cgroup(const struct row *group, const struct row *row)
{
	return group->cgroup_id == row->cgroup_id;
}

static void begin_cgroup(struct row *sum)
{
	sum->pid = 0;
	sum->parent_pid = 0;
	sum->start_ns = 0;
	memset(sum->comm, 0, sizeof(sum->comm));
	memset(sum->process, 0, sizeof(sum->process));
}

static bool same_name(const struct row *group, const struct row *row)
{
	return !by_name(group, row);
}

static bool same_name_and_cgroup(const struct row *group, const struct row *row)
{
	return !by_name_and_cgroup(group, row);
}

static void begin_name_and_cgroup(struct row *sum)
{
	sum->pid = 0;
	sum->parent_pid = 0;
	sum->start_ns = 0;
	memcpy(sum->comm, sum->process, sizeof(sum->comm));
}

static void begin_name(struct row *sum)
{
	begin_name_and_cgroup(sum);
	sum->cgroup_id = 0;
}

/* Of a sum everything must be known. */
static void add_delays(struct row *sum, const struct row *row)
{
	sum->delays_measured &= row->delays_measured;
	for (int i = 0; i < WIRE_DELAYS_COUNT; i++) {
		sum->delays[i].count += row->delays[i].count;
		sum->delays[i].total_ns += row->delays[i].total_ns;
	}
}

void row_add(struct row *sum, const struct row *row)
{
	sum->observed_ns += row->observed_ns;
	for (int i = 0; i < STATES; i++)
		sum->states_ns[i] += row->states_ns[i];
	sum->unmeasured |= row->unmeasured;
	sum->voluntary += row->voluntary;
	sum->involuntary += row->involuntary;
	sum->migrations += row->migrations;
	sum->woken += row->woken;
	sum->preempted += row->preempted;
	sum->throttled += row->throttled;
	for (int i = 0; i < WIRE_LATENCY_BUCKETS; i++)
		sum->latency[i] += row->latency[i];
	sum->latency_count += row->latency_count;
	if (row->latency_max_ns > sum->latency_max_ns)
		sum->latency_max_ns = row->latency_max_ns;
	add_delays(sum, row);
}

static size_t merge(struct row *rows, size_t count, int (*order)(const void *, const void *),
		    bool (*same)(const struct row *group, const struct row *row),
		    void (*begin)(struct row *sum))
{
	size_t groups = 0;

	if (count)
		qsort(rows, count, sizeof(*rows), order);
	for (size_t i = 0; i < count; i++) {
		struct row *group = groups ? &rows[groups - 1] : NULL;

		if (group && same(group, &rows[i])) {
			group->threads += rows[i].threads;
			group->exited = group->exited && rows[i].exited;
			row_add(group, &rows[i]);
			continue;
		}
		group = &rows[groups++];
		*group = rows[i];
		begin(group);
		group->tid = 0;
		group->site = (struct wire_wait_site){0};
		group->in_state_ns = 0;
	}
	return groups;
}

void interval_group(struct interval *interval, enum grouping by)
{
	struct row *rows = interval->rows;
	size_t count = interval->row_count;

	if (by == BY_PROCESS)
		interval->row_count = merge(rows, count, by_process, same_process, begin_process);
	else if (by == BY_CGROUP)
		interval->row_count = merge(rows, count, by_cgroup, same_cgroup, begin_cgroup);
}

size_t rows_fold(struct row *rows, size_t count)
{
	return merge(rows, count, by_name, same_name, begin_name);
}

size_t rows_fold_ended(struct row *rows, size_t count)
{
	return merge(rows, count, by_name_and_cgroup, same_name_and_cgroup, begin_name_and_cgroup);
}
