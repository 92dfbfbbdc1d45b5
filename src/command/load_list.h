/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell load` can print without running anything. To standard output. */
#ifndef DWELL_COMMAND_LOAD_LIST_H
#define DWELL_COMMAND_LOAD_LIST_H

#include "load/spec.h"
#include "load/topology.h"

/* NULL: everything there is; "checks"; or all about one type or scenario. */
int load_list(const char *subject, struct error *error) must_check;

/* A scenario's YAML. */
int load_print(const char *name, struct error *error) must_check;

/* Of a spec that was checked: which workers there will be, on which CPUs, and what happens when. */
int load_print_plan(const struct spec *spec, const struct topology *topology,
		    struct error *error) must_check;

#endif
