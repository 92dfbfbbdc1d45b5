// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */
#include "base/priority.h"

#include <sched.h>
#include <sys/resource.h>

#define PRIORITY 98 /* above all that workers use; 99 is for the kernel's own threads */

bool priority_raise(void)
{
	struct sched_param param = {.sched_priority = PRIORITY};

	if (sched_getscheduler(0) != SCHED_OTHER || getpriority(PRIO_PROCESS, 0) != 0)
		return false;
	return !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

void priority_prefer(void)
{
	struct sched_param param = {.sched_priority = 0};

	if (sched_getscheduler(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == 0 &&
	    sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param) >= 0)
		setpriority(PRIO_PROCESS, 0, -20);
}

void priority_restore(void)
{
	struct sched_param param = {.sched_priority = 0};

	sched_setscheduler(0, SCHED_OTHER, &param);
}
