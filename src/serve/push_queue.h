/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batches that wait for an engine, the oldest first: a file each, so that they outlive the process,
 * or in memory where there is no directory or nothing can be written to it.
 */
#ifndef DWELL_SERVE_PUSH_QUEUE_H
#define DWELL_SERVE_PUSH_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/push_protocol.h"

struct push_queue;

struct push_item {
	uint64_t id; /* the queue's */
	char query[PUSH_QUERY_BYTES];
	char *bytes; /* owned by who has the item */
	size_t length;
};

/*
 * `directory` -1: in memory; it is not owned. `name` distinguishes the files of one queue from
 * those of others; it is not copied. Finds those that are there already.
 */
int push_queue_open(struct push_queue **ret_queue, int directory, const char *name,
		    uint64_t max_bytes, struct error *error) must_check;
void push_queue_close(struct push_queue *queue); /* files stay; takes NULL */

/*
 * Takes the bytes of the item, also where it fails. *ret_dropped: how many had to make room, or
 * this one, if it is larger than all room. 0; 1: it is in memory only, as it could not be written,
 * and the error says why; -ENOMEM: it is lost.
 */
int push_queue_add(struct push_queue *queue, struct push_item *item, unsigned int *ret_dropped,
		   struct error *error) must_check;

/*
 * The oldest one, which stays in the queue until push_queue_remove(). 1; 0: there is none;
 * -EBADMSG: its file is not as it was written, and is out of the queue; or another negative errno.
 */
int push_queue_first(struct push_queue *queue, struct push_item *ret_item) must_check;
void push_queue_remove(struct push_queue *queue, uint64_t id);

/* It is not being sent any more, and is the first to go where there is no room. */
void push_queue_put_back(struct push_queue *queue);

uint64_t push_queue_bytes(const struct push_queue *queue);
size_t push_queue_count(const struct push_queue *queue);

/* Files in a directory of queues that none of these queues has. */
size_t push_queue_foreign(int directory, const char *const *names, size_t count);

#endif
