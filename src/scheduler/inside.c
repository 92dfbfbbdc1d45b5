// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/inside.h"

#include <unistd.h>

#include "scheduler/scheduler.h"

#define DIRECTORY "/sys/kernel/sched_ext"

void scheduler_inside_begin(struct scheduler_inside *inside, bool timed)
{
	*inside = (struct scheduler_inside){
		.exists = access(DIRECTORY, F_OK) == 0,
		.programs = SCHEDULER_PROGRAMS_INIT,
	};
	if (!timed)
		inside->programs.unknown = "the programs were not timed (--no-time-ops)";
	if (!inside->exists)
		return;
	inside->count = scheduler_count_enabled();
	scheduler_programs_find(&inside->programs);
}

void scheduler_inside_look(struct scheduler_inside *inside)
{
	uint64_t count;

	if (!inside->exists)
		return;
	count = scheduler_count_enabled();
	if (count != inside->count)
		scheduler_programs_find(&inside->programs);
	inside->count = count;
	scheduler_programs_read(&inside->programs);
}

void scheduler_inside_end(struct scheduler_inside *inside)
{
	if (inside->over)
		return;
	scheduler_inside_look(inside);
	scheduler_programs_stop(&inside->programs);
	inside->over = true;
}

void scheduler_inside_release(struct scheduler_inside *inside)
{
	scheduler_programs_release(&inside->programs);
}
