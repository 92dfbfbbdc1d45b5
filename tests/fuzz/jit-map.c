// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as /tmp/perf-PID.map, in two parts: it is read while it is written. */
#include "harness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/jit_map.h"

static char path[64];

static void tidy_up(void)
{
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_map map = {.pid = (uint32_t)getpid()};
	size_t half = size / 2;
	int fd;

	if (!*path) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		atexit(tidy_up);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, half) != (ssize_t)half)
		abort();
	(void)jit_map_find(&map, 0x1000);
	if (write(fd, data + half, size - half) != (ssize_t)(size - half))
		abort();
	close(fd);
	for (uint64_t address = 1; address; address <<= 4)
		(void)jit_map_find(&map, address);
	(void)jit_map_find(&map, UINT64_MAX);
	if (map.read_bytes > size)
		abort();
	jit_map_release(&map);
	return 0;
}
