// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/map_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/cpu_changes.h"

/* Of each CPU; a power of two. An exec takes about a KiB. */
#define RING_BYTES   (256 << 10)
#define WAKEUP_BYTES (RING_BYTES / 4)

struct ring {
	int fd;
	struct perf_event_mmap_page *head; /* followed by RING_BYTES */
};

struct map_events {
	struct ring *rings;
	size_t count, room;
	int epoll;
	struct cpu_changes changes;
};

/* The largest there is: a mapping with a path of PATH_MAX. */
union record {
	struct perf_event_header header;
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, length, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[];
	} mapped; /* PERF_RECORD_MMAP2 */
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
	} named; /* PERF_RECORD_COMM */
	struct {
		struct perf_event_header header;
		uint32_t pid, parent, tid, parent_tid;
	} task; /* PERF_RECORD_FORK, PERF_RECORD_EXIT */
	uint8_t bytes[1 << 16];
};

static int add_ring(struct map_events *events, int cpu)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = WAKEUP_BYTES,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES;
	struct epoll_event wanted = {.events = EPOLLIN};
	struct ring ring = {.fd = (int)syscall(SYS_perf_event_open, &attributes, -1, cpu, -1,
					       PERF_FLAG_FD_CLOEXEC)};

	if (ring.fd < 0)
		return errno == ENODEV ? 0 : -errno; /* not online */
	ring.head = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
	if (ring.head == MAP_FAILED || epoll_ctl(events->epoll, EPOLL_CTL_ADD, ring.fd, &wanted) ||
	    array_reserve(&events->rings, &events->room, events->count + 1, sizeof(ring)) < 0) {
		int code = errno;

		if (ring.head != MAP_FAILED)
			munmap(ring.head, bytes);
		close(ring.fd);
		return code ? -code : -ENOMEM;
	}
	events->rings[events->count++] = ring;
	return 0;
}

static void release_rings(struct map_events *events)
{
	for (size_t i = 0; i < events->count; i++) {
		munmap(events->rings[i].head, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
		close(events->rings[i].fd);
	}
	events->count = 0;
}

static int add_rings(struct map_events *events)
{
	int result = 0;

	cpu_changes_begin(&events->changes);
	for (int cpu = 0; result == 0 && cpu < get_nprocs_conf(); cpu++)
		result = add_ring(events, cpu);
	return result;
}

struct map_events *map_events_open(void)
{
	struct map_events *events = calloc(1, sizeof(*events));
	int result = events ? 0 : -ENOMEM;

	if (!events)
		return NULL;
	events->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (events->epoll < 0)
		result = -errno;
	if (result == 0)
		result = add_rings(events);
	if (result == 0)
		return events;
	map_events_close(events);
	return NULL;
}

void map_events_close(struct map_events *events)
{
	if (!events)
		return;
	release_rings(events);
	free(events->rings);
	if (events->epoll >= 0)
		close(events->epoll);
	free(events);
}

int map_events_descriptor(const struct map_events *events)
{
	return events->epoll;
}

static void copy_from(const struct ring *ring, uint64_t at, void *into, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)ring->head + ring->head->data_offset;
	size_t begin = at % RING_BYTES;
	size_t first = length < RING_BYTES - begin ? length : RING_BYTES - begin;

	memcpy(into, bytes + begin, first);
	memcpy((uint8_t *)into + first, bytes, length - first);
}

/* The time of the next event, which is the last thing in it. UINT64_MAX: none has come. */
static uint64_t next_time(const struct ring *ring)
{
	uint64_t end = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE), time_ns;
	struct perf_event_header header;

	if (end == ring->head->data_tail)
		return UINT64_MAX;
	copy_from(ring, ring->head->data_tail, &header, sizeof(header));
	copy_from(ring, ring->head->data_tail + header.size - sizeof(time_ns), &time_ns,
		  sizeof(time_ns));
	return time_ns;
}

static void take_mapped(struct map_history *history, const union record *record, uint64_t time_ns)
{
	struct mapping mapping = {
		.start = record->mapped.start,
		.end = record->mapped.start + record->mapped.length,
		.offset = record->mapped.offset,
		.device = (uint64_t)record->mapped.major << 32 | record->mapped.minor,
		.inode = record->mapped.inode,
		.time_ns = time_ns,
		.path = (char *)record->mapped.path,
	};

	/* what lies in no file has an empty path in /proc */
	if (!strcmp(mapping.path, "//anon"))
		mapping.path += strlen(mapping.path);
	if (record->mapped.protection & PROT_EXEC)
		map_history_map(history, record->mapped.pid, &mapping);
}

static void take(struct map_history *history, const union record *record, uint64_t time_ns)
{
	switch (record->header.type) {
	case PERF_RECORD_MMAP2:
		take_mapped(history, record, time_ns);
		break;
	case PERF_RECORD_COMM:
		if (record->header.misc & PERF_RECORD_MISC_COMM_EXEC)
			map_history_exec(history, record->named.pid, time_ns);
		break;
	case PERF_RECORD_FORK: /* also of threads */
		if (record->task.pid != record->task.parent)
			map_history_fork(history, record->task.pid, record->task.parent, time_ns);
		break;
	case PERF_RECORD_EXIT:
		if (record->task.pid == record->task.tid)
			map_history_exit(history, record->task.pid, time_ns);
		break;
	case PERF_RECORD_LOST:
		map_history_forget(history, time_ns);
		break;
	}
}

/* Where that fails the next look tries again; until then nothing is known. */
static void follow_cpus(struct map_events *events, struct map_history *history)
{
	if (!cpu_changes_came(&events->changes))
		return;
	release_rings(events);
	if (add_rings(events) < 0) {
		release_rings(events);
		events->changes.online[0] = '\0';
	}
	map_history_forget(history, clock_monotonic_ns());
}

void map_events_read(struct map_events *events, struct map_history *history)
{
	uint64_t until_ns = clock_monotonic_ns() - MAP_EVENTS_SETTLED_NS;
	static union record record;

	follow_cpus(events, history);

	for (;;) {
		struct ring *next = NULL;
		uint64_t first_ns = until_ns;

		for (size_t i = 0; i < events->count; i++) {
			uint64_t time_ns = next_time(&events->rings[i]);

			if (time_ns < first_ns) {
				first_ns = time_ns;
				next = &events->rings[i];
			}
		}
		if (!next)
			return;
		copy_from(next, next->head->data_tail, &record.header, sizeof(record.header));
		copy_from(next, next->head->data_tail, &record, record.header.size);
		take(history, &record, first_ns);
		__atomic_store_n(&next->head->data_tail, next->head->data_tail + record.header.size,
				 __ATOMIC_RELEASE);
	}
}
