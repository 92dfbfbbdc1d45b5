// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/stall_samples.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* Different sampled stacks in one span, and workers in one at the same time. */
#define STACKS_MAX   64
#define SAMPLERS_MAX 256

struct stall_sampler {
	uint32_t tid;
	uint64_t span_ns;
	uint64_t sampled_ns; /* the last time */
	unsigned int count;
	struct sampled {
		uint32_t stack;
		uint64_t weight_ns;
	} items[STACKS_MAX];
};

static struct stall_sampler *find(const struct stall_samples *samples, uint32_t tid)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].tid == tid)
			return &samples->items[i];
	return NULL;
}

/*
 * Its span has ended, most likely. When the span began does not say that: the span of a worker that
 * is stuck began before all others.
 */
static struct stall_sampler *longest_unsampled(const struct stall_samples *samples)
{
	struct stall_sampler *found = samples->items;

	for (size_t i = 1; i < samples->count; i++)
		if (samples->items[i].sampled_ns < found->sampled_ns)
			found = &samples->items[i];
	return found;
}

/* NULL: out of memory. */
static struct stall_sampler *find_place(struct stall_samples *samples)
{
	if (samples->count == SAMPLERS_MAX)
		return longest_unsampled(samples);
	if (array_reserve(&samples->items, &samples->room, samples->count + 1,
			  sizeof(*samples->items)) < 0)
		return NULL;
	return &samples->items[samples->count++];
}

int stall_samples_add(struct stall_samples *samples, const struct wire_sample *record)
{
	struct stall_sampler *sampler = find(samples, record->tid);
	unsigned int i = 0;

	if (!sampler) {
		sampler = find_place(samples);
		if (!sampler)
			return -ENOMEM;
		*sampler = (struct stall_sampler){.tid = record->tid};
	}
	sampler->sampled_ns = record->header.time_ns;
	if (sampler->span_ns != record->span_ns) {
		sampler->span_ns = record->span_ns;
		sampler->count = 0;
	}
	while (i < sampler->count && sampler->items[i].stack != record->stack)
		i++;
	if (i == STACKS_MAX || !record->stack)
		return 0;
	if (i == sampler->count)
		sampler->items[sampler->count++] = (struct sampled){record->stack, 0};
	sampler->items[i].weight_ns += record->weight_ns;
	return 0;
}

uint32_t stall_samples_stack(const struct stall_samples *samples, const struct stacks *stacks,
			     uint32_t tid, uint64_t span_ns)
{
	const struct stall_sampler *sampler = find(samples, tid);
	uint64_t most = 0;
	uint32_t best = 0;

	if (!sampler || sampler->span_ns != span_ns)
		return 0;
	for (unsigned int i = 0; i < sampler->count; i++) {
		uint32_t function = stacks_function_of(stacks, sampler->items[i].stack);
		uint64_t weight_ns = 0, largest = 0;
		uint32_t stack = 0;

		for (unsigned int j = 0; j < sampler->count; j++) {
			if (stacks_function_of(stacks, sampler->items[j].stack) != function)
				continue;
			weight_ns += sampler->items[j].weight_ns;
			if (!stack || sampler->items[j].weight_ns > largest) {
				largest = sampler->items[j].weight_ns;
				stack = sampler->items[j].stack;
			}
		}
		if (!best || weight_ns > most) {
			most = weight_ns;
			best = stack;
		}
	}
	return best;
}

uint64_t stall_samples_ns(const struct stall_samples *samples, uint32_t tid, uint64_t span_ns)
{
	const struct stall_sampler *sampler = find(samples, tid);
	uint64_t ns = 0;

	for (unsigned int i = 0; sampler && sampler->span_ns == span_ns && i < sampler->count; i++)
		ns += sampler->items[i].weight_ns;
	return ns;
}

void stall_samples_release(struct stall_samples *samples)
{
	free(samples->items);
	*samples = (struct stall_samples){.items = NULL};
}
