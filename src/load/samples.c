// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * Selection, not sorting: 1,000 workers bring 10^8 values. The first pass counts them by the
 * leading bits; the second collects only those that share these with a percentile.
 */
#define FINE_BITS 8 /* behind the leading one */
#define SLOTS	  ((65 - FINE_BITS) << FINE_BITS)
#define QUANTILES 4

static const double quantiles[QUANTILES] = {0.5, 0.9, 0.99, 0.999};

static unsigned int slot_of(uint64_t value)
{
	unsigned int log, shift;

	if (value < 1u << FINE_BITS)
		return (unsigned int)value;
	log = 63 - (unsigned int)__builtin_clzll(value);
	shift = log - FINE_BITS;
	/* the leading bit of the shifted value carries into the number of its power of two */
	return (shift << FINE_BITS) + (unsigned int)(value >> shift);
}

struct weighted {
	uint64_t value;
	double weight;
};

struct collected {
	struct weighted *items;
	size_t count, room;
};

struct quantile {
	unsigned int slot;
	double before; /* weight of all slots below */
	double rank;
};

static double weight_of(const struct sample_set *set)
{
	return set->count ? (double)set->total / (double)set->count : 0;
}

static void count_all(const struct sample_set *sets, size_t count, double *weights,
		      struct sample_summary *summary)
{
	double weight_sum = 0, sum = 0, squares = 0;

	summary->min = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		double weight = weight_of(&sets[i]);

		summary->count += sets[i].count;
		summary->total += sets[i].total;
		weight_sum += weight * (double)sets[i].count;
		for (uint64_t k = 0; k < sets[i].count; k++) {
			uint64_t value = sets[i].values[k];

			weights[slot_of(value)] += weight;
			summary->buckets[value ? 63 - __builtin_clzll(value) : 0]++;
			summary->min = value < summary->min ? value : summary->min;
			summary->max = value > summary->max ? value : summary->max;
			sum += weight * (double)value;
		}
	}
	if (weight_sum <= 0)
		return;
	summary->mean = sum / weight_sum;
	/* two passes: the difference of two large sums would lose a small variance */
	for (size_t i = 0; i < count; i++) {
		double weight = weight_of(&sets[i]);

		for (uint64_t k = 0; k < sets[i].count; k++) {
			double off = (double)sets[i].values[k] - summary->mean;

			squares += weight * off * off;
		}
	}
	if (summary->mean > 0)
		summary->cv = sqrt(squares / weight_sum) / summary->mean;
}

static void find_slots(const double *weights, double total, struct quantile *found)
{
	double before = 0;
	unsigned int slot = 0;

	for (int q = 0; q < QUANTILES; q++) {
		/* equal weights of one make this the nearest rank; sums of others may be off by
		 * rounding */
		found[q].rank = ceil(quantiles[q] * total - 1e-6);
		while (slot + 1 < SLOTS && before + weights[slot] < found[q].rank - 1e-6)
			before += weights[slot++];
		found[q].slot = slot;
		found[q].before = before;
	}
}

static int by_value(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

static int collect(const struct sample_set *sets, size_t count, const struct quantile *quantile,
		   struct collected *collected)
{
	collected->count = 0;
	for (size_t i = 0; i < count; i++) {
		double weight = weight_of(&sets[i]);

		for (uint64_t k = 0; k < sets[i].count; k++) {
			if (slot_of(sets[i].values[k]) != quantile->slot)
				continue;
			if (array_reserve(&collected->items, &collected->room, collected->count + 1,
					  sizeof(*collected->items)) < 0)
				return -ENOMEM;
			collected->items[collected->count++] =
				(struct weighted){sets[i].values[k], weight};
		}
	}
	qsort(collected->items, collected->count, sizeof(*collected->items), by_value);
	return 0;
}

static uint64_t value_at(const struct collected *collected, const struct quantile *quantile)
{
	double reached = quantile->before;

	for (size_t i = 0; i < collected->count; i++) {
		reached += collected->items[i].weight;
		if (reached >= quantile->rank - 1e-6)
			return collected->items[i].value;
	}
	return collected->items[collected->count - 1].value;
}

int samples_summarize(const struct sample_set *sets, size_t count,
		      struct sample_summary *ret_summary)
{
	cleanup_free double *weights = calloc(SLOTS, sizeof(*weights));
	struct sample_summary summary = {0};
	struct quantile found[QUANTILES];
	struct collected collected = {.items = NULL};
	uint64_t *const into[QUANTILES] = {&summary.p50, &summary.p90, &summary.p99, &summary.p999};
	double total = 0;
	int result = 0;

	if (!weights)
		return -ENOMEM;
	count_all(sets, count, weights, &summary);
	if (!summary.count) {
		*ret_summary = (struct sample_summary){.total = summary.total};
		return 0;
	}
	for (size_t i = 0; i < SLOTS; i++)
		total += weights[i];
	find_slots(weights, total, found);
	for (int q = 0; result >= 0 && q < QUANTILES; q++) {
		if (!q || found[q].slot != found[q - 1].slot)
			result = collect(sets, count, &found[q], &collected);
		if (result >= 0)
			*into[q] = value_at(&collected, &found[q]);
	}
	free(collected.items);
	if (result >= 0)
		*ret_summary = summary;
	return result;
}

double samples_cv(const double *values, size_t count)
{
	double mean = 0, squares = 0;

	for (size_t i = 0; i < count; i++)
		mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	return mean > 0 ? sqrt(squares / (double)count) / mean : 0;
}
