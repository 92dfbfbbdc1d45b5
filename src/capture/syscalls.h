/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one list of what blocking in a system call means; the numbers are the build architecture's.
 */
#ifndef DWELL_CAPTURE_SYSCALLS_H
#define DWELL_CAPTURE_SYSCALLS_H

#include <stdbool.h>

#include "bpf/config.h"

/* Fills classes[number] with enum syscall_class; what the list does not name is SYSCALL_OTHER. */
void syscalls_classify(volatile __u8 classes[SYSCALL_TABLE_SIZE]);

/* Whether event loops wait in it, and hardly any other code: epoll, io_uring. */
bool syscalls_is_event_wait(int number);

/* Or for others: in poll() or select(), as programs without a loop do, too; or in one once more. */
bool syscalls_waits_for_descriptors(int number);

bool syscalls_is_futex(int number);

#endif
