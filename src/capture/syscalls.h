/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one list of what blocking in a system call means; the numbers are the build architecture's.
 */
#ifndef DWELL_CAPTURE_SYSCALLS_H
#define DWELL_CAPTURE_SYSCALLS_H

#include "bpf/config.h"

/* Fills classes[number] with enum syscall_class; what the list does not name is SYSCALL_OTHER. */
void syscalls_classify(volatile __u8 classes[SYSCALL_TABLE_SIZE]);

#endif
