/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals the scheduler (SIGUSR2) when workers are kept from working. The workers look at their
 * own clock, at checkpoints; but one that never runs again cannot, so the parent looks too: no
 * progress for 2 s, and runnable, neither asleep because it asked to, nor waiting for another
 * worker, nor frozen.
 */
#ifndef DWELL_LOAD_WATCHDOG_H
#define DWELL_LOAD_WATCHDOG_H

#include "load/run.h"

/* A look at all workers. Returns how many signals were sent, once for each time one is stuck. */
uint64_t watchdog_look(struct run *run, uint64_t now_ns);

/* Reports how many there were besides those that it has reported one by one. */
void watchdog_end(struct run *run);

#endif
