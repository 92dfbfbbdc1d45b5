/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that has the queues of what is pushed: its whole life. */
#ifndef DWELL_SERVE_PUSH_RUN_H
#define DWELL_SERVE_PUSH_RUN_H

#include <sys/types.h>

#include "serve/push.h"

/*
 * Takes batches from `socket` (struct push_batch) and reports what became of them (struct
 * push_status), until `parent` ends. Files of the queues are in `directory`; -1: in memory. Of what
 * is open only these two stay.
 */
void push_run(const struct push_options *options, int directory, int socket, pid_t parent)
	__attribute__((noreturn));

#endif
