// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/reason_marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int by_thread(const struct wire_reason *a, const struct wire_reason *b)
{
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->origin_ns > b->origin_ns) - (a->origin_ns < b->origin_ns);
}

static int by_key(const void *left, const void *right)
{
	const struct wire_reason *a = left, *b = right;
	int result = by_thread(a, b);

	return result ? result : memcmp(&a->site, &b->site, sizeof(a->site));
}

void reason_marks_begin(struct reason_marks *marks)
{
	marks->has_turned = true;
}

int reason_marks_turn(struct reason_marks *marks, const struct interval *interval)
{
	struct reason_marks turned = {
		.now = marks->earlier,
		.room = marks->earlier_room,
		.earlier = marks->before,
		.earlier_room = marks->before_room,
		.earlier_count = marks->before_count,
		.before = marks->now,
		.before_room = marks->room,
		.before_count = marks->count,
		.has_before = marks->has_turned,
		.has_turned = true,
	};
	int result = array_reserve(&turned.now, &turned.room, interval->reason_count + 1,
				   sizeof(*turned.now));

	*marks = turned;
	if (result < 0) {
		reason_marks_release(marks);
		return -ENOMEM;
	}
	marks->count = interval->reason_count;
	if (marks->count)
		memcpy(marks->now, interval->reasons, marks->count * sizeof(*marks->now));
	qsort(marks->now, marks->count, sizeof(*marks->now), by_key);
	return 0;
}

void reason_marks_release(struct reason_marks *marks)
{
	free(marks->now);
	free(marks->before);
	free(marks->earlier);
	*marks = (struct reason_marks){0};
}

static const struct wire_reason *find(const struct wire_reason *items, size_t count,
				      const struct wire_reason *reason)
{
	return count ? bsearch(reason, items, count, sizeof(*items), by_key) : NULL;
}

/* As it was before the interval; NULL: it is new, or was missing twice. */
static const struct wire_reason *was(const struct reason_marks *marks,
				     const struct wire_reason *reason)
{
	const struct wire_reason *before = find(marks->before, marks->before_count, reason);

	return before ? before : find(marks->earlier, marks->earlier_count, reason);
}

int reason_base_begin(struct reason_base *base, const struct reason_marks *marks)
{
	const struct wire_reason *from = marks->has_before ? marks->before : marks->now;
	size_t count = marks->has_before ? marks->before_count : marks->count;

	base->count = 0;
	if (array_reserve(&base->items, &base->room, count + marks->earlier_count + 1,
			  sizeof(*base->items)) < 0)
		return -ENOMEM;
	if (count)
		memcpy(base->items, from, count * sizeof(*base->items));
	base->count = count;
	for (size_t i = 0; i < marks->earlier_count; i++)
		if (!find(from, count, &marks->earlier[i]))
			base->items[base->count++] = marks->earlier[i];
	if (base->count > count)
		qsort(base->items, base->count, sizeof(*base->items), by_key);
	return 0;
}

/* Keeps those before `key` that only the last snapshot has missed; NULL: all that are left. */
static void pass_missing(struct reason_base *base, const struct reason_marks *marks,
			 const struct wire_reason *key, size_t *at, size_t *kept)
{
	for (; *at < base->count && (!key || by_key(&base->items[*at], key) < 0); ++*at)
		if (find(marks->before, marks->before_count, &base->items[*at]))
			base->items[(*kept)++] = base->items[*at];
}

size_t reason_base_since(struct reason_base *base, const struct reason_marks *marks,
			 struct wire_reason *into)
{
	size_t count = 0, kept = 0, at = 0;

	for (size_t i = 0; i < marks->count; i++) {
		struct wire_reason since = marks->now[i];

		pass_missing(base, marks, &since, &at, &kept);
		if (at < base->count && !by_key(&base->items[at], &since)) {
			const struct wire_reason *from = &base->items[at++];

			if (from->total_ns <= since.total_ns && from->count <= since.count) {
				since.total_ns -= from->total_ns;
				since.count -= from->count;
				base->items[kept++] = *from;
			}
		}
		if (since.count)
			into[count++] = since;
	}
	pass_missing(base, marks, NULL, &at, &kept);
	base->count = kept;
	return count;
}

void reason_base_release(struct reason_base *base)
{
	free(base->items);
	*base = (struct reason_base){0};
}

size_t reason_marks_of(const struct reason_marks *marks, uint32_t tid, uint64_t origin_ns,
		       const struct wire_reason **ret_first)
{
	const struct wire_reason key = {.tid = tid, .origin_ns = origin_ns};
	size_t first = 0, end = marks->count;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (by_thread(&marks->now[middle], &key) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	*ret_first = marks->now + first;
	while (end < marks->count && !by_thread(&marks->now[end], &key))
		end++;
	return end - first;
}

uint64_t reason_marks_ended(const struct reason_marks *marks, const struct wire_reason *reason)
{
	const struct wire_reason *before = was(marks, reason);
	uint64_t before_ns = before ? before->total_ns : 0;

	return reason->total_ns > before_ns ? reason->total_ns - before_ns : 0;
}
