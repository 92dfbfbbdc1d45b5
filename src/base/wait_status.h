/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a process has ended, in words. */
#ifndef DWELL_BASE_WAIT_STATUS_H
#define DWELL_BASE_WAIT_STATUS_H

#include <stddef.h>

/* "exited with status 1" or "killed by signal 9 (Killed)"; `status` as wait(2) has it. */
#define WAIT_STATUS_BYTES 80
void wait_status_format(char into[WAIT_STATUS_BYTES], int status);

#endif
