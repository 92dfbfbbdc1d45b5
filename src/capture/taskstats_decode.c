// SPDX-License-Identifier: GPL-2.0-or-later
/* What needs no netlink: it is there also in a dwell without taskstats. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/duration.h"
#include "capture/taskstats.h"

/*
 * Offsets in struct taskstats. Not offsetof(): fields are appended, so a kernel may be older or
 * newer than our header, and a header may be of the version with the wrong layout.
 */
enum {
	OFFSET_VERSION = 0,
	OFFSET_EXIT_CODE = 4,
	OFFSET_RUN_REAL = 64,
	OFFSET_RUN_VIRTUAL = 72,
	OFFSET_COMM = 80, /* 32 bytes, of which the kernel uses 16 */
	OFFSET_PID = 128,
	OFFSET_PARENT = 132,
	OFFSET_ELAPSED_US = 144,
	OFFSET_UTIME_US = 152,
	OFFSET_STIME_US = 160,
	OFFSET_MINOR_FAULTS = 168,
	OFFSET_MAJOR_FAULTS = 176,
	OFFSET_READ_BYTES = 248,
	OFFSET_WRITE_BYTES = 256,
	OFFSET_VOLUNTARY = 272,
	OFFSET_INVOLUNTARY = 280,
	SMALLEST = 288,
	OFFSET_PROCESS = 368, /* version 12 */
};

/* A count, then a total, by enum wire_delay_kind. */
static const struct {
	size_t offset;
	unsigned int version;
} delays[WIRE_DELAYS_COUNT] = {
	[WIRE_DELAY_CPU] = {16, 1},	   [WIRE_DELAY_BLOCK_IO] = {32, 1},
	[WIRE_DELAY_SWAP_IN] = {48, 1},	   [WIRE_DELAY_RECLAIM] = {312, 7},
	[WIRE_DELAY_THRASHING] = {328, 9}, [WIRE_DELAY_COMPACTION] = {352, 11},
	[WIRE_DELAY_COPY] = {400, 13},	   [WIRE_DELAY_IRQ] = {416, 14},
};

/* The payload is only 4-byte aligned. */
static uint64_t u64_at(const void *bytes, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)bytes + offset, sizeof(value));
	return value;
}

static uint32_t u32_at(const void *bytes, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)bytes + offset, sizeof(value));
	return value;
}

bool taskstats_decode(const void *bytes, size_t length, struct taskstats_reading *ret_reading)
{
	uint16_t version;

	if (length < SMALLEST)
		return false;
	memcpy(&version, bytes, sizeof(version));
	if (version == TASKSTATS_INCOMPATIBLE)
		return false;
	*ret_reading = (struct taskstats_reading){
		.tid = u32_at(bytes, OFFSET_PID),
		.parent_pid = u32_at(bytes, OFFSET_PARENT),
		.elapsed_ns = u64_at(bytes, OFFSET_ELAPSED_US) * NS_PER_US,
		.utime_ns = u64_at(bytes, OFFSET_UTIME_US) * NS_PER_US,
		.stime_ns = u64_at(bytes, OFFSET_STIME_US) * NS_PER_US,
		.voluntary = u64_at(bytes, OFFSET_VOLUNTARY),
		.involuntary = u64_at(bytes, OFFSET_INVOLUNTARY),
		.exit_code = (int32_t)u32_at(bytes, OFFSET_EXIT_CODE),
		.delays =
			{
				.tid = u32_at(bytes, OFFSET_PID),
				.version = version,
				.run_real_ns = u64_at(bytes, OFFSET_RUN_REAL),
				.run_virtual_ns = u64_at(bytes, OFFSET_RUN_VIRTUAL),
				.minor_faults = u64_at(bytes, OFFSET_MINOR_FAULTS),
				.major_faults = u64_at(bytes, OFFSET_MAJOR_FAULTS),
				.read_bytes = u64_at(bytes, OFFSET_READ_BYTES),
				.write_bytes = u64_at(bytes, OFFSET_WRITE_BYTES),
			},
	};
	memcpy(ret_reading->comm, (const char *)bytes + OFFSET_COMM, sizeof(ret_reading->comm));
	if (version >= 12 && length >= OFFSET_PROCESS + sizeof(uint32_t))
		ret_reading->pid = u32_at(bytes, OFFSET_PROCESS);
	for (int i = 0; i < WIRE_DELAYS_COUNT; i++) {
		if (version < delays[i].version || length < delays[i].offset + 16)
			continue;
		/* some kernels count a wait from 0 that never began: longer than the thread exists
		 */
		if (u64_at(bytes, delays[i].offset + 8) > ret_reading->elapsed_ns + NS_PER_S)
			continue;
		ret_reading->delays.measured |= 1U << i;
		ret_reading->delays.delays[i].count = u64_at(bytes, delays[i].offset);
		ret_reading->delays.delays[i].total_ns = u64_at(bytes, delays[i].offset + 8);
	}
	return true;
}

static bool kernel_is_before(int major, int minor)
{
	struct utsname name;
	int is_major, is_minor;

	return !uname(&name) && sscanf(name.release, "%d.%d", &is_major, &is_minor) == 2 &&
	       (is_major < major || (is_major == major && is_minor < minor));
}

bool taskstats_delays_counted(void)
{
	cleanup_file FILE *file = fopen("/proc/sys/kernel/task_delayacct", "re");
	int on = 0;

	/* before 5.14 there was no switch, and they were; later: CONFIG_TASK_DELAY_ACCT is not set
	 */
	if (!file)
		return errno == ENOENT && kernel_is_before(5, 14);
	return fscanf(file, "%d", &on) == 1 && on;
}
