/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One value of a spec, by its name: "workers", a parameter of a type of work, or either of one
 * group: "front.workers", where what is before the point is the group's cgroup or type. Without it,
 * all groups that have such a value get it, those that an op starts too.
 *
 * "load" is the parameter of open-loop. In a spec without that type it adds a group `background`,
 * with a worker for each CPU that this process may use, so that it is a share of all CPUs.
 */
#ifndef DWELL_LOAD_SPEC_SET_H
#define DWELL_LOAD_SPEC_SET_H

#include "load/spec.h"

#define SPEC_BACKGROUND "background"

/* What a name stands for. */
struct spec_value {
	const struct param *param; /* its kind and limits; of `workers` one of its own */
	unsigned int team;	   /* of `workers`: a multiple of it; 1 of anything else */
	bool is_background;	   /* no group has it: setting it adds one */
};

/* -EINVAL: no group has it, with those that there are; or there are several kinds of it. */
int spec_find_value(const struct spec *spec, const char *name, struct spec_value *ret_value,
		    struct error *error) must_check;

/* `text` as in a spec. -EINVAL with the mistake. */
int spec_set_value(struct spec *spec, const char *name, const char *text,
		   struct error *error) must_check;

#endif
