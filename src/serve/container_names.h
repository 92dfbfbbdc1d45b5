/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of containers from an engine's socket: a process asks it again and again, and one without
 * rights reads each answer, as far as there is room and time for it.
 */
#ifndef DWELL_SERVE_CONTAINER_NAMES_H
#define DWELL_SERVE_CONTAINER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/container_answer.h"

/* Containers whose names are kept. */
#define CONTAINER_NAMES_MAX 1024

struct container_names;

/* Of a path, or unix://PATH; NULL: it is neither, or too long for a socket. */
const char *container_names_path(const char *text);

/* Forks who asks; it connects with the rights that the caller has now. The path is not copied. */
int container_names_start(struct container_names **ret_names, const char *path,
			  struct error *error) must_check;
void container_names_end(struct container_names *names); /* takes NULL */

/* Readable when container_names_work() has something to do. */
int container_names_descriptor(const struct container_names *names);

/* False: the process that asks has been killed, and nothing more will come. */
bool container_names_work(struct container_names *names) must_check;

/* Why there was no answer, if that is new; else NULL. */
const char *container_names_words(struct container_names *names);

/* As struct cgroup_names has its id; "": not known. */
const char *container_names_find(const struct container_names *names, const char *id);

size_t container_names_count(const struct container_names *names);
uint64_t
container_names_failures(const struct container_names *names); /* times without an answer */

#endif
