// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/group.h"

#include <stdlib.h>
#include <string.h>

const char *const grouping_keys[GROUPINGS_COUNT] = {
#define X(name, key, plural) [BY_##name] = key,
	GROUPINGS(X)
#undef X
};

const char *const grouping_plurals[GROUPINGS_COUNT] = {
#define X(name, key, plural) [BY_##name] = plural,
	GROUPINGS(X)
#undef X
};

/* Leaders first, so that a group takes its name and start from the process, not from a thread. */
static int by_process(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid != a->pid) - (b->tid != b->pid);
}

static int by_cgroup(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	return (a->cgroup_id > b->cgroup_id) - (a->cgroup_id < b->cgroup_id);
}

static bool same_group(const struct row *a, const struct row *b, enum grouping by)
{
	return by == BY_PROCESS ? a->pid == b->pid : a->cgroup_id == b->cgroup_id;
}

static void begin_group(struct row *sum, enum grouping by)
{
	sum->tid = 0;
	memcpy(sum->comm, sum->process, sizeof(sum->comm));
	sum->where = (struct wire_where){0};
	sum->in_state_ns = 0;
	if (by == BY_PROCESS)
		return;
	sum->pid = 0;
	sum->parent_pid = 0;
	sum->start_ns = 0;
	memset(sum->comm, 0, sizeof(sum->comm));
	memset(sum->process, 0, sizeof(sum->process));
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
	sum->voluntary += row->voluntary;
	sum->involuntary += row->involuntary;
	sum->migrations += row->migrations;
	sum->woken += row->woken;
	sum->preempted += row->preempted;
	sum->throttled += row->throttled;
	for (int i = 0; i < WIRE_LATENCY_BUCKETS; i++)
		sum->latency[i] += row->latency[i];
	if (row->latency_max_ns > sum->latency_max_ns)
		sum->latency_max_ns = row->latency_max_ns;
	add_delays(sum, row);
}

void interval_group(struct interval *interval, enum grouping by)
{
	struct row *rows = interval->rows;
	size_t groups = 0;

	if (by == BY_THREAD || !interval->row_count)
		return;
	qsort(rows, interval->row_count, sizeof(*rows), by == BY_PROCESS ? by_process : by_cgroup);
	for (size_t i = 0; i < interval->row_count; i++) {
		if (groups && same_group(&rows[groups - 1], &rows[i], by)) {
			rows[groups - 1].threads += rows[i].threads;
			rows[groups - 1].exited = rows[groups - 1].exited && rows[i].exited;
			row_add(&rows[groups - 1], &rows[i]);
			continue;
		}
		rows[groups] = rows[i];
		begin_group(&rows[groups++], by);
	}
	interval->row_count = groups;
}
