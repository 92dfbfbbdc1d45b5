/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs and of nodes, as files of /sys have them. */
#ifndef DWELL_LOAD_WORK_SYS_LIST_H
#define DWELL_LOAD_WORK_SYS_LIST_H

#include "load/cpus.h"

/* False, and nothing in it: there is no such file, or no such list in it. */
__attribute__((format(printf, 2, 3))) bool sys_list_read(struct cpus *ret_list, const char *path,
							 ...);

#endif
