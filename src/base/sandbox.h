/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights that a process gives up for good. What is not there to be given up is no error. */
#ifndef DWELL_BASE_SANDBOX_H
#define DWELL_BASE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/*
 * If the process is root's, it becomes a user that owns no file and no other process, in no group
 * but those given. Where there are no such users (a user namespace with few ids) it stays who it
 * is.
 */
void sandbox_become_nobody(const gid_t *groups, size_t count);

/* Keeps only the listed capabilities (linux/capability.h); programs started later gain none. */
void sandbox_keep(const int *capabilities, size_t count);

/*
 * The same for a process that reads others'. Without CAP_SYS_PTRACE the kernel lets it read only
 * those that have no capability which it lacks itself: then it keeps all that it has, but in a copy
 * with file capabilities, where that would not help.
 */
void sandbox_keep_to_read(const int *capabilities, size_t count);

/*
 * For a process that only computes and talks over what it has open: another user, no capability, an
 * empty root directory, and no system call that opens, connects, starts or traces anything. Those
 * fail with EPERM. It ends with its parent. False: it has capabilities left, and this kernel has no
 * filter of system calls.
 */
bool sandbox_confine(pid_t parent) must_check;

/* The same, with more system calls, as a server needs them on sockets that others have opened. */
bool sandbox_confine_to(pid_t parent, const int *calls, size_t count) must_check;

/*
 * The same for a client, which finds other machines by their names: its root directory stays, so it
 * can read what everybody may, and it can begin threads.
 */
bool sandbox_confine_client(pid_t parent, const int *calls, size_t count) must_check;

/* For good: setrlimit(2), soft and hard. */
void sandbox_limit(int resource, uint64_t most);

#endif
