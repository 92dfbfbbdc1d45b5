/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a spec in YAML that others are made of. Used by spec_yaml.c and spec_ops.c alone. */
#ifndef DWELL_LOAD_SPEC_OPS_H
#define DWELL_LOAD_SPEC_OPS_H

#include "load/yaml_reader.h"

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
