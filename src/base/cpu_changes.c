// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/cpu_changes.h"

#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/kernel_text.h"

#define LOOK_EVERY_NS NS_PER_S
/* Between its readings the clocks' difference varies by less. */
#define SUSPENDED_LEAST_NS (10 * NS_PER_MS)

void cpu_changes_begin(struct cpu_changes *changes)
{
	(void)kernel_line("/sys/devices/system/cpu/online", changes->online,
			  sizeof(changes->online));
	changes->suspended_ns = clock_suspended_ns();
	changes->looked_ns = clock_monotonic_ns();
}

bool cpu_changes_came(struct cpu_changes *changes)
{
	struct cpu_changes before = *changes;

	if (clock_monotonic_ns() - before.looked_ns < LOOK_EVERY_NS)
		return false;
	cpu_changes_begin(changes);
	return strcmp(before.online, changes->online) != 0 ||
	       changes->suspended_ns > before.suspended_ns + SUSPENDED_LEAST_NS;
}
