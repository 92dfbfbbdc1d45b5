// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/lock_holders.h"

#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/inner_pid.h"
#include "base/proc_stat.h"
#include "capture/proc_threads.h"

#define LONG_NS (10 * NS_PER_MS) /* shorter waits end before anyone looks */

void lock_holders_begin(struct lock_holders *holders)
{
	for (size_t i = 0; i < holders->count; i++)
		holders->waits[i].goes_on = false;
}

static struct lock_wait *find(struct lock_holders *holders, uint32_t tid)
{
	for (size_t i = 0; i < holders->count; i++)
		if (holders->waits[i].tid == tid)
			return &holders->waits[i];
	return NULL;
}

/* Room for another one: of all that are known to go on, the longest are kept. NULL: none. */
static struct lock_wait *make_room(struct lock_holders *holders, uint64_t since_ns)
{
	struct lock_wait *last = &holders->waits[0];

	if (holders->count < LOCK_HOLDERS_MAX)
		return &holders->waits[holders->count++];
	for (size_t i = 1; i < holders->count; i++)
		if (holders->waits[i].since_ns > last->since_ns)
			last = &holders->waits[i];
	return last->since_ns > since_ns ? last : NULL;
}

void lock_holders_note(struct lock_holders *holders, const struct wire_thread *thread)
{
	const struct wire_wait_site *site = &thread->site;
	struct lock_wait *wait;

	if (site->state != WIRE_LOCK || thread->end_ns - thread->since_ns < LONG_NS ||
	    (site->detail != WIRE_DETAIL_FUTEX_LOCK && site->detail != WIRE_DETAIL_FUTEX_PI))
		return;
	wait = find(holders, thread->tid);
	if (!wait)
		wait = make_room(holders, thread->since_ns);
	if (!wait)
		return;
	if (wait->tid != thread->tid || wait->since_ns != thread->since_ns ||
	    wait->voluntary != thread->voluntary || wait->origin_ns != thread->origin_ns)
		*wait = (struct lock_wait){.origin_ns = thread->origin_ns,
					   .since_ns = thread->since_ns,
					   .voluntary = thread->voluntary,
					   .tid = thread->tid,
					   .pid = thread->pid};
	wait->goes_on = true;
}

void lock_holders_note_again(struct lock_holders *holders, const struct thread_locked *thread)
{
	struct lock_wait *wait = find(holders, thread->tid);

	/* the kernel's own count says it, too, where an event was not seen */
	if (wait && wait->origin_ns == thread->origin_ns && wait->since_ns == thread->since_ns &&
	    wait->voluntary == thread->voluntary)
		wait->goes_on = true;
}

/* Those that have ended. */
static void forget(struct lock_holders *holders)
{
	size_t kept = 0;

	for (size_t i = 0; i < holders->count; i++)
		if (holders->waits[i].goes_on)
			holders->waits[kept++] = holders->waits[i];
	holders->count = kept;
}

/*
 * The snapshot came after the lock was read, and both still wait as they did before: the holder
 * still has it. It may be one and the same thread.
 */
static bool is_certain(struct lock_holders *holders, const struct lock_wait *wait,
		       uint64_t instant_ns)
{
	const struct lock_wait *of_holder =
		wait->holder_tid ? find(holders, wait->holder_tid) : NULL;

	return of_holder && of_holder->goes_on && of_holder->since_ns <= wait->answered_ns &&
	       wait->taken_ns < instant_ns;
}

/* The futex that it waits at; false: it does not wait any more, or is not ours to look at. */
static bool read_wait(const struct lock_wait *wait, uint64_t *ret_address, uint32_t *ret_operation)
{
	struct proc_call call;

	if (!proc_call_read((struct proc_id){wait->pid, wait->tid}, &call) ||
	    call.number != SYS_futex)
		return false;
	*ret_address = call.arguments[0];
	*ret_operation = call.arguments[1] & FUTEX_CMD_MASK;
	return true;
}

#define CONTENDED   2 /* glibc's lowlevellock.h */
#define KIND_ROBUST 0x10U

