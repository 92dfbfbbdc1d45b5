/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of a process or thread in its own pid namespace, by which its program knows it. */
#ifndef DWELL_BASE_INNER_PID_H
#define DWELL_BASE_INNER_PID_H

#include <stdint.h>

/* As `pid` itself where /proc does not say (before Linux 4.1). */
uint32_t inner_pid(uint32_t pid);

#endif
