// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/pressure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"

static uint64_t time_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_usec * 1000;
}

static uint64_t used_by(int who)
{
	struct rusage usage;

	return getrusage(who, &usage) < 0 ? 0 : time_of(&usage.ru_utime) + time_of(&usage.ru_stime);
}

static bool read_waiting(uint64_t *ret_ns)
{
	cleanup_file FILE *file = fopen("/proc/pressure/cpu", "re");
	unsigned long long us;

	/* "Not supported" where the kernel was booted with psi=0 */
	if (!file || fscanf(file, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &us) != 1)
		return false;
	*ret_ns = us * 1000;
	return true;
}

static void read_cpus(struct pressure_mark *mark, unsigned int cpu_count)
{
	if (!cpu_count)
		return;
	mark->cpus = calloc(cpu_count, sizeof(*mark->cpus));
	if (mark->cpus && machine_time_read_cpus(mark->cpus, cpu_count, MACHINE_TIME) < 0)
		pressure_mark_release(mark);
	mark->cpu_count = mark->cpus ? cpu_count : 0;
}

void pressure_mark(struct pressure_mark *mark, unsigned int cpu_count, uint64_t beside_ns,
		   uint64_t throttled_ns)
{
	pressure_mark_release(mark);
	*mark = (struct pressure_mark){.at_ns = clock_monotonic_ns(), .beside_ns = beside_ns};
	mark->measured = machine_time_read(&mark->machine, MACHINE_TIME) >= 0;
	read_cpus(mark, cpu_count);
	mark->own_ns = used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN);
	mark->has_waiting = read_waiting(&mark->waiting_ns);
	mark->throttled_ns = throttled_ns;
}

void pressure_mark_release(struct pressure_mark *mark)
{
	free(mark->cpus);
	mark->cpus = NULL;
	mark->cpu_count = 0;
}

uint64_t pressure_busy_ns(const struct pressure_mark *before, const struct pressure_mark *after,
			  unsigned int cpu)
{
	struct machine_time passed;

	return cpu < before->cpu_count && cpu < after->cpu_count &&
			       machine_time_since(&passed, &before->cpus[cpu], &after->cpus[cpu])
		       ? passed.busy_ns
		       : 0;
}

void pressure_between(struct pressure *pressure, const struct pressure_mark *before,
		      const struct pressure_mark *after)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct machine_time passed;
	uint64_t used_ns;

	*pressure = (struct pressure){.elapsed_ns = after->at_ns - before->at_ns,
				      .throttled_ns = after->throttled_ns - before->throttled_ns};
	if (cpus < 1 || !before->measured || !after->measured ||
	    !machine_time_since(&passed, &before->machine, &after->machine))
		return;
	pressure->measured = true;
	pressure->cpu_ns = pressure->elapsed_ns * (uint64_t)cpus;
	pressure->own_ns = after->own_ns - before->own_ns;
	/* less than before: it has ended, and is a child of ours or was not to be asked any more */
	if (after->beside_ns > before->beside_ns)
		pressure->own_ns += after->beside_ns - before->beside_ns;
	pressure->busy_ns = passed.busy_ns;
	pressure->stolen_ns = passed.stolen_ns;
	used_ns = pressure->own_ns + pressure->stolen_ns;
	pressure->others_ns = passed.busy_ns > used_ns ? passed.busy_ns - used_ns : 0;
	pressure->has_waiting = before->has_waiting && after->has_waiting;
	if (pressure->has_waiting)
		pressure->waiting_ns = after->waiting_ns - before->waiting_ns;
}

double pressure_lacked(const struct pressure *pressure, unsigned int wanted)
{
	double all, left;

	if (!pressure->measured || !pressure->elapsed_ns || !wanted)
		return 0;
	all = (double)pressure->cpu_ns / (double)pressure->elapsed_ns;
	left = all * (1 - pressure_taken(pressure));
	return fmax(0, 1 - left / fmin(wanted, all));
}
