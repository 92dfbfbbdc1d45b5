/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Child processes, on our behalf: one that is about to become another program, and their ends. */
#ifndef DWELL_BASE_FORKED_H
#define DWELL_BASE_FORKED_H

#include <sys/types.h>

/*
 * In the child: it dies with the thread that forked it, whose process is `parent`; Ctrl-C at the
 * terminal is not for it; signals are as at the start of a program, nothing is to be read, and what
 * it writes goes to `out`.
 */
void forked_prepare(pid_t parent, int out, int error);

/* Until it has ended; of no process (-1) nothing is awaited. */
void forked_await(pid_t pid);

/* By SIGKILL; the same. */
void forked_end(pid_t pid);

#endif
