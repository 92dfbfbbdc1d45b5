// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a struct taskstats. */
#include "harness.h"

#include <stdlib.h>

#include "capture/taskstats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct taskstats_reading reading;

	if (taskstats_decode(data, size, &reading) && reading.delays.version == 15)
		abort();
	return 0;
}
