/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process of ours, to its end. */
#ifndef DWELL_VERIFY_AWAIT_H
#define DWELL_VERIFY_AWAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "verify/judge.h"

/* Until it has ended, or for that long. False: a signal asks us to end, or waiting fails. */
bool await_process(pid_t pid, uint64_t timeout_ns) must_check;

/* Of a dwell that has ended without a result, and is still to be reaped: a crash is a failure. */
enum verdict await_verdict(pid_t pid);

/*
 * Starts dwell with these words, the first of which is its own name, after which is NULL. It writes
 * to `out`, and its messages nowhere. -1 with an errno: it cannot be started.
 */
pid_t await_start(const char *const *words, int out);

#endif
