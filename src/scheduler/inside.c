// SPDX-License-Identifier: GPL-2.0-or-later
#include "scheduler/inside.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"

#define EVENTS_FILE  COUNTERS_DIRECTORY "/root/events"
#define EVENTS_BYTES 4096 /* sysfs writes no more than a page */

/* False: it is not there, because no scheduler is in use or the kernel does not count. */
static bool read_events(char text[EVENTS_BYTES + 1])
{
	cleanup_close int fd = open(EVENTS_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, EVENTS_BYTES);

	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

void scheduler_inside_begin(struct scheduler_inside *inside, bool timed, bool expected)
{
	char text[EVENTS_BYTES + 1];

	*inside = (struct scheduler_inside){
		.exists = access(COUNTERS_DIRECTORY, F_OK) == 0,
		.programs = SCHEDULER_PROGRAMS_INIT,
		.queues = {.unknown = "no scheduler was in use when the run began"},
	};
	if (!timed)
		inside->programs.unknown = "they were not timed (--no-time-ops)";
	if (!inside->exists)
		return;
	scheduler_counters_read(&inside->before, COUNTERS_DIRECTORY);
	inside->in_use = *inside->before.ops != '\0';
	inside->count = scheduler_count_enabled();
	inside->has_events = read_events(text);
	scheduler_events_begin(&inside->events, text);
	/* before the programs: this one takes a while, and theirs are timed from then on */
	if (inside->in_use || expected)
		scheduler_queues_open(&inside->queues);
	scheduler_programs_find(&inside->programs);
}

void scheduler_inside_look(struct scheduler_inside *inside)
{
	char text[EVENTS_BYTES + 1];
	char name[SCHEDULER_NAME_BYTES];
	uint64_t count;

	if (!inside->exists || inside->over)
		return;
	count = scheduler_count_enabled();
	inside->in_use |= count != inside->count;
	if (count != inside->count)
		scheduler_programs_find(&inside->programs);
	if (read_events(text)) {
		inside->has_events = true;
		scheduler_events_take(&inside->events, text, count != inside->count);
	}
	inside->count = count;
	scheduler_in_use(name, sizeof(name));
	if (*name)
		scheduler_queues_look(&inside->queues);
	scheduler_programs_read(&inside->programs);
}

void scheduler_inside_end(struct scheduler_inside *inside)
{
	if (inside->over)
		return;
	scheduler_inside_look(inside);
	if (inside->exists)
		scheduler_counters_read(&inside->after, COUNTERS_DIRECTORY);
	scheduler_programs_stop(&inside->programs);
	scheduler_queues_close(&inside->queues);
	inside->over = true;
}

void scheduler_inside_release(struct scheduler_inside *inside)
{
	scheduler_programs_release(&inside->programs);
	scheduler_queues_release(&inside->queues);
	scheduler_events_release(&inside->events);
}
