/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has the locks that threads have been waiting for at a snapshot: what the lock itself says,
 * read while the thread waits for it. Mutexes of glibc name their owner, and so does any lock with
 * priority inheritance, for the kernel's sake; others do not.
 */
#ifndef DWELL_CAPTURE_LOCK_HOLDERS_H
#define DWELL_CAPTURE_LOCK_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/config.h"
#include "capture/sink.h"
#include "capture/wait_sites.h"

#define LOCK_HOLDERS_MAX 64 /* waits that are looked at: the longest */

struct lock_wait {
	uint64_t origin_ns, since_ns; /* of the thread, and of its wait */
	uint64_t voluntary;	      /* as in struct wire_thread */
	uint32_t tid, pid;
	bool goes_on;
	uint32_t operation; /* of the futex */
	uint64_t address;
	uint64_t asked_ns;    /* instant of the last question */
	uint64_t answered_ns; /* of that which was answered: shortly after it, */
	uint64_t taken_ns;    /* and before this time */
	uint32_t holder_tid;  /* had the lock; 0: not known */
};

/* All zeros: none. */
struct lock_holders {
	struct lock_wait waits[LOCK_HOLDERS_MAX];
	size_t count;
};

/* Before another snapshot. */
void lock_holders_begin(struct lock_holders *holders);

/* Each thread's record of the snapshot: those are kept that have waited for a lock for long. */
void lock_holders_note(struct lock_holders *holders, const struct wire_thread *thread);

/* After the last of them. Asks for the locks; wait_sites_answer() takes the answers. */
void lock_holders_ask(struct lock_holders *holders, struct wait_sites *sites, uint64_t instant_ns);

/*
 * Takes the answers. True: locks have been read since the snapshot, whose threads may have gone on
 * in the meantime. Those that have not are to be noted before anything is sent.
 */
bool lock_holders_look_again(struct lock_holders *holders, struct wait_sites *sites,
			     uint64_t instant_ns) must_check;
void lock_holders_note_again(struct lock_holders *holders, const struct thread_locked *thread);

/*
 * A WIRE_HOLDER for each wait that goes on, and whose holder is certain. All are true at once: at
 * the snapshot, or, where locks have been read since, when the last of them was.
 */
int lock_holders_send(struct lock_holders *holders, uint64_t instant_ns,
		      struct record_sink sink) must_check;

/*
 * The owner that a lock names by its thread's number in its own pid namespace, 0: none that is
 * certain. `words`: from the futex on. glibc: nptl/bits/struct_mutex.h on 64-bit machines; robust
 * mutexes: nptl/descr.h; FUTEX_LOCK_PI: Documentation/locking/futex-requeue-pi.rst of the kernel.
 */
uint32_t lock_owner(const uint32_t words[LOCK_WORDS], uint32_t operation);

#endif
