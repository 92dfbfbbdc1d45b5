/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell load --sweep`: one number of a spec at several values, each run a process of its own. */
#ifndef DWELL_COMMAND_LOAD_SWEEP_H
#define DWELL_COMMAND_LOAD_SWEEP_H

#include "command/load_here.h"

/* The options have been parsed. An exit code; what went wrong has been printed. */
int load_sweep(struct load *load);

#endif
