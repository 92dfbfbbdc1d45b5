/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last record of each thread, for those of which the iterator says that nothing has changed
 * (THREAD_UNCHANGED in bpf/config.h).
 */
#ifndef DWELL_CAPTURE_KEPT_THREADS_H
#define DWELL_CAPTURE_KEPT_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/identities.h"
#include "bpf/wire.h"

/* All zeros is empty. */
struct kept_threads {
	struct identities identities;
	struct wire_thread *items;
	size_t room;
	size_t guess; /* where the next one of the walk may be */
	size_t met;   /* in the walk so far */
};

/*
 * A record from the iterator: a WIRE_THREAD is kept, and in place of THREAD_UNCHANGED *record
 * becomes a WIRE_THREAD, valid until the next call; others stay. 0, -ENOMEM, or -EBADMSG for a
 * thread that is not kept.
 */
int kept_threads_take(struct kept_threads *kept, const struct wire_header **record) must_check;

/* The walk has met all there are: forgets the others when they are as many. 0 or -ENOMEM. */
int kept_threads_walked(struct kept_threads *kept) must_check;

void kept_threads_release(struct kept_threads *kept);

#endif
