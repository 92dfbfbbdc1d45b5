// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/map_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* At once: to find out which ones takes long. */
#define DROPPED (MAP_PLACES_MAX / 4)

void map_places_release(struct map_places *places)
{
	free(places->items);
	*places = (struct map_places){0};
}

static bool overlaps(const struct map_place *place, uint64_t start, uint64_t end)
{
	return place->start < end && start < place->end;
}

static bool covers(const struct map_place *place, const struct map_place *other)
{
	return place->start <= other->start && other->end <= place->end;
}

static void join(struct map_lost *range, const struct map_lost *other)
{
	range->start = other->start < range->start ? other->start : range->start;
	range->end = other->end > range->end ? other->end : range->end;
	range->until_ns = other->until_ns > range->until_ns ? other->until_ns : range->until_ns;
}

/* Whether they are of one place, where libraries of about one size take turns. */
static bool are_alike(const struct map_lost *range, const struct map_lost *other)
{
	struct map_lost both = *range;

	join(&both, other);
	return range->start < other->end && other->start < range->end &&
	       (both.end - both.start) / 2 <= other->end - other->start;
}

/* The two of the oldest times become one. */
static void join_oldest(struct map_places *places)
{
	size_t oldest = 0, next = 1;

	for (size_t i = 1; i < places->lost_count; i++) {
		if (places->lost[i].until_ns < places->lost[oldest].until_ns) {
			next = oldest;
			oldest = i;
		} else if (i == 1 || places->lost[i].until_ns < places->lost[next].until_ns) {
			next = i;
		}
	}
	join(&places->lost[next], &places->lost[oldest]);
	places->lost[oldest] = places->lost[--places->lost_count];
}

void map_places_lose(struct map_places *places, uint64_t start, uint64_t end, uint64_t time_ns)
{
	const struct map_lost range = {start, end, time_ns};

	if (time_ns > places->lost_ns)
		places->lost_ns = time_ns;
	for (size_t i = 0; i < places->lost_count; i++)
		if (are_alike(&places->lost[i], &range)) {
			join(&places->lost[i], &range);
			return;
		}
	if (places->lost_count == MAP_PLACES_LOST)
		join_oldest(places);
	places->lost[places->lost_count++] = range;
}

/* When another one has taken its whole place; UINT64_MAX: none has. */
static uint64_t covered_ns(const struct map_places *places, size_t index)
{
	for (size_t i = index + 1; i < places->count; i++)
		if (covers(&places->items[i], &places->items[index]))
			return places->items[i].time_ns;
	return UINT64_MAX;
}

/* Those that were covered by then; returns how many. */
static size_t drop_covered(struct map_places *places, size_t most, uint64_t until_ns)
{
	size_t kept = 0, had = places->had, dropped = 0;

	for (size_t i = 0; i < places->count; i++) {
		const struct map_place place = places->items[i];
		uint64_t time_ns = dropped < most ? covered_ns(places, i) : UINT64_MAX;

		if (time_ns <= until_ns) {
			map_places_lose(places, place.start, place.end, time_ns);
			places->had -= i < had;
			dropped++;
		} else {
			places->items[kept++] = place;
		}
	}
	places->count = kept;
	return dropped;
}

/* Below what is dropped, what was there before would come to light again. */
static void mark_below(struct map_places *places)
{
	for (size_t i = places->count; i-- > 0;)
		for (size_t k = i + 1; k < places->count && !places->items[i].is_dropped; k++)
			places->items[i].is_dropped =
				places->items[k].is_dropped &&
				overlaps(&places->items[k], places->items[i].start,
					 places->items[i].end);
}

/* The oldest that are in no file, or in one. */
static size_t drop_oldest(struct map_places *places, size_t most, bool in_file)
{
	size_t kept = 0, had = places->had, dropped = 0;

	for (size_t i = had; i < places->count && dropped < most; i++) {
		places->items[i].is_dropped = (places->items[i].inode != 0) == in_file;
		dropped += places->items[i].is_dropped;
	}
	mark_below(places);
	for (size_t i = 0; i < places->count; i++) {
		const struct map_place place = places->items[i];

		if (!place.is_dropped) {
			places->items[kept++] = place;
			continue;
		}
		places->had -= i < had;
		if (place.time_ns)
			map_places_lose(places, place.start, place.end, place.time_ns);
		places->is_cut = true;
	}
	places->count = kept;
	return dropped;
}