uint32_t lock_owner(const uint32_t words[LOCK_WORDS], uint32_t operation)
{
	uint32_t lock = words[0], owner = words[2], kind = words[4];

	if (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2)
		return lock & FUTEX_OWNER_DIED ? 0 : lock & FUTEX_TID_MASK;
	if (operation != FUTEX_WAIT || !site_is_mutex(words))
		return 0;
	if (kind & KIND_ROBUST)
		return lock == (owner | FUTEX_WAITERS) ? owner : 0;
	return lock == CONTENDED ? owner : 0;
}

/* The thread of the process that has this number in its own pid namespace; 0: none. */
static uint32_t outer_tid(const struct lock_wait *wait, uint32_t inner)
{
	cleanup_proc_threads struct proc_threads threads = {0};

	if (inner_pid(wait->tid) == wait->tid)
		return inner;
	if (proc_threads_of(&threads, wait->pid) < 0)
		return 0;
	for (size_t i = 0; i < threads.count; i++)
		if (inner_pid(threads.items[i].tid) == inner)
			return threads.items[i].tid;
	return 0;
}

/* Answers to earlier questions may be among them, where the machine is busy. */
static void take_answers(struct lock_holders *holders, struct wait_sites *sites)
{
	struct wait_lock lock;

	while (wait_sites_take_lock(sites, &lock)) {
		struct lock_wait *wait = find(holders, lock.tid);
		uint32_t owner;

		if (!wait || wait->asked_ns != lock.instant_ns)
			continue;
		owner = lock_owner(lock.words, wait->operation);
		wait->holder_tid = owner ? outer_tid(wait, owner) : 0;
		wait->answered_ns = lock.instant_ns;
		wait->taken_ns = clock_monotonic_ns();
	}
}

void lock_holders_ask(struct lock_holders *holders, struct wait_sites *sites, uint64_t instant_ns)
{
	forget(holders);
	take_answers(holders, sites);
	for (size_t i = 0; i < holders->count; i++) {
		struct lock_wait *wait = &holders->waits[i];

		if (!is_certain(holders, wait, instant_ns) &&
		    read_wait(wait, &wait->address, &wait->operation) &&
		    wait_sites_ask_lock(sites, wait->pid, wait->tid, wait->address, instant_ns))
			wait->asked_ns = instant_ns;
	}
}

/*
 * Read since the snapshot. A thread that waits from then on until all locks have been read has the
 * lock of another one in all that time if it had it at any moment of it: only such threads make a
 * circle. Without a second look, threads that take one lock in turn would seem to wait for each
 * other: who had the lock as it was read waits for it again a moment later.
 */
static bool is_fresh(const struct lock_wait *wait, uint64_t instant_ns)
{
	return wait->holder_tid && wait->answered_ns == instant_ns;
}

bool lock_holders_look_again(struct lock_holders *holders, struct wait_sites *sites,
			     uint64_t instant_ns)
{
	bool any = false;

	take_answers(holders, sites);
	for (size_t i = 0; i < holders->count; i++)
		any |= is_fresh(&holders->waits[i], instant_ns);
	/* also of what was certain at the snapshot: a circle is one of one moment */
	if (any)
		lock_holders_begin(holders);
	return any;
}

static int send_one(const struct lock_wait *wait, uint64_t instant_ns, struct record_sink sink)
{
	struct wire_holder record = {
		.header = {.size = sizeof(record), .kind = WIRE_HOLDER, .time_ns = instant_ns},
		.origin_ns = wait->origin_ns,
		.tid = wait->tid,
		.holder_tid = wait->holder_tid,
		.holder_pid = wait->pid,
	};
	struct proc_stat stat;

	if (!proc_stat_read(wait->pid, wait->holder_tid, &stat))
		return 0;
	memcpy(record.holder_comm, stat.comm, sizeof(stat.comm));
	return sink_send(sink, &record.header);
}

int lock_holders_send(struct lock_holders *holders, uint64_t instant_ns, struct record_sink sink)
{
	int result = 0;

	for (size_t i = 0; result >= 0 && i < holders->count; i++) {
		const struct lock_wait *wait = &holders->waits[i];

		if (wait->goes_on &&
		    (is_certain(holders, wait, instant_ns) || is_fresh(wait, instant_ns)))
			result = send_one(wait, instant_ns, sink);
	}
	return result;
}
