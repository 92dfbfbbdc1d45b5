// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/machine_time.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/duration.h"

int machine_time_read(struct machine_time *ret_time, const char *path)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	cleanup_file FILE *file = fopen(path, "re");

	if (!file)
		return -errno;
	if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &iowait, &irq, &softirq, &steal) != 8)
		return -EINVAL;
	*ret_time = (struct machine_time){
		.busy_ns = (user + nice + system + irq + softirq + steal) * tick_ns,
		.stolen_ns = steal * tick_ns,
	};
	return 0;
}
