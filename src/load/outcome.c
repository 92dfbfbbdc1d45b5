// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/outcome.h"

#include <errno.h>

#include "load/phases.h"

/* NULL: out of memory. */
static struct summary_place *make_places(const struct run *run, const struct topology_parts *parts)
{
	struct summary_place *places =
		calloc(run->worker_group_count * parts->count + 1, sizeof(*places));

	for (size_t i = 0; places && i < run->worker_group_count; i++)
		summary_places(&places[i * parts->count], run->worker_groups[i], parts);
	return places;
}

static int make_phases(struct outcome *outcome)
{
	const struct run *run = outcome->run;
	size_t groups = run->worker_group_count;
	int result = 0;

	outcome->phase_summaries =
		calloc(run->held_count * groups + 1, sizeof(*outcome->phase_summaries));
	if (!outcome->phase_summaries)
		return -ENOMEM;
	for (size_t i = 0; result >= 0 && i < run->held_count * groups; i++)
		result = phases_summarize(run->worker_groups[i % groups],
					  (unsigned int)(i / groups), &outcome->phase_summaries[i]);
	return result;
}

int outcome_make(struct outcome *outcome, const struct run *run, const struct machine *machine)
{
	int result = 0;

	*outcome = (struct outcome){.run = run, .machine = *machine};
	pressure_between(&outcome->pressure, &run->before, &run->after);
	outcome->has_steal_clock = outcome->pressure.measured && run->after.machine.stolen_ns;
	outcome->summaries = calloc(run->worker_group_count + 1, sizeof(*outcome->summaries));
	if (!outcome->summaries)
		return -ENOMEM;
	for (size_t i = 0; result >= 0 && i < run->worker_group_count; i++) {
		result = summary_make(run->worker_groups[i], &outcome->summaries[i]);
		if (result >= 0)
			summary_add_crossings(&outcome->summaries[i], run->worker_groups[i],
					      run->topology);
	}
	outcome->llcs = make_places(run, &run->topology->llcs);
	outcome->nodes = make_places(run, &run->topology->nodes);
	if (result >= 0)
		result = outcome->llcs && outcome->nodes ? make_phases(outcome) : -ENOMEM;
	return result < 0 ? result
			  : checks_judge(run, outcome->summaries, &outcome->pressure,
					 &outcome->check_results);
}

void outcome_release(struct outcome *outcome)
{
	free(outcome->summaries);
	free(outcome->llcs);
	free(outcome->nodes);
	free(outcome->phase_summaries);
	free(outcome->observed);
	free(outcome->blames);
	free(outcome->trace);
	check_results_release(&outcome->check_results);
	*outcome = (struct outcome){.run = NULL};
}
