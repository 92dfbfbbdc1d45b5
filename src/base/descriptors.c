// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/descriptors.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit before;
static bool raised;

void descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
		return;
	before = limit;
	limit.rlim_cur = limit.rlim_max;
	raised = !setrlimit(RLIMIT_NOFILE, &limit);
}

void descriptors_restore(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}
