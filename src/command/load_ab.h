/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell load --ab`: two specs by turns, each run a process of this same program. */
#ifndef DWELL_COMMAND_LOAD_AB_H
#define DWELL_COMMAND_LOAD_AB_H

#include "command/load_here.h"

/* The options have been parsed. An exit code; what went wrong has been printed. */
int load_ab(struct load *load);

#endif
