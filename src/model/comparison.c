// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/comparison.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Less is within what two runs of the same program differ by. */
#define SAME_SHARE 0.1

static struct compared_hotspot *find(const struct compared_side *side, const char *function,
				     const char *cause)
{
	for (size_t i = 0; i < side->count; i++)
		if (!strcmp(side->hotspots[i].function, function) &&
		    !strcmp(side->hotspots[i].cause, cause))
			return &side->hotspots[i];
	return NULL;
}

int compared_add(struct compared_side *side, const char *function, const char *cause,
		 uint64_t count, uint64_t total_ns, uint64_t max_ns)
{
	struct compared_hotspot *hotspot = find(side, function, cause);

	if (!hotspot) {
		if (array_reserve(&side->hotspots, &side->room, side->count + 1, sizeof(*hotspot)) <
		    0)
			return -ENOMEM;
		hotspot = &side->hotspots[side->count];
		*hotspot = (struct compared_hotspot){.function = strdup(function),
						     .cause = strdup(cause)};
		if (!hotspot->function || !hotspot->cause) {
			free(hotspot->function);
			free(hotspot->cause);
			return -ENOMEM;
		}
		side->count++;
	}
	hotspot->count += count;
	hotspot->total_ns += total_ns;
	if (max_ns > hotspot->max_ns)
		hotspot->max_ns = max_ns;
	return 0;
}

void compared_release(struct compared_side *side)
{
	for (size_t i = 0; i < side->count; i++) {
		free(side->hotspots[i].function);
		free(side->hotspots[i].cause);
	}
	free(side->hotspots);
	*side = (struct compared_side){0};
}

static double share(const struct compared_side *side, uint64_t ns)
{
	return side->duration_ns ? (double)ns / (double)side->duration_ns : 0;
}

static enum comparison_change change_of(const struct comparison_item *item)
{
	if (!item->a.count)
		return CHANGE_NEW;
	if (!item->b.count)
		return CHANGE_GONE;
	if (item->share_b > item->share_a * (1 + SAME_SHARE))
		return CHANGE_WORSE;
	return item->share_b < item->share_a * (1 - SAME_SHARE) ? CHANGE_BETTER : CHANGE_SAME;
}

static void add_item(struct comparison *comparison, const struct compared_side *a,
		     const struct compared_side *b, const struct compared_hotspot *in_a,
		     const struct compared_hotspot *in_b)
{
	struct comparison_item item = {
		.function = in_a ? in_a->function : in_b->function,
		.cause = in_a ? in_a->cause : in_b->cause,
	};

	if (in_a)
		item.a = *in_a;
	if (in_b)
		item.b = *in_b;
	item.share_a = share(a, item.a.total_ns);
	item.share_b = share(b, item.b.total_ns);
	item.change = change_of(&item);
	comparison->share_a += item.share_a;
	comparison->share_b += item.share_b;
	comparison->items[comparison->count++] = item;
}

static int by_change(const void *left, const void *right)
{
	const struct comparison_item *a = left, *b = right;
	double x = a->share_b - a->share_a, y = b->share_b - b->share_a;

	return (x < y) - (x > y);
}

int comparison_make(struct comparison *comparison, const struct compared_side *a,
		    const struct compared_side *b)
{
	*comparison = (struct comparison){0};
	comparison->items = calloc(a->count + b->count + 1, sizeof(*comparison->items));
	if (!comparison->items)
		return -ENOMEM;
	for (size_t i = 0; i < a->count; i++)
		add_item(comparison, a, b, &a->hotspots[i],
			 find(b, a->hotspots[i].function, a->hotspots[i].cause));
	for (size_t i = 0; i < b->count; i++)
		if (!find(a, b->hotspots[i].function, b->hotspots[i].cause))
			add_item(comparison, a, b, NULL, &b->hotspots[i]);
	qsort(comparison->items, comparison->count, sizeof(*comparison->items), by_change);
	return 0;
}

void comparison_release(struct comparison *comparison)
{
	free(comparison->items);
}
