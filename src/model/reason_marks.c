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
		.now = marks->before,
		.room = marks->before_room,
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
	*marks = (struct reason_marks){0};
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
	const struct wire_reason *before =
		marks->before_count ? bsearch(reason, marks->before, marks->before_count,
					      sizeof(*reason), by_key)
				    : NULL;
	uint64_t before_ns = before ? before->total_ns : 0;

	return reason->total_ns > before_ns ? reason->total_ns - before_ns : 0;
}
