// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/leaders.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

static int leader_init(const struct leaders *leaders, struct leader *leader)
{
	size_t kinds = leaders->kinds;

	leader->fresh = calloc(kinds * (2 + leaders->marks) + 1, sizeof(*leader->fresh));
	if (!leader->fresh)
		return -ENOMEM;
	leader->counts = leader->fresh + kinds;
	leader->marked = leader->counts + kinds;
	return 0;
}

static void leader_release(struct leader *leader)
{
	free(leader->name);
	free(leader->fresh);
}

int leaders_init(struct leaders *leaders, size_t places, size_t names_max, size_t kinds,
		 size_t marks)
{
	*leaders = (struct leaders){
		.places = places, .names_max = names_max, .kinds = kinds, .marks = marks};
	leaders->key = hash_secret(leaders);
	for (leaders->slot_count = 2; leaders->slot_count < 2 * names_max;)
		leaders->slot_count *= 2;
	leaders->slots = calloc(leaders->slot_count, sizeof(*leaders->slots));
	if (!leaders->slots)
		return -ENOMEM;
	return leader_init(leaders, &leaders->rest);
}

void leaders_release(struct leaders *leaders)
{
	for (size_t i = 0; i < leaders->count; i++) {
		leader_release(leaders->items[i]);
		free(leaders->items[i]);
	}
	free(leaders->items);
	free(leaders->slots);
	leader_release(&leaders->rest);
	*leaders = (struct leaders){0};
}

static int compare(const struct leader *leader, const char *name, size_t length)
{
	if (leader->length != length)
		return leader->length < length ? -1 : 1;
	return memcmp(leader->name, name, length);
}

