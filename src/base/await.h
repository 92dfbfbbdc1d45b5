/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A wait inside of a procedure, up to an instant. What a command waits for all the time: loop.h. */
#ifndef DWELL_BASE_AWAIT_H
#define DWELL_BASE_AWAIT_H

#include <poll.h>
#include <stdint.h>

#define NO_DEADLINE UINT64_MAX

/*
 * Until any of the descriptors is ready, or until `deadline_ns` (CLOCK_MONOTONIC); one that has
 * passed allows a look. Returns how many are ready, 0 when the time is over, negative errno.
 */
int await_ready(struct pollfd *fds, nfds_t count, uint64_t deadline_ns);

#endif
