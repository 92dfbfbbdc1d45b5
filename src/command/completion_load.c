// SPDX-License-Identifier: GPL-2.0-or-later
/* What `dwell load` and `dwell verify` have: types of work, scenarios, checks, patterns. */
#include <string.h>

#include "command/completion.h"
#include "load/checks.h"
#include "load/metrics.h"
#include "load/scenarios.h"
#include "load/work_type.h"
#include "verify/pattern.h"

static void offer_types(struct offers *offers)
{
	for (size_t i = 0; work_types[i]; i++)
		offer(offers, work_types[i]->name, work_types[i]->summary);
}

static void offer_choices(struct offers *offers, const struct param *param)
{
	for (size_t i = 0; param->choices && param->choices[i]; i++)
		offer(offers, param->choices[i], NULL);
}

/* TYPE[:NAME=VALUE,...] */
void offer_work(struct offers *offers)
{
	const char *typed = offers_typed(offers), *equals;
	char type[64];
	const struct work_type *found = NULL;
	struct error error;

	if (!strchr(typed, ':')) {
		offer_types(offers);
		return;
	}
	snprintf(type, sizeof(type), "%.*s", (int)strcspn(typed, ":"), typed);
	if (work_type_find(type, &found, &error) < 0)
		return;
	offers_after(offers, ":,");
	typed = offers_typed(offers);
	equals = strchr(typed, '=');
	for (const struct param *param = found->params; param && param->name; param++) {
		size_t length = strlen(param->name);

		if (!equals) {
			offer_with(offers, param->name, "=", param->help);
		} else if ((size_t)(equals - typed) == length &&
			   !strncmp(param->name, typed, length)) {
			offers->kept += length + 1;
			offer_choices(offers, param);
			return;
		}
	}
}

void offer_scenarios(struct offers *offers)
{
	for (const struct scenario *scenario = scenarios; scenario->name; scenario++)
		offer(offers, scenario->name, NULL);
}

void offer_checks(struct offers *offers)
{
	for (const struct check_info *check = check_info; check->key; check++)
		if (check->help)
			offer(offers, check->key, check->help);
}

void offer_metrics(struct offers *offers)
{
	for (size_t i = 0; i < LOAD_METRICS; i++)
		offer_with(offers, load_metrics[i].key, "=", load_metrics[i].help);
}

void offer_metric_list(struct offers *offers)
{
	offers_after(offers, ",");
	for (size_t i = 0; i < LOAD_METRICS; i++)
		offer(offers, load_metrics[i].key, load_metrics[i].help);
}

void offer_subjects(struct offers *offers)
{
	offer_words(offers, "types scenarios checks");
	offer_types(offers);
	offer_scenarios(offers);
}

void offer_patterns(struct offers *offers)
{
	offers_after(offers, ",");
	for (size_t i = 0; pattern_tables[i]; i++)
		for (const struct pattern *pattern = pattern_tables[i]; pattern->name; pattern++)
			offer(offers, pattern->name, pattern->help);
	for (size_t i = 0; call_tables[i]; i++)
		for (const struct call *call = call_tables[i]; call->name; call++)
			offer(offers, call->name, NULL);
}
