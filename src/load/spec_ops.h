/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a spec in YAML that others are made of. Used by spec_*.c alone. */
#ifndef DWELL_LOAD_SPEC_OPS_H
#define DWELL_LOAD_SPEC_OPS_H

#include "load/yaml_reader.h"

#define SPEC_MOST_GROUPS 10000 /* and cgroups */

/* Replaces a text by a copy of another. */
int spec_take_text(char **into, const char *text, struct error *error) must_check;

/*
 * The keys of a group of workers, beside the parameters of its type. Some types have a parameter
 * `memory` or `mode`, which these two know by its value; no other key is the name of a parameter.
 */
extern const struct yaml_key spec_work_keys[];

/* An item of `work`, into a struct spec_works. */
int spec_take_work(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		   struct error *error) must_check;

/* An item of `phases`, into a struct spec_phases. */
int spec_take_phase(struct yaml_reader *reader, const yaml_node_t *node, void *into,
		    struct error *error) must_check;

int spec_take_cgroup(struct yaml_reader *reader, const yaml_node_t *node,
		     struct spec_cgroup *cgroup, struct error *error) must_check;
int spec_take_cgroup_name(struct yaml_reader *reader, const yaml_node_t *value,
			  char into[SPEC_NAME_BYTES], struct error *error) must_check;
int spec_take_affinity(struct yaml_reader *reader, const yaml_node_t *value,
		       struct spec_affinity *affinity, struct error *error) must_check;

#endif