static void make_room(struct map_places *places)
{
	uint64_t middle_ns = places->items[places->had + MAP_PLACES_MAX / 2].time_ns;
	size_t dropped = drop_covered(places, DROPPED, middle_ns);

	if (dropped < DROPPED)
		dropped += drop_oldest(places, DROPPED - dropped, false);
	if (dropped < DROPPED)
		drop_oldest(places, DROPPED - dropped, true);
}

/* Of which an older map would show another file there. */
static bool replaces(const struct map_places *places, const struct map_place *place)
{
	for (size_t i = 0; i < places->count; i++) {
		const struct map_place *other = &places->items[i];

		if (other->inode && overlaps(other, place->start, place->end) &&
		    (other->inode != place->inode || other->device != place->device))
			return true;
	}
	return false;
}

/* Code that is made at run time is mapped again and again. */
static bool is_known(const struct map_places *places, const struct map_place *place)
{
	for (size_t i = places->count; i-- > 0 && !place->inode;)
		if (overlaps(&places->items[i], place->start, place->end))
			return !places->items[i].inode && covers(&places->items[i], place);
	return false;
}

int map_places_add(struct map_places *places, struct map_place place)
{
	if (is_known(places, &place))
		return 0;
	if (places->count - places->had >= MAP_PLACES_MAX)
		make_room(places);
	if (array_reserve(&places->items, &places->room, places->count + 1,
			  sizeof(*places->items)) < 0)
		return -ENOMEM;
	places->is_reused |= replaces(places, &place);
	place.is_change |= place.inode || replaces(places, &place);
	places->items[places->count++] = place;
	return place.is_change;
}

/* What of it lies below the first of those that were mapped later; *rest: what lies above. */
static struct map_place part_before(const struct map_places *places, struct map_place *rest)
{
	struct map_place part = *rest;
	uint64_t next = rest->end;

	for (size_t i = places->had; i < places->count; i++) {
		const struct map_place *place = &places->items[i];

		if (overlaps(place, part.start, part.end)) {
			part.end = place->start > part.start ? place->start : part.start;
			next = place->end;
		}
	}
	if (next > rest->end)
		next = rest->end;
	rest->offset += rest->inode ? next - rest->start : 0;
	rest->start = next;
	return part;
}

int map_places_adopt(struct map_places *places, const struct map_place *now, size_t count)
{
	static struct map_place had[MAP_PLACES_HAD_MAX];
	size_t had_count = 0, later = places->count - places->had;

	for (size_t i = 0; i < count; i++) {
		struct map_place rest = now[i];

		while (rest.start < rest.end) {
			struct map_place part = part_before(places, &rest);

			if (part.start >= part.end)
				continue;
			if (had_count == MAP_PLACES_HAD_MAX)
				return -E2BIG;
			part.time_ns = 0;
			had[had_count++] = part;
		}
	}
	if (array_reserve(&places->items, &places->room, had_count + later,
			  sizeof(*places->items)) < 0)
		return -ENOMEM;
	if (later)
		memmove(places->items + had_count, places->items + places->had,
			later * sizeof(*places->items));
	memcpy(places->items, had, had_count * sizeof(*had));
	places->had = had_count;
	places->count = had_count + later;
	places->is_cut = false;
	return 0;
}

/* Something is there from that time on. */
static void note_change(uint64_t at_ns, uint64_t time_ns, uint64_t *since, uint64_t *until)
{
	if (at_ns <= time_ns && at_ns > *since)
		*since = at_ns;
	if (at_ns > time_ns && (!*until || at_ns < *until))
		*until = at_ns;
}

void map_places_unchanged(const struct map_places *places, uint64_t time_ns, uint64_t *ret_since,
			  uint64_t *ret_until)
{
	*ret_since = *ret_until = 0;
	for (size_t i = 0; i < places->lost_count; i++)
		note_change(places->lost[i].until_ns, time_ns, ret_since, ret_until);
	for (size_t i = places->had; i < places->count; i++)
		if (places->items[i].is_change)
			note_change(places->items[i].time_ns, time_ns, ret_since, ret_until);
}
