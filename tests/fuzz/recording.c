// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a file. */
#include "harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	harness_show(data, size);
	return 0;
}
