/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process was started as, and for whom. */
#ifndef DWELL_BASE_PROCESS_WORDS_H
#define DWELL_BASE_PROCESS_WORDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * "/usr/bin/postgres -D /data": any bytes but NUL, cut where `into` ends. Empty for a kernel
 * thread, and where it is not known, or the process is gone.
 */
void process_command(uint32_t pid, char *into, size_t room);

/* "root" or "uid 1000"; empty where it is not known, or the process is gone. */
void process_user(uint32_t pid, char *into, size_t room);

#endif
