// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/machine_time.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"

/* What follows the name in a line of the file. */
static bool parse(const char *text, struct machine_time *ret_time)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	if (sscanf(text, " %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle,
		   &iowait, &irq, &softirq, &steal) != 8)
		return false;
	*ret_time = (struct machine_time){
		.busy_ns = (user + nice + system + irq + softirq + steal) * tick_ns,
		.stolen_ns = steal * tick_ns,
	};
	return true;
}

#define LINE_BYTES 512 /* ten numbers of 20 digits at most, in those that are read */

int machine_time_read(struct machine_time *ret_time, const char *path)
{
	cleanup_file FILE *file = fopen(path, "re");
	char line[LINE_BYTES];

	if (!file)
		return -errno;
	return fgets(line, sizeof(line), file) && !strncmp(line, "cpu ", 4) &&
			       parse(line + 4, ret_time)
		       ? 0
		       : -EINVAL;
}

int machine_time_read_cpus(struct machine_time *ret_times, unsigned int count, const char *path)
{
	cleanup_file FILE *file = fopen(path, "re");
	char line[LINE_BYTES];
	unsigned int cpu;
	int used;

	memset(ret_times, 0, count * sizeof(*ret_times));
	if (!file)
		return -errno;
	/* theirs come first; a line with more than fits in is one of interrupts */
	while (fgets(line, sizeof(line), file) && !strncmp(line, "cpu", 3))
		if (sscanf(line, "cpu%u%n", &cpu, &used) == 1 && cpu < count &&
		    !parse(line + used, &ret_times[cpu]))
			return -EINVAL;
	return 0;
}
