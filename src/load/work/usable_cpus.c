// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* syscall */
#include "load/work/usable_cpus.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "load/cpus.h"

unsigned int usable_cpus(void)
{
	static unsigned int count;
	struct cpus cpus = {{0}};

	if (!count && syscall(SYS_sched_getaffinity, 0, sizeof(cpus), &cpus) > 0)
		count = cpus_count(&cpus);
	return count ? count : 1;
}
