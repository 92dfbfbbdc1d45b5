/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The side that measures, of the processes that push: it starts them, and gives them figures. */
#ifndef DWELL_SERVE_PUSH_HOST_H
#define DWELL_SERVE_PUSH_HOST_H

#include "serve/push.h"
#include "serve/push_protocol.h"

struct push_counts {
	uint64_t sent, dropped[PUSH_DROPPED_REASONS];
	uint64_t queue_bytes;
};

extern const char *const push_dropped_keys[PUSH_DROPPED_REASONS];

struct push_host;

/*
 * Forks them, while nothing is open that they should not have. Queues are in the directory "push"
 * of `store`, which is made; NULL: in memory. *ret_foreign: files there that are of no queue.
 */
int push_host_start(struct push_host **ret_host, const struct push_options *options,
		    const char *store, size_t *ret_foreign, struct error *error) must_check;
void push_host_end(struct push_host *host); /* takes NULL */

/* Readable when push_host_work() has something to do. False: no process is left that pushes. */
int push_host_descriptor(const struct push_host *host);
bool push_host_work(struct push_host *host) must_check;

/* What there is to say of an engine, if that is new; else NULL. */
const char *push_host_words(struct push_host *host, size_t engine);

/* A batch. It does not wait: what cannot be handed over is dropped and counted. */
void push_host_give(struct push_host *host, size_t engine, const char *query, const void *bytes,
		    size_t length);

/* Sends what there is, and waits until that is done or cannot be; up to `deadline_ns`. */
void push_host_finish(struct push_host *host, uint64_t deadline_ns);

const struct push_counts *push_host_counts(const struct push_host *host, size_t engine);

#endif
