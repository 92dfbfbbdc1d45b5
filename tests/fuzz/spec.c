// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as a spec; and what is one, planned on a machine of eight CPUs. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "load/plan.h"
#include "load/spec_yaml.h"

/* Two threads to a core, two caches, two nodes and one without CPUs. */
static void make_machine(struct topology *machine)
{
	static struct topology_part llcs[2], nodes[3], cores[4];

	*machine = (struct topology){
		.llcs = {llcs, 2, 2}, .nodes = {nodes, 3, 3}, .cores = {cores, 4, 4}};
	for (unsigned int cpu = 0; cpu < 8; cpu++) {
		cpus_add(&machine->usable, cpu);
		cpus_add(&llcs[cpu / 4].cpus, cpu);
		cpus_add(&nodes[cpu / 4].cpus, cpu);
		cpus_add(&cores[cpu / 2].cpus, cpu);
	}
	for (unsigned int i = 0; i < 4; i++)
		cores[i].id = i;
	llcs[1].id = nodes[1].id = 1;
	nodes[2].id = 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct error error = {""};
	struct topology machine;
	struct spec spec;
	int result;

	memcpy(text, data, size);
	text[size] = '\0';
	make_machine(&machine);
	spec_init(&spec);
	result = spec_read_text(&spec, text, "spec", &error);
	if (result >= 0)
		result = plan_check(&spec, &machine, false, &error);
	/* each failure says why */
	if (result < 0 && !*error.text)
		abort();
	spec_release(&spec);
	free(text);
	return 0;
}
