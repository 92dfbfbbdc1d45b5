// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include "base/kernel_text.h"
#include "scheduler/scheduler.h"

/* x86 says "model name", others "Model" or nothing. */
static void read_cpu_model(char *into, size_t room)
{
	cleanup_file FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	*into = '\0';
	while (file && !*into && fgets(line, sizeof(line), file)) {
		const char *colon = strstr(line, ": ");

		if (colon && (!strncmp(line, "model name", 10) || !strncmp(line, "Model", 5)))
			snprintf(into, room, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
	}
}

void machine_read(struct machine *machine, const struct topology *topology)
{
	struct utsname name;
	struct sysinfo info;

	*machine = (struct machine){
		.cpus = cpus_count(&topology->usable),
		.cpus_online = (unsigned int)get_nprocs(),
		.llcs = (unsigned int)topology->llcs.count,
		.nodes = (unsigned int)topology->nodes.count,
		.cores = (unsigned int)topology->cores.count,
	};
	if (!uname(&name)) {
		snprintf(machine->kernel, sizeof(machine->kernel), "%s", name.release);
		snprintf(machine->version, sizeof(machine->version), "%s", name.version);
		snprintf(machine->architecture, sizeof(machine->architecture), "%.31s",
			 name.machine);
	}
	if (!sysinfo(&info))
		machine->memory_bytes = (uint64_t)info.totalram * info.mem_unit;
	read_cpu_model(machine->cpu_model, sizeof(machine->cpu_model));
	scheduler_in_use(machine->scheduler, sizeof(machine->scheduler));
	kernel_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", machine->governor,
		    sizeof(machine->governor));
}

bool machine_numa_migrated(uint64_t *ret_pages)
{
	cleanup_file FILE *file = fopen("/proc/vmstat", "re");
	char name[64];
	unsigned long long value;

	while (file && fscanf(file, "%63s %llu", name, &value) == 2)
		if (!strcmp(name, "numa_pages_migrated")) {
			*ret_pages = value;
			return true;
		}
	return false;
}
