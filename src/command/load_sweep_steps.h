/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps of `dwell load --sweep`, before any is run. */
#ifndef DWELL_COMMAND_LOAD_SWEEP_STEPS_H
#define DWELL_COMMAND_LOAD_SWEEP_STEPS_H

#include "command/load_here.h"
#include "load/sweep.h"
#include "view/sweep.h"

/* That the mistakes of each step are found before the first has run. -EINVAL with the first. */
int load_sweep_check(struct load *load, struct sweep *sweep, struct error *error) must_check;

/* `--dry-run`: the values, and the spec as it is at the first of them. EXIT_DONE, or -errno. */
int load_sweep_print(struct load *load, const struct sweep *sweep,
		     const struct sweep_course *course, struct error *error) must_check;

/* Values that are rounded to the same are one step, and a curve of too few shows no knee. */
void load_sweep_say_lacking(const struct sweep *sweep);

#endif
