// SPDX-License-Identifier: GPL-2.0-or-later
/* docs/formats/json.md is the contract. */
#include <math.h>

#include "base/json.h"
#include "view/compare.h"

static const char *const wakes_keys[] = {
	[LOAD_WAKES_NONE] = NULL,
	[LOAD_WAKES_RESUME] = "resume",
	[LOAD_WAKES_TO_RUN] = "wake_to_run",
};

static void add_side(struct json *json, const char *key, const struct load_side *side,
		     const char *path)
{
	json_object_begin(json, key);
	json_add_string(json, "path", path);
	json_add_u64(json, "runs", side->runs);
	json_add_u64(json, "failed", side->failed);
	json_object_begin(json, "left_out");
	json_add_u64(json, "not_ended", side->left_out.unended);
	json_add_u64(json, "lacking_workers", side->left_out.lacking);
	json_add_u64(json, "without_report", side->left_out.unwritten);
	json_object_end(json);
	json_object_end(json);
}

static void add_values(struct json *json, const char *key, const struct load_facts *facts,
		       const char *what)
{
	json_array_begin(json, key);
	for (size_t i = 0; i < facts->count; i++)
		if (!strcmp(facts->items[i].what, what))
			json_add_string(json, NULL, facts->items[i].value);
	json_array_end(json);
}

static void add_differences(struct json *json, const struct load_facts *a,
			    const struct load_facts *b)
{
	size_t position = 0;
	const char *what;

	json_array_begin(json, "differences");
	while ((what = load_facts_differing(a, b, &position))) {
		json_object_begin(json, NULL);
		json_add_string(json, "what", what);
		add_values(json, "a", a, what);
		add_values(json, "b", b, what);
		json_object_end(json);
	}
	json_array_end(json);
}

static void add_set(struct json *json, const char *key, const struct welch_set *set)
{
	if (!set->count) {
		json_add_null(json, key);
		return;
	}
	json_object_begin(json, key);
	json_add_u64(json, "runs", set->count);
	json_add_double(json, "mean", set->mean);
	json_add_double(json, "min", set->min);
	json_add_double(json, "max", set->max);
	json_object_end(json);
}

static void add_metric(struct json *json, enum load_metric metric, const struct load_change *change)
{
	json_object_begin(json, NULL);
	json_add_string(json, "metric", load_metrics[metric].key);
	json_add_string(json, "unit", load_metric_base(metric));
	json_add_string(json, "better", load_metrics[metric].higher_is_better ? "high" : "low");
	add_set(json, "a", &change->a);
	add_set(json, "b", &change->b);
	json_add_double(json, "delta", change->delta);
	json_add_double(json, "change", change->relative);
	json_add_double(json, "p", change->p);
	if (change->a.count > 1 && change->b.count > 1)
		json_add_bool(json, "disjoint", change->disjoint);
	else
		json_add_null(json, "disjoint");
	json_object_begin(json, "gate");
	json_add_double(json, "absolute", change->gate.absolute);
	json_add_double(json, "relative", change->gate.relative);
	json_object_end(json);
	json_add_text(json, "verdict", compare_verdicts[change->verdict]);
	json_object_end(json);
}

static void add_wakes(struct json *json, const struct load_compared *compared)
{
	if (compared->wakes_differ) {
		json_add_null(json, "wakes");
		return;
	}
	json_add_text(json, "wakes",
		      wakes_keys[compared->a->wakes != LOAD_WAKES_NONE ? compared->a->wakes
								       : compared->b->wakes]);
}

static void add_group(struct json *json, const struct load_compared *compared)
{
	const struct load_group_key *key = compared->a ? &compared->a->key : &compared->b->key;
	bool both = compared->a && compared->b;

	json_object_begin(json, NULL);
	json_add_text(json, "cgroup", key->cgroup);
	json_add_u64(json, "group_idx", key->group_idx);
	json_add_string(json, "work", key->work);
	json_add_u64(json, "occurrence", key->occurrence);
	json_add_string(json, "in", both ? "both" : compared->a ? "a" : "b");
	if (both) {
		add_wakes(json, compared);
		json_add_bool(json, "wakes_differ", compared->wakes_differ);
		add_differences(json, &compared->a->facts, &compared->b->facts);
		json_array_begin(json, "metrics");
		for (int i = 0; i < LOAD_METRICS; i++)
			add_metric(json, (enum load_metric)i, &compared->changes[i]);
		json_array_end(json);
	}
	json_object_end(json);
}

void compare_json(struct output *out, const struct load_comparison *comparison,
		  const char *const paths[2])
{
	struct json json = {.out = out};

	json_object_begin(&json, NULL);
	json_add_string(&json, "type", "comparison");
	json_add_string(&json, "of", "load");
	json_add_u64(&json, "version", 1);
	add_side(&json, "a", comparison->a, paths[0]);
	add_side(&json, "b", comparison->b, paths[1]);
	json_add_bool(&json, "repeated", load_comparison_repeated(comparison));
	add_differences(&json, &comparison->a->facts, &comparison->b->facts);
	json_array_begin(&json, "groups");
	for (size_t i = 0; i < comparison->count; i++)
		add_group(&json, &comparison->groups[i]);
	json_array_end(&json);
	json_add_u64(&json, "worse", comparison->verdicts[LOAD_WORSE]);
	json_add_u64(&json, "better", comparison->verdicts[LOAD_BETTER]);
	json_add_u64(&json, "same", comparison->verdicts[LOAD_SAME]);
	json_add_u64(&json, "one_side_only", comparison->verdicts[LOAD_UNKNOWN]);
	json_object_end(&json);
	output_char(out, '\n');
}