/* Among the sorted: where it is, or would be. */
static size_t place_of(const struct leaders *leaders, const char *name, size_t length)
{
	size_t low = 0, high = leaders->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(leaders->items[middle], name, length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of that name; or free, and where it would be. */
static struct leader **slot_of(const struct leaders *leaders, uint64_t hash, const char *name,
			       size_t length)
{
	size_t mask = leaders->slot_count - 1, at = (size_t)(hash >> 24) & mask;

	for (; leaders->slots[at]; at = (at + 1) & mask)
		if (leaders->slots[at]->hash == hash && !compare(leaders->slots[at], name, length))
			break;
	return &leaders->slots[at];
}

static struct leader *leader_new(const struct leaders *leaders, uint64_t hash, const char *name,
				 size_t length)
{
	struct leader *leader = calloc(1, sizeof(*leader));

	if (!leader)
		return NULL;
	leader->name = malloc(length + 1);
	if (!leader->name || leader_init(leaders, leader) < 0) {
		leader_release(leader);
		free(leader);
		return NULL;
	}
	memcpy(leader->name, name, length);
	leader->name[length] = '\0';
	leader->length = length;
	leader->hash = hash;
	leader->begun_ns = leaders->begin_ns;
	return leader;
}

/* NULL: there is no room. */
static struct leader *insert(struct leaders *leaders, uint64_t hash, const char *name,
			     size_t length)
{
	struct leader *leader;
	size_t at;

	if (leaders->count >= leaders->names_max ||
	    array_reserve(&leaders->items, &leaders->room, leaders->count + 1,
			  sizeof(*leaders->items)) < 0)
		return NULL;
	leader = leader_new(leaders, hash, name, length);
	if (!leader)
		return NULL;
	at = place_of(leaders, name, length);
	memmove(leaders->items + at + 1, leaders->items + at,
		(leaders->count - at) * sizeof(*leaders->items));
	leaders->items[at] = leader;
	leaders->count++;
	*slot_of(leaders, hash, name, length) = leader;
	return leader;
}

struct leader *leaders_find(const struct leaders *leaders, const char *name, size_t length)
{
	return *slot_of(leaders, hash_bytes(leaders->key, name, length), name, length);
}

struct leader *leaders_at(struct leaders *leaders, const char *name, size_t length)
{
	uint64_t hash = hash_bytes(leaders->key, name, length);
	struct leader *leader = *slot_of(leaders, hash, name, length);

	if (!leader)
		leader = insert(leaders, hash, name, length);
	if (!leader) {
		leaders->unnamed++;
		return &leaders->rest;
	}
	leader->is_seen = true;
	return leader;
}

static void set_leads(struct leaders *leaders, struct leader *leader, bool leads, uint64_t now_ns)
{
	leader->leads = leads;
	leader->has_led |= leads;
	leader->since_ns = leads ? now_ns : 0;
	leaders->leading = leads ? leaders->leading + 1 : leaders->leading - 1;
}

static void weigh(struct leaders *leaders, uint64_t now_ns)
{
	uint64_t passed_ns = leaders->turn_ns ? now_ns - leaders->turn_ns : 0;
	double factor = exp2(-(double)passed_ns / (double)LEADERS_HALF_LIFE_NS);

	leaders->turn_ns = now_ns;
	for (size_t i = 0; i < leaders->count; i++) {
		struct leader *leader = leaders->items[i];

		leader->weight = leader->weight * factor + (double)leader->fresh_weight;
		leader->fresh_weight = 0;
		leader->gauge = leader->fresh_gauge;
		leader->fresh_gauge = 0;
		if (leader->is_seen)
			leader->seen_ns = now_ns;
		leader->is_seen = false;
	}
	leaders->rest.fresh_weight = 0;
	leaders->rest.gauge = leaders->rest.fresh_gauge;
	leaders->rest.fresh_gauge = 0;
}

static void forget(struct leaders *leaders, uint64_t now_ns)
{
	bool is_crowded = leaders->count > leaders->names_max / 2;
	size_t kept = 0;

	for (size_t i = 0; i < leaders->count; i++) {
		struct leader *leader = leaders->items[i];

		if (now_ns - leader->seen_ns <
		    (is_crowded && !leader->has_led ? LEADERS_ABSENT_NS : LEADERS_FORGET_NS)) {
			leaders->items[kept++] = leader;
			continue;
		}
		if (leader->leads)
			set_leads(leaders, leader, false, now_ns);
		leader_release(leader);
		free(leader);
	}
	if (kept == leaders->count)
		return;
	leaders->count = kept;
	memset(leaders->slots, 0, leaders->slot_count * sizeof(*leaders->slots));
	for (size_t i = 0; i < kept; i++) {
		struct leader *leader = leaders->items[i];

		*slot_of(leaders, leader->hash, leader->name, leader->length) = leader;
	}
}

static bool is_absent(const struct leader *leader, uint64_t now_ns)
{
	return now_ns - leader->seen_ns >= LEADERS_ABSENT_NS;
}

/* Of those that lead and are absent, the lightest; NULL: there is none. */
static struct leader *lightest_absent(const struct leaders *leaders, uint64_t now_ns)
{
	struct leader *found = NULL;

	for (size_t i = 0; i < leaders->count; i++) {
		struct leader *leader = leaders->items[i];

		if (leader->leads && is_absent(leader, now_ns) &&
		    (!found || leader->weight < found->weight))
			found = leader;
	}
	return found;
}

/* Of those that lead since `before_ns` or longer, the lightest; NULL: there is none. */
static struct leader *lightest(const struct leaders *leaders, uint64_t before_ns)
{
	struct leader *found = NULL;

	for (size_t i = 0; i < leaders->count; i++) {
		struct leader *leader = leaders->items[i];

		if (leader->leads && leader->since_ns <= before_ns &&
		    (!found || leader->weight < found->weight))
			found = leader;
	}
	return found;
}

/* NULL: all others are absent. */
static struct leader *heaviest_other(const struct leaders *leaders, uint64_t now_ns)
{
	struct leader *found = NULL;

	for (size_t i = 0; i < leaders->count; i++) {
		struct leader *leader = leaders->items[i];

		if (!leader->leads && !is_absent(leader, now_ns) &&
		    (!found || leader->weight > found->weight))
			found = leader;
	}
	return found;
}

/* Whose place `next` takes; NULL: none. */
static struct leader *follows(const struct leaders *leaders, const struct leader *next,
			      uint64_t now_ns)
{
	struct leader *last = lightest_absent(leaders, now_ns);

	if (last)
		return last;
	last = lightest(leaders, now_ns);
	if (last && next->weight > LEADERS_AT_ONCE * last->weight)
		return last;
	last = now_ns < LEADERS_TERM_NS ? NULL : lightest(leaders, now_ns - LEADERS_TERM_NS);
	return last && next->weight > LEADERS_AFTER_TERM * last->weight ? last : NULL;
}

static void fill_places(struct leaders *leaders, uint64_t now_ns)
{
	while (leaders->count > leaders->leading) {
		struct leader *next = heaviest_other(leaders, now_ns), *last = NULL;

		if (!next)
			return;
		if (leaders->leading >= leaders->places) {
			last = follows(leaders, next, now_ns);
			if (!last)
				return;
			set_leads(leaders, last, false, now_ns);
		}
		set_leads(leaders, next, true, now_ns);
	}
}

static void book(struct leaders *leaders, struct leader *leader)
{
	uint64_t *counts = leader->leads ? leader->counts : leaders->rest.counts;

	for (size_t i = 0; i < leaders->kinds; i++)
		counts[i] += leader->fresh[i];
	memset(leader->fresh, 0, leaders->kinds * sizeof(*leader->fresh));
	if (!leader->leads)
		leaders->rest.gauge += leader->gauge;
}

void leaders_elect(struct leaders *leaders, uint64_t now_ns)
{
	weigh(leaders, now_ns);
	forget(leaders, now_ns);
	fill_places(leaders, now_ns);
}

void leaders_book(struct leaders *leaders)
{
	for (size_t i = 0; i < leaders->count; i++)
		book(leaders, leaders->items[i]);
	for (size_t i = 0; i < leaders->kinds; i++) {
		leaders->rest.counts[i] += leaders->rest.fresh[i];
		leaders->rest.fresh[i] = 0;
	}
}

void leaders_turn(struct leaders *leaders, uint64_t now_ns)
{
	leaders_elect(leaders, now_ns);
	leaders_book(leaders);
}

static void set_mark(const struct leaders *leaders, struct leader *leader, size_t mark)
{
	memcpy(leader->marked + mark * leaders->kinds, leader->counts,
	       leaders->kinds * sizeof(*leader->counts));
}

void leaders_set_mark(struct leaders *leaders, size_t mark)
{
	for (size_t i = 0; i < leaders->count; i++)
		set_mark(leaders, leaders->items[i], mark);
	set_mark(leaders, &leaders->rest, mark);
}
