// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/side.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "statistics/order.h"

static bool has_fact(const struct load_facts *facts, const char *what, const char *value)
{
	for (size_t i = 0; i < facts->count; i++)
		if (!strcmp(facts->items[i].what, what) &&
		    (!value || !strcmp(facts->items[i].value, value)))
			return true;
	return false;
}

int load_facts_add(struct load_facts *facts, const char *what, const char *value)
{
	struct load_fact fact = {NULL, NULL};

	if (has_fact(facts, what, value))
		return 0;
	if (array_reserve(&facts->items, &facts->room, facts->count + 1, sizeof(fact)) < 0)
		return -ENOMEM;
	fact = (struct load_fact){strdup(what), strdup(value)};
	if (!fact.what || !fact.value) {
		free(fact.what);
		free(fact.value);
		return -ENOMEM;
	}
	facts->items[facts->count++] = fact;
	return 0;
}

static void facts_release(struct load_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		free(facts->items[i].what);
		free(facts->items[i].value);
	}
	free(facts->items);
}

static bool is_covered(const struct load_facts *facts, const char *what,
		       const struct load_facts *by)
{
	for (size_t i = 0; i < facts->count; i++)
		if (!strcmp(facts->items[i].what, what) &&
		    !has_fact(by, what, facts->items[i].value))
			return false;
	return true;
}

static bool is_first(const struct load_facts *facts, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (!strcmp(facts->items[i].what, facts->items[number].what))
			return false;
	return true;
}

/* Seeds that runs have drawn for themselves say nothing: each has another. */
static bool is_drawn(const struct load_facts *facts, const char *what)
{
	size_t count = 0;

	for (size_t i = 0; !strcmp(what, "seed") && i < facts->count; i++)
		count += !strcmp(facts->items[i].what, what);
	return count > 1;
}

const char *load_facts_differing(const struct load_facts *a, const struct load_facts *b,
				 size_t *position)
{
	while (*position < a->count) {
		size_t number = (*position)++;
		const char *what = a->items[number].what;

		if (is_drawn(a, what) || is_drawn(b, what))
			continue;
		if (is_first(a, number) && has_fact(b, what, NULL) &&
		    (!is_covered(a, what, b) || !is_covered(b, what, a)))
			return what;
	}
	return NULL;
}

struct load_group *load_side_find(const struct load_side *side, const struct load_group_key *key)
{
	for (size_t i = 0; i < side->group_count; i++) {
		const struct load_group_key *other = &side->groups[i].key;

		if (other->group_idx == key->group_idx && other->occurrence == key->occurrence &&
		    !strcmp(other->cgroup, key->cgroup) && !strcmp(other->work, key->work))
			return &side->groups[i];
	}
	return NULL;
}

static struct load_group *new_group(struct load_side *side, const struct load_group_key *key)
{
	char *cgroup, *work;

	if (array_reserve(&side->groups, &side->group_room, side->group_count + 1,
			  sizeof(*side->groups)) < 0)
		return NULL;
	cgroup = strdup(key->cgroup);
	work = strdup(key->work);
	if (!cgroup || !work) {
		free(cgroup);
		free(work);
		return NULL;
	}
	side->groups[side->group_count] =
		(struct load_group){.key = {cgroup, key->group_idx, work, key->occurrence}};
	return &side->groups[side->group_count++];
}

/* Those of all metrics grow together: one of them may only be larger than `room` says. */
static int reserve(struct load_group *group)
{
	size_t room = group->room;

	for (int i = 0; i < LOAD_METRICS; i++) {
		room = group->room;
		if (array_reserve(&group->values[i], &room, group->runs + 1, sizeof(double)) < 0)
			return -ENOMEM;
	}
	room = group->room;
	if (array_reserve(&group->run_of, &room, group->runs + 1, sizeof(*group->run_of)) < 0)
		return -ENOMEM;
	group->room = room;
	return 0;
}

bool load_side_wants(struct load_side *side, const char *started)
{
	if (!side->only)
		return true;
	for (size_t i = 0; started && i < side->only->count; i++)
		if (!strcmp(side->only->items[i], started))
			return true;
	side->left_out.unpaired++;
	return false;
}

int load_side_begin_run(struct load_side *side, const char *started, double taken)
{
	if (array_reserve(&side->started, &side->started_room, side->runs + 1,
			  sizeof(*side->started)) < 0 ||
	    array_reserve(&side->taken, &side->taken_room, side->runs + 1, sizeof(*side->taken)) <
		    0)
		return -ENOMEM;
	side->taken[side->runs] = taken;
	snprintf(side->started[side->runs], sizeof(*side->started), "%s", started ? started : "");
	side->runs++;
	return 0;
}

struct load_group *load_side_add_values(struct load_side *side, const struct load_group_key *key,
					const double values[LOAD_METRICS], double seconds,
					enum load_wakes wakes)
{
	struct load_group *group = load_side_find(side, key);

	if (!group)
		group = new_group(side, key);
	if (!group || reserve(group) < 0)
		return NULL;
	for (int i = 0; i < LOAD_METRICS; i++)
		group->values[i][group->runs] = values[i];
	group->run_of[group->runs++] = side->runs - 1;
	if (!isnan(seconds))
		group->seconds += (seconds - group->seconds) / (double)++group->seconds_known;
	if (wakes != LOAD_WAKES_NONE && group->wakes != LOAD_WAKES_NONE && wakes != group->wakes)
		group->wakes_mixed = true;
	if (wakes != LOAD_WAKES_NONE)
		group->wakes = wakes;
	return group;
}

struct load_group *load_side_add(struct load_side *side, const struct load_group_key *key,
				 const struct load_totals *totals)
{
	double values[LOAD_METRICS];

	load_totals_values(totals, values);
	return load_side_add_values(side, key, values, load_totals_seconds(totals),
				    load_totals_wakes(totals));
}

double load_side_taken(const struct load_side *side)
{
	cleanup_free double *buffer = calloc(side->runs + 1, sizeof(*buffer));

	return buffer ? order_median_known(side->taken, side->runs, buffer, NULL) : NAN;
}

void load_side_release(struct load_side *side)
{
	for (size_t i = 0; i < side->group_count; i++) {
		struct load_group *group = &side->groups[i];

		free((char *)group->key.cgroup);
		free((char *)group->key.work);
		facts_release(&group->facts);
		for (int k = 0; k < LOAD_METRICS; k++)
			free(group->values[k]);
		free(group->run_of);
	}
	free(side->groups);
	free(side->started);
	free(side->taken);
	facts_release(&side->facts);
	*side = (struct load_side){.runs = 0};
}
