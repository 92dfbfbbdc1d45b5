// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/tasks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define TASKS_MAX 4096

static size_t slices_of(const struct tasks *tasks)
{
	return tasks->slice_count ? tasks->slice_count : 1;
}

void tasks_begin_slice(struct tasks *tasks, size_t slice)
{
	if (tasks->times)
		tasks->times[slice] = (struct tasks_time){0};
	for (size_t i = 0; i < tasks->keys.count; i++)
		tasks->slices[i * slices_of(tasks) + slice] = (struct tasks_slice){.stalls = 0};
}

static uint64_t growth(uint64_t now, uint64_t before)
{
	/* they only grow; if not, the record is damaged, or of another session */
	return now > before ? now - before : 0;
}

int tasks_add_runtime(struct tasks *tasks, size_t slice, const struct wire_runtime *record)
{
	uint64_t observed_ns = growth(record->observed_ns, tasks->observed_ns);
	uint64_t probed_ns = growth(record->probed_ns, tasks->probed_ns);

	if (!tasks->times) {
		tasks->times = calloc(slices_of(tasks), sizeof(*tasks->times));
		if (!tasks->times)
			return -ENOMEM;
	}
	tasks->observed_ns = record->observed_ns;
	tasks->probed_ns = record->probed_ns;
	tasks->is_sampled = probed_ns < observed_ns;
	if (tasks->is_sampled) {
		tasks->times[slice].observed_ns += observed_ns;
		tasks->times[slice].probed_ns += probed_ns;
	}
	return 0;
}

/* Of a new name there is room for its record, its slices and its row. */
static int make_room(struct tasks *tasks)
{
	size_t count = tasks->keys.count + 1;

	return array_reserve(&tasks->lasts, &tasks->last_room, count, sizeof(*tasks->lasts)) < 0 ||
			       array_reserve(&tasks->slices, &tasks->slice_room,
					     count * slices_of(tasks),
					     sizeof(*tasks->slices)) < 0 ||
			       array_reserve(&tasks->items, &tasks->item_room, count,
					     sizeof(*tasks->items)) < 0
		       ? -ENOMEM
		       : 0;
}

/* -ENOMEM, or 0: *ret_index is the name's, or IDENTITY_NONE where there are too many. */
static int find(struct tasks *tasks, uint64_t key, size_t *ret_index)
{
	size_t known = tasks->keys.count;

	*ret_index = IDENTITY_NONE;
	/* one is kept for the rest */
	if (key && known >= TASKS_MAX && identities_find(&tasks->keys, 0, key) == IDENTITY_NONE)
		return 0;
	if (make_room(tasks) < 0)
		return -ENOMEM;
	*ret_index = identities_add(&tasks->keys, 0, key);
	if (*ret_index == IDENTITY_NONE)
		return -ENOMEM;
	if (*ret_index < known)
		return 0;
	tasks->lasts[known] = (struct wire_polls){.polls = 0};
	for (size_t i = 0; i < slices_of(tasks); i++)
		tasks->slices[known * slices_of(tasks) + i] = (struct tasks_slice){.stalls = 0};
	return 0;
}

int tasks_add(struct tasks *tasks, size_t slice, const struct wire_polls *record, uint64_t key)
{
	struct wire_polls *last;
	struct tasks_slice *sum;
	size_t index;
	int result = find(tasks, key, &index);

	tasks->is_recorded = true;
	if (result < 0 || index == IDENTITY_NONE)
		return result;
	last = &tasks->lasts[index];
	sum = &tasks->slices[index * slices_of(tasks) + slice];
	sum->polls[tasks->is_sampled] += growth(record->polls, last->polls);
	sum->busy_ns[tasks->is_sampled] += growth(record->busy_ns, last->busy_ns);
	sum->stalls += growth(record->stalls, last->stalls);
	if (record->longest_ns > sum->longest_ns)
		sum->longest_ns = record->longest_ns;
	*last = *record;
	return 0;
}

static struct tasks_time time_of(const struct tasks *tasks)
{
	struct tasks_time sum = {0};

	for (size_t i = 0; tasks->times && i < slices_of(tasks); i++) {
		sum.observed_ns += tasks->times[i].observed_ns;
		sum.probed_ns += tasks->times[i].probed_ns;
	}
	return sum;
}

bool tasks_are_sampled(const struct tasks *tasks)
{
	return time_of(tasks).observed_ns > 0;
}

static uint64_t scaled(const uint64_t counts[2], const struct tasks_time *time)
{
	double times = time->probed_ns ? (double)time->observed_ns / (double)time->probed_ns : 1;

	return counts[0] + (uint64_t)((double)counts[1] * times + 0.5);
}

static struct task sum_task(const struct tasks *tasks, size_t index, const struct tasks_time *time)
{
	struct task task = {.type = tasks->lasts[index].type};
	uint64_t polls[2] = {0}, busy_ns[2] = {0};

	for (size_t i = 0; i < slices_of(tasks); i++) {
		const struct tasks_slice *slice = &tasks->slices[index * slices_of(tasks) + i];

		for (int j = 0; j < 2; j++) {
			polls[j] += slice->polls[j];
			busy_ns[j] += slice->busy_ns[j];
		}
		task.stalls += slice->stalls;
		if (slice->longest_ns > task.longest_ns)
			task.longest_ns = slice->longest_ns;
	}
	task.polls = scaled(polls, time);
	task.busy_ns = scaled(busy_ns, time);
	return task;
}

static int by_busy(const void *left, const void *right)
{
	const struct task *a = left, *b = right;

	if (!a->type != !b->type)
		return !a->type - !b->type;
	if (a->busy_ns != b->busy_ns)
		return (a->busy_ns < b->busy_ns) - (a->busy_ns > b->busy_ns);
	return (a->type > b->type) - (a->type < b->type);
}

const struct task *tasks_sorted(struct tasks *tasks, size_t *ret_count)
{
	struct tasks_time time = time_of(tasks);
	size_t count = 0;

	for (size_t i = 0; i < tasks->keys.count; i++) {
		struct task task = sum_task(tasks, i, &time);

		if (task.polls)
			tasks->items[count++] = task;
	}
	if (count)
		qsort(tasks->items, count, sizeof(*tasks->items), by_busy);
	*ret_count = count;
	return tasks->items;
}

void tasks_release(struct tasks *tasks)
{
	free(tasks->times);
	identities_release(&tasks->keys);
	free(tasks->lasts);
	free(tasks->slices);
	free(tasks->items);
	*tasks = (struct tasks){.slice_count = tasks->slice_count};
}
