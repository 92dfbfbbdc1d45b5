// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/past_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc_stat.h"
#include "symbol/map_events.h"
#include "symbol/map_history.h"
#include "symbol/mappings.h"
#include "symbol/opener.h"

/* What processes had mapped; NULL: it is not known. */
static bool follows_processes;
static struct map_events *map_events;
static struct map_history *map_history;

void opener_follow_processes(void)
{
	follows_processes = true;
}

int opener_watch(void)
{
	map_history = follows_processes ? map_history_new() : NULL;
	map_events = map_history ? map_events_open() : NULL;
	if (map_events)
		return map_events_descriptor(map_events);
	map_history_free(map_history);
	map_history = NULL;
	return -1;
}

void opener_tend(void)
{
	map_events_read(map_events, map_history);
}

/* Then all is known that had happened by that time. */
static void settle(uint64_t time_ns)
{
	const struct timespec settling = {.tv_nsec = MAP_EVENTS_SETTLED_NS};

	if (clock_monotonic_ns() < time_ns + MAP_EVENTS_SETTLED_NS)
		nanosleep(&settling, NULL);
	map_events_read(map_events, map_history);
}

bool past_maps_has(uint32_t pid, uint64_t time_ns)
{
	if (!map_history || !time_ns)
		return false;
	settle(time_ns);
	return !map_history_is_now(map_history, pid, time_ns);
}

struct opener_unchanged past_maps_unchanged(uint32_t pid, uint64_t time_ns)
{
	struct opener_unchanged unchanged = {0};

	if (!map_history)
		return unchanged;
	settle(time_ns);
	unchanged.known_ns = clock_monotonic_ns() - MAP_EVENTS_SETTLED_NS;
	unchanged.lost_ns = map_history_unchanged(map_history, pid, time_ns, &unchanged.since_ns,
						  &unchanged.until_ns);
	unchanged.changes_fast = map_history_has_now(map_history, pid);
	return unchanged;
}

bool past_maps_changed(uint32_t pid, uint64_t time_ns)
{
	uint64_t since_ns, until_ns;

	if (!map_history)
		return false;
	return map_history_unchanged(map_history, pid, time_ns, &since_ns, &until_ns) || until_ns ||
	       map_history_has_now(map_history, pid);
}

uint64_t past_maps_groups(uint64_t since_ns, uint8_t *ret_bits)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!map_history)
		return 0;
	map_events_read(map_events, map_history);
	map_history_groups(map_history, since_ns, ret_bits);
	return now_ns - MAP_EVENTS_SETTLED_NS;
}

static FILE *open_maps(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", proc_living_thread(pid));
	return fopen(path, "re");
}

/* As map_history_now. */
static int read_maps_now(void *data, uint32_t pid, struct mappings *mappings)
{
	uint64_t time_ns = clock_monotonic_ns();
	cleanup_file FILE *file = open_maps(pid);
	int result;

	(void)data;
	if (!file)
		return -errno;
	result = mappings_read(mappings, file);
	settle(clock_monotonic_ns());
	return result < 0 || map_history_is_now(map_history, pid, time_ns) ? result : -ESRCH;
}

/* From now on its map is in the history, at whatever time. */
static int adopt_maps_now(uint32_t pid)
{
	cleanup_mappings struct mappings mappings = {0};
	int result = read_maps_now(NULL, pid, &mappings);

	if (result == 0)
		map_history_adopt(map_history, pid, &mappings, clock_monotonic_ns());
	return result == -ENOMEM ? result : 0;
}

/* As /proc/PID/maps would have them. The descriptor, or a negative errno. */
static int write_maps(const struct mappings *mappings)
{
	int fd = file_in_memory("maps");
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	cleanup_file FILE *file = copy < 0 ? NULL : fdopen(copy, "w");

	if (!file) {
		cleanup_close_fd(&fd);
		return -ENOMEM;
	}
	for (size_t i = 0; i < mappings->count; i++)
		mapping_write(&mappings->items[i], file);
	if (fflush(file) || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -EIO;
	}
	return fd;
}

int past_maps_open(uint32_t pid, uint64_t time_ns)
{
	cleanup_mappings struct mappings mappings = {0};
	uint32_t lacking = map_history_lacking(map_history, pid, time_ns);
	int result = lacking ? adopt_maps_now(lacking) : 0;

	if (result == 0)
		result =
			map_history_find(map_history, pid, time_ns, read_maps_now, NULL, &mappings);
	return result < 0 ? result : write_maps(&mappings);
}

int past_maps_open_differences(uint32_t pid, uint64_t from_ns, uint64_t time_ns)
{
	cleanup_mappings struct mappings mappings = {0};
	int result =
		map_history ? map_history_differences(map_history, pid, from_ns, time_ns, &mappings)
			    : -ENOENT;

	return result < 0 ? result : write_maps(&mappings);
}

#define ANCESTORS_MAX 16

uint32_t past_maps_viewer(uint32_t pid, uint64_t time_ns)
{
	/* pids are used again: one may seem to be its own ancestor */
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		if (!map_history || !pid || map_history_is_now(map_history, pid, time_ns))
			return pid;
		pid = map_history_parent(map_history, pid, time_ns);
	}
	return 0;
}

const char *past_maps_program(uint32_t pid, uint64_t time_ns)
{
	return map_history_program(map_history, pid, time_ns);
}

bool past_maps_followed(void)
{
	return map_history;
}
