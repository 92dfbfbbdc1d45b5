// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */
#include "base/priority.h"

#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"

#define PRIORITY      98 /* above all that workers use; 99 is for the kernel's own threads */

#define NICE_CALM     (-10)
#define NICE_BUSY     (-20)
#define MANY_RUNNABLE 8 /* for each CPU */

static bool is_preferred;  /* by priority_prefer() */
static int usual_slack_ns; /* of timers, before priority_raise(); 0: it was not called */

bool priority_raise(void)
{
	struct sched_param param = {.sched_priority = PRIORITY};

	if (sched_getscheduler(0) != SCHED_OTHER || getpriority(PRIO_PROCESS, 0) != 0)
		return false;
	/* not that of a process that was forked by one with a priority */
	if (!usual_slack_ns)
		usual_slack_ns = prctl(PR_GET_TIMERSLACK);
	return !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

void priority_forked(void)
{
	if (usual_slack_ns > 0)
		prctl(PR_SET_TIMERSLACK, usual_slack_ns);
}

bool priority_raise_all(void)
{
	struct sched_param param = {.sched_priority = 1};

	return !sched_setscheduler(0, SCHED_FIFO, &param);
}

void priority_prefer(void)
{
	struct sched_param param = {.sched_priority = 0};

	is_preferred = sched_getscheduler(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == 0 &&
		       sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param) >= 0 &&
		       setpriority(PRIO_PROCESS, 0, NICE_BUSY) >= 0;
}

bool priority_hurry(void)
{
	struct sched_param param = {.sched_priority = 1};

	return sched_getscheduler(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == 0 &&
	       sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) >= 0;
}

/* In the machine; unknown: none. */
static double runnable_for_each_cpu(void)
{
	cleanup_file FILE *file = fopen("/proc/loadavg", "re");
	unsigned int runnable = 0;

	if (!file || fscanf(file, "%*s %*s %*s %u", &runnable) != 1)
		return 0;
	return (double)runnable / get_nprocs();
}

void priority_adapt(bool is_late)
{
	int nice = is_preferred ? getpriority(PRIO_PROCESS, 0) : 0;

	if (nice == NICE_CALM && is_late)
		setpriority(PRIO_PROCESS, 0, NICE_BUSY);
	else if (nice == NICE_BUSY && !is_late && runnable_for_each_cpu() < MANY_RUNNABLE)
		setpriority(PRIO_PROCESS, 0, NICE_CALM);
}

void priority_restore(void)
{
	struct sched_param param = {.sched_priority = 0};

	sched_setscheduler(0, SCHED_OTHER, &param);
}
