/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why a thread is where it is, in words: `read:pipe`, `futex:lock`, `page fault:swap-in`. */
#ifndef DWELL_MODEL_REASON_H
#define DWELL_MODEL_REASON_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/wire.h"

/* Longest reason with its NUL. */
#define REASON_BYTES 64

/* Name of a system call by its number on this machine's architecture; NULL = not known. */
const char *syscall_name(int number);

/*
 * Empty for a thread on a CPU. System calls have names only where `native`: another architecture
 * numbers them otherwise.
 */
void reason_format(char *into, size_t room, struct wire_wait_site site, bool native);

#endif
