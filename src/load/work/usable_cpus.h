/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For types that have as many workers as there are CPUs, if nothing else is said. */
#ifndef DWELL_LOAD_WORK_USABLE_CPUS_H
#define DWELL_LOAD_WORK_USABLE_CPUS_H

/*
 * How many this process could use when it first asked: the size of a team and its memory must not
 * differ because a CPU has come or gone. At least 1.
 */
unsigned int usable_cpus(void);

#endif
