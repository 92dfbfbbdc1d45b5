/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel says of sched_ext in its log, and why it threw a scheduler out:
 * scx_ops_disable_workfn() and its successors in kernel/sched/ext.c.
 */
#ifndef DWELL_SCHEDULER_KERNEL_LOG_H
#define DWELL_SCHEDULER_KERNEL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/log_tail.h"

/* /dev/kmsg from now on; -1: not permitted, or not there. */
int kernel_log_open(void);

/*
 * As kernel_log_read(), of what was logged from `since_ns` (CLOCK_MONOTONIC) up to now. The kernel
 * stamps its log by the scheduler's clock, which began with that one and is not slewed: after weeks
 * the two differ by seconds.
 */
void kernel_log_look_back(uint64_t since_ns, struct log_tail *tail);

/* New lines of sched_ext, and the backtraces that follow them. */
void kernel_log_read(int fd, struct log_tail *tail);

/*
 * Why the last scheduler was disabled: "runtime error: qmap: ...". False: the words do not say, or
 * only that it was taken back by its own program.
 */
bool kernel_log_reason(const char *text, char *into, size_t room);

#endif
