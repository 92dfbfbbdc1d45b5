/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages over a Unix socket, with a descriptor: unix(7), SCM_RIGHTS. */
#ifndef DWELL_BASE_PASSING_H
#define DWELL_BASE_PASSING_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* `fd` -1: none goes with it. `flags` of send(2), MSG_NOSIGNAL besides. 0 or a negative errno. */
int passing_send(int socket, const void *bytes, size_t length, int fd, int flags) must_check;

/* *ret_fd, which is closed on exec, or -1, is the caller's. Bytes, 0 at the end, or -errno. */
ssize_t passing_receive(int socket, void *bytes, size_t room, int *ret_fd, int flags) must_check;

#endif
