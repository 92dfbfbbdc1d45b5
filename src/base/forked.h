/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Child processes, on our behalf: one that is about to become another program, and their ends. */
#ifndef DWELL_BASE_FORKED_H
#define DWELL_BASE_FORKED_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

/*
 * In the child: SIGKILL when the thread that forked it ends, whose process is `parent`; if that has
 * ended, now. A change of the user undoes it.
 */
void forked_end_with(pid_t parent);

/*
 * In the child: it dies with the thread that forked it, whose process is `parent`; Ctrl-C at the
 * terminal is not for it; signals are as at the start of a program, nothing is to be read, and what
 * it writes goes to `out`.
 */
void forked_prepare(pid_t parent, int out, int error);

/*
 * In a child that stays this program: of what is open only standard input, output, error and
 * these stay, whose numbers change to 3 and so on. `count` <= FORKED_KEPT. 0 or a negative errno.
 */
#define FORKED_KEPT 16
int forked_keep_only(int *const *fds, size_t count) must_check;

/* In such a child: nothing is to be read, and what it writes to the standard ones is lost. */
void forked_silence(void);

/* Until it has ended: its status, as of wait(2). Of no process (-1) nothing is awaited: -1. */
int forked_await(pid_t pid);

/* By SIGKILL; the same. */
void forked_end(pid_t pid);

#endif
