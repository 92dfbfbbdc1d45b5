// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the report of a worker; and what is one, summed up, judged and shown. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "load/outcome.h"
#include "view/load.h"

/* Checks of every kind, so that all figures are looked at. */
static void ask_for_all(struct spec_checks *checks)
{
	for (const struct check_info *check = check_info; check->key; check++)
		if (check->help && spec_parse_check(checks, check->key,
						    check->kind == CHECK_FLAG	    ? "true"
						    : check->kind == CHECK_DURATION ? "1ms"
										    : "0.5",
						    NULL) < 0)
			abort();
}

static void show(struct run_group *worker_group, const struct spec *spec)
{
	struct topology_part node = {.cpus = {{0xff}}};
	struct topology topology = {.usable = {{0xff}}, .nodes = {&node, 1, 1}};
	struct run run = {.spec = spec,
			  .topology = &topology,
			  .worker_groups = &worker_group,
			  .worker_group_count = 1};
	struct machine machine = {.cpus = 8};
	struct outcome outcome;
	struct output out;

	if (output_init(&out, -1) < 0)
		return;
	if (outcome_make(&outcome, &run, &machine) == 0) {
		load_json(&out, &outcome, false);
		load_table(&out, &outcome, true);
	}
	outcome_release(&outcome);
	output_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);
	struct worker_report *report = (struct worker_report *)(void *)bytes;
	struct group_worker worker = {.received = bytes, .length = size, .complete = true};
	struct spec_work work = {.type = work_types[0]};
	struct run_group worker_group = {.group = {.work = &work, .team_size = 1, .count = 1},
					 .allowed = {{0xf}}};
	struct spec spec;

	memcpy(bytes, data, size);
	if (report_check(bytes, size) == 1) {
		spec_init(&spec);
		ask_for_all(&spec.checks);
		worker_group.worker_group = (struct worker_group){
			.group = &worker_group.group, .workers = &worker, .forked = 1};
		/* full reservoirs take a while: one in sixteen */
		for (int i = 0; i < SAMPLES_STREAMS; i++)
			if (report->tid % 16)
				report->sample_totals[i] %= 1000;
		if (shared_init(&worker_group.worker_group.shared, 1, 1, 1, 0, NULL) == 0)
			show(&worker_group, &spec);
		shared_release(&worker_group.worker_group.shared);
		spec_release(&spec);
	}
	free(bytes);
	return 0;
}
