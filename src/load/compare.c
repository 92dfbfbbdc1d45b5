// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/compare.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"

#define SIGNIFICANT 0.05

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

const char *load_facts_differing(const struct load_facts *a, const struct load_facts *b,
				 size_t *position)
{
	while (*position < a->count) {
		size_t number = (*position)++;
		const char *what = a->items[number].what;

		if (is_first(a, number) && has_fact(b, what, NULL) &&
		    (!is_covered(a, what, b) || !is_covered(b, what, a)))
			return what;
	}
	return NULL;
}

static struct load_group *find(const struct load_side *side, const struct load_group_key *key)
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
	group->room = room;
	return 0;
}

struct load_group *load_side_add(struct load_side *side, const struct load_group_key *key,
				 const struct load_totals *totals)
{
	struct load_group *group = find(side, key);
	enum load_wakes wakes = load_totals_wakes(totals);
	double values[LOAD_METRICS], seconds = load_totals_seconds(totals);

	if (!group)
		group = new_group(side, key);
	if (!group || reserve(group) < 0)
		return NULL;
	load_totals_values(totals, values);
	for (int i = 0; i < LOAD_METRICS; i++)
		group->values[i][group->runs] = values[i];
	group->runs++;
	if (!isnan(seconds))
		group->seconds += (seconds - group->seconds) / (double)++group->seconds_known;
	if (wakes != LOAD_WAKES_NONE && group->wakes != LOAD_WAKES_NONE && wakes != group->wakes)
		group->wakes_mixed = true;
	if (wakes != LOAD_WAKES_NONE)
		group->wakes = wakes;
	return group;
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
	}
	free(side->groups);
	facts_release(&side->facts);
	*side = (struct load_side){.runs = 0};
}

/* A difference of decimal fractions that just reaches its gate may miss it by rounding. */
static bool reaches(double value, double gate)
{
	return value >= gate * (1 - 1e-9);
}

void load_change_make(struct load_change *change, const double *a, size_t a_count, const double *b,
		      size_t b_count, bool higher_is_better, const struct load_gate *gate)
{
	double distance;

	*change = (struct load_change){.delta = NAN, .relative = NAN, .p = NAN, .gate = *gate};
	welch_set_make(&change->a, a, a_count);
	welch_set_make(&change->b, b, b_count);
	if (!change->a.count || !change->b.count)
		return;
	change->verdict = LOAD_SAME;
	change->delta = change->b.mean - change->a.mean;
	distance = fabs(change->delta);
	/* what was not there and now is has changed, however little it is */
	if (change->a.mean == 0 && distance > 0)
		change->relative = copysign(INFINITY, change->delta);
	else
		change->relative = distance > 0 ? change->delta / fabs(change->a.mean) : 0;
	change->p = welch_p(&change->a, &change->b);
	change->disjoint = change->a.count > 1 && change->b.count > 1 &&
			   (change->a.max < change->b.min || change->b.max < change->a.min);
	if (!(distance > 0) || !reaches(distance, gate->absolute) ||
	    !reaches(fabs(change->relative), gate->relative))
		return;
	if (change->a.count > 1 && change->b.count > 1 && !(change->p < SIGNIFICANT) &&
	    !change->disjoint)
		return;
	change->verdict = (change->delta > 0) == higher_is_better ? LOAD_BETTER : LOAD_WORSE;
}

/* The gate of a total as one of a rate. */
static struct load_gate gate_of(const struct load_gate *gate, const struct load_group *a,
				const struct load_group *b)
{
	double seconds = fmin(a->seconds, b->seconds);
	struct load_gate rate = *gate;

	if (gate->of_total && seconds > 0)
		rate.absolute /= seconds;
	return rate;
}

static void compare_groups(struct load_comparison *comparison, struct load_compared *compared)
{
	const struct load_group *a = compared->a, *b = compared->b;

	compared->wakes_differ = a->wakes != LOAD_WAKES_NONE && b->wakes != LOAD_WAKES_NONE &&
				 (a->wakes_mixed || b->wakes_mixed || a->wakes != b->wakes);
	for (int i = 0; i < LOAD_METRICS; i++) {
		struct load_change *change = &compared->changes[i];
		struct load_gate gate = gate_of(&comparison->gates[i], a, b);
		bool left_out = compared->wakes_differ && load_metric_is_wake((enum load_metric)i);

		load_change_make(change, a->values[i], left_out ? 0 : a->runs, b->values[i],
				 left_out ? 0 : b->runs, load_metrics[i].higher_is_better, &gate);
		if (change->a.count || change->b.count)
			comparison->verdicts[change->verdict]++;
	}
}

int load_compare(struct load_comparison *comparison, const struct load_side *a,
		 const struct load_side *b, const struct load_gate gates[LOAD_METRICS])
{
	*comparison = (struct load_comparison){.a = a, .b = b};
	memcpy(comparison->gates, gates, sizeof(comparison->gates));
	comparison->groups =
		calloc(a->group_count + b->group_count + 1, sizeof(*comparison->groups));
	if (!comparison->groups)
		return -ENOMEM;
	for (size_t i = 0; i < a->group_count; i++) {
		struct load_compared *compared = &comparison->groups[comparison->count++];

		compared->a = &a->groups[i];
		compared->b = find(b, &a->groups[i].key);
		if (compared->b)
			compare_groups(comparison, compared);
	}
	for (size_t i = 0; i < b->group_count; i++)
		if (!find(a, &b->groups[i].key))
			comparison->groups[comparison->count++].b = &b->groups[i];
	return 0;
}

void load_comparison_release(struct load_comparison *comparison)
{
	free(comparison->groups);
	comparison->groups = NULL;
	comparison->count = 0;
}

static const struct load_group_key *key_of(const struct load_compared *compared)
{
	return compared->a ? &compared->a->key : &compared->b->key;
}

void load_compared_title(char *into, size_t room, const struct load_comparison *comparison,
			 const struct load_compared *compared)
{
	const struct load_group_key *key = key_of(compared);
	bool several = false, again = false;
	char number[16] = "", time[24] = "";

	for (size_t i = 0; i < comparison->count; i++) {
		const struct load_group_key *other = key_of(&comparison->groups[i]);

		if (strcmp(other->cgroup, key->cgroup) || strcmp(other->work, key->work))
			continue;
		several |= other->group_idx != key->group_idx;
		again |= other->group_idx == key->group_idx && other->occurrence != key->occurrence;
	}
	if (several)
		snprintf(number, sizeof(number), " #%u", key->group_idx);
	if (again)
		snprintf(time, sizeof(time), ", time %u", key->occurrence + 1);
	snprintf(into, room, "%s%s%s%s%s", key->cgroup, *key->cgroup ? " " : "", key->work, number,
		 time);
}
