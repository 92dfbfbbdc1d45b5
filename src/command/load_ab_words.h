/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of one run of `dwell load --ab`, from what was given for all. */
#ifndef DWELL_COMMAND_LOAD_AB_WORDS_H
#define DWELL_COMMAND_LOAD_AB_WORDS_H

#include "command/load_options.h"
#include "results/load_pairs.h"

/* In the process of the run that begins: becomes it. Returns where that fails, with errno. */
void load_ab_become(const struct load_options *options, const struct load_pairs *pairs);

#endif
