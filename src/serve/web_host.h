/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The side that measures, of the process that speaks HTTP: it starts one, and answers it. */
#ifndef DWELL_SERVE_WEB_HOST_H
#define DWELL_SERVE_WEB_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/web.h"
#include "serve/web_protocol.h"

struct web_host;

/*
 * Forks a keeper, which forks the process that serves, and another one when that dies. Serving
 * begins. To be called while nothing is open that they should not have.
 */
int web_host_start(struct web_host **ret_host, const struct web_options *options,
		   struct error *error) must_check;
void web_host_end(struct web_host *host); /* takes NULL */

/* An interval has ended. */
void web_host_beat(struct web_host *host);

/* Readable when there are questions. */
int web_host_descriptor(const struct web_host *host);

/*
 * 1: the next question that makes sense. 0: there is none now. -ECHILD: the process that serves has
 * been killed, and the one that would start it again.
 */
int web_host_next(struct web_host *host, struct web_question *ret_question) must_check;

/* What cannot be sent is lost, and the client hears that there is no answer. */
void web_host_answer(struct web_host *host, const struct web_question *question,
		     unsigned int status, const char *type, const void *bytes, size_t length);

/* The same of a file in memory. */
void web_host_answer_file(struct web_host *host, uint64_t number, unsigned int status,
			  const char *type, int fd, uint64_t length);

#endif
