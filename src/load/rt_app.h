/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of rt-app (JSON: its doc/tutorial.txt), as a spec of groups of the type rt-app. Tasks that
 * have a lock, a condition or the like in common are one group, each other one is its own. libyaml
 * reads them, JSON being YAML: it keeps keys that are there twice, in their order, and knows the
 * line of each, which Jansson does not.
 */
#ifndef DWELL_LOAD_RT_APP_H
#define DWELL_LOAD_RT_APP_H

#include "load/yaml_reader.h"

/* Whether a document is such a file: no spec has the key `tasks`. */
bool rt_app_is(struct yaml_reader *reader, const yaml_node_t *root);

/* Into reader->spec. -EINVAL: an error that says where what is that cannot be done. */
int rt_app_read(struct yaml_reader *reader, const yaml_node_t *root,
		struct error *error) must_check;

/*
 * Makes the comments of JSON, which YAML does not have, blanks, so that every line stays where it
 * is; in texts that begin with a brace or a comment.
 */
void rt_app_blank_comments(char *text);

#endif
