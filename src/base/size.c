// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/size.h"

#include <stdio.h>

#include "base/cleanup.h"

void size_format(char *into, size_t room, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1023.95 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(into, room, unit && value < 99.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
