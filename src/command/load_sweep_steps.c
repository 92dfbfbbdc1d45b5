// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/load_sweep_steps.h"

#include <stdio.h>

#include "base/exit_code.h"
#include "base/print.h"
#include "command/load_list.h"

int load_sweep_check(struct load *load, struct sweep *sweep, struct error *error)
{
	struct spec *spec = &load->options.spec;
	int result = topology_read(&load->topology, "/sys", NULL, error);

	if (result >= 0)
		sweep->cpus = cpus_count(&load->topology.usable);
	for (size_t i = 0; result >= 0 && i < sweep->count; i++) {
		struct sweep_step *step = &sweep->steps[i];

		result = spec_set_value(spec, sweep->name, step->text, error);
		if (result >= 0)
			result = plan_check(spec, &load->topology, !load->options.dry_run, error);
		if (result >= 0 && !load->options.dry_run)
			result = cgroups_check(spec, error);
		if (result < 0)
			return error_wrap(error, result, "--sweep, at %s", step->text);
	}
	return result;
}

int load_sweep_print(struct load *load, const struct sweep *sweep,
		     const struct sweep_course *course, struct error *error)
{
	int result = spec_set_value(&load->options.spec, sweep->name, sweep->steps[0].text, error);

	if (result < 0)
		return result;
	print_text(stdout, "%s: %zu steps, each run in %u rounds:", sweep->name, sweep->count,
		   course->rounds_wanted);
	for (size_t i = 0; i < sweep->count; i++)
		print_text(stdout, " %s", sweep->steps[i].text);
	putchar('\n');
	load->options.spec.seed = course->seed;
	result = load_print_plan(&load->options.spec, &load->topology, error);
	return result < 0 ? result : EXIT_DONE;
}

void load_sweep_say_lacking(const struct sweep *sweep)
{
	char asked[40] = "";

	if (sweep->count >= sweep->asked && sweep->count >= KNEE_POINTS_LEAST)
		return;
	if (sweep->count < sweep->asked)
		snprintf(asked, sizeof(asked), ", not %zu", sweep->asked);
	print_text(stderr, "dwell load: --sweep: %zu steps, from %s to %s%s", sweep->count,
		   sweep->steps[0].text, sweep->steps[sweep->count - 1].text, asked);
	if (sweep->count < KNEE_POINTS_LEAST)
		print_text(stderr, ": a knee is looked for from %d on", KNEE_POINTS_LEAST);
	print_text(stderr, "\n");
}
