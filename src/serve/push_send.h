/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that speaks with one engine: its whole life. */
#ifndef DWELL_SERVE_PUSH_SEND_H
#define DWELL_SERVE_PUSH_SEND_H

#include <sys/types.h>

#include "serve/push.h"

/* Whether the library that sends is here: ENOENT, or ENOTSUP where dwell was built without. */
int push_send_check(struct error *error) must_check;

/*
 * Gives up all rights and sends what `socket` brings (struct push_request), one after the other,
 * until `parent` ends. Of what is open only the socket stays.
 */
void push_send_run(const struct push_engine *engine, int socket, pid_t parent)
	__attribute__((noreturn));

#endif
