// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "base/await.h"

#include <errno.h>

#include "base/clock.h"

int await_ready(struct pollfd *fds, nfds_t count, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		struct timespec left =
			clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
		int ready = ppoll(fds, count, deadline_ns == NO_DEADLINE ? NULL : &left, NULL);

		if (ready >= 0)
			return ready;
		if (errno != EINTR)
			return -errno;
	}
}
