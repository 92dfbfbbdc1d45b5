// SPDX-License-Identifier: GPL-2.0-or-later
#include "load/work/cache.h"

#include <errno.h>

#define LINE 64

int cache_begin(struct worker *worker, uint64_t bytes)
{
	void *buffer = NULL;

	/* zeroed by hand: pages that are not there yet would be faults, not cache misses */
	if (bytes > SIZE_MAX - LINE || posix_memalign(&buffer, LINE, bytes) != 0) {
		worker_fail(worker, "no memory for its %llu bytes", (unsigned long long)bytes);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < bytes && !worker_stopping(); i++)
		((volatile uint8_t *)buffer)[i] = 0;
	worker->state = buffer;
	return 0;
}

void cache_end(struct worker *worker)
{
	free(worker->state);
}

/* Not inlined: the same machine code for all callers, so that a unit costs the same in all types.
 */
__attribute__((noinline)) void cache_touch(struct worker *worker, uint64_t bytes, uint64_t stride,
					   uint64_t n)
{
	volatile uint8_t *buffer = worker->state;
	uint64_t at = 0;

	stride %= bytes;
	for (uint64_t i = 0; i < n; i++) {
		buffer[at]++;
		worker->work_units++;
		/* below 2 * bytes: a subtraction instead of a division */
		at += stride;
		if (at >= bytes)
			at -= bytes;
	}
}
