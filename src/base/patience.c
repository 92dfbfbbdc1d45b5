// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/patience.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

double patience_scale(unsigned int runnable, long cpus)
{
	double factor = cpus < 1 ? 1 : (double)runnable / (double)cpus;

	return factor < 1 ? 1 : factor > PATIENCE_MOST ? PATIENCE_MOST : factor;
}

double patience_factor(void)
{
	cleanup_file FILE *file = fopen("/proc/loadavg", "re");
	unsigned int runnable = 0;

	if (!file || fscanf(file, "%*f %*f %*f %u/", &runnable) != 1)
		return 1;
	return patience_scale(runnable, sysconf(_SC_NPROCESSORS_ONLN));
}

bool patience_is_over(uint64_t began_ns, uint64_t limit_ns, double *factor)
{
	uint64_t waited_ns = clock_monotonic_ns() - began_ns;
	double now;

	if (waited_ns < limit_ns)
		return false;
	now = patience_factor();
	*factor = now > *factor ? now : *factor;
	return (double)waited_ns >= (double)limit_ns * *factor;
}
