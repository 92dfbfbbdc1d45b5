/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a container engine says of its containers: GET /containers/json of Docker's API. */
#ifndef DWELL_SERVE_CONTAINER_ANSWER_H
#define DWELL_SERVE_CONTAINER_ANSWER_H

#include <stddef.h>

#include "base/cleanup.h"

#define CONTAINER_ID_BYTES   13 /* as struct cgroup_names has it, with its NUL */
#define CONTAINER_NAME_BYTES 65

struct container_name {
	char id[CONTAINER_ID_BYTES];
	char name[CONTAINER_NAME_BYTES]; /* container_name_set() */
};

/*
 * Cuts the name between two characters; control characters become '?', invalid bytes U+FFFD. Not
 * text_printable(), which follows the locale: a service has none.
 */
void container_name_set(struct container_name *into, const char *name);

/*
 * Of a whole answer of HTTP; of more than `room` containers the first. How many, or -EBADMSG: it is
 * none, or not of that kind; -EPROTO: the engine answered with an error.
 */
int container_answer_read(const char *bytes, size_t length, struct container_name *into,
			  size_t room) must_check;

#endif
