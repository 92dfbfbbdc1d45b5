/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A measurement in the kernel: programs loaded and attached, threads seeded, snapshots read. The
 * one place that holds BPF descriptors. Everything in the kernel goes away with the process that
 * holds the session, however it ends.
 */
#ifndef DWELL_CAPTURE_SESSION_H
#define DWELL_CAPTURE_SESSION_H

#include <stdbool.h>

#include "base/error.h"
#include "bpf/wire.h"
#include "capture/features.h"
#include "capture/target.h"

struct session;

/* Takes each record; 0, or a negative errno that ends the reading. */
struct record_sink {
	int (*record)(void *data, const struct wire_header *record);
	void *data;
};

struct session_facts {
	struct features features;
	int wait_functions; /* kernel functions known by address; 0 = kernel waits not told apart */
};

/*
 * Loads, attaches, and gives every target an account: from here on its time is counted. The targets
 * are only read. Errors explain themselves.
 */
int session_open(struct session **ret_session, const struct targets *targets,
		 struct error *error) must_check;
void session_close(struct session *session);

static inline void cleanup_session_pointer(struct session **session)
{
	session_close(*session);
}

const struct session_facts *session_facts(const struct session *session);

/*
 * One snapshot of all watched threads at one instant, in two steps, because a thread that is about
 * to end has left the process table some time before it leaves its CPU, and only then tells its
 * totals.
 *
 * begin: WIRE_THREAD records, and WIRE_EXIT records of those that ended (also later than the
 * instant). end: the WIRE_INTERVAL since the snapshot before. In between, session_await_ends()
 * while threads are missing that were there before.
 */
int session_snapshot_begin(struct session *session, struct record_sink sink,
			   struct error *error) must_check;
int session_snapshot_end(struct session *session, bool final, struct record_sink sink,
			 struct error *error) must_check;

/*
 * Waits until threads have ended, at most `timeout_ms`, and gives their records. 1: there may be
 * more; 0: nothing came in that time; or a negative errno.
 */
int session_await_ends(struct session *session, int timeout_ms, struct record_sink sink,
		       struct error *error) must_check;

/* Readable when many threads have ended: then call session_drain() without waiting for a snapshot.
 */
int session_event_fd(const struct session *session);
int session_drain(struct session *session, struct record_sink sink, struct error *error) must_check;

#endif
