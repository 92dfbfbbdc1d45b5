/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explains to the kernel side where in their programs threads wait for a futex: bpf/sites.bpf.h
 * asks, this passes questions to a helper (capture/wait_places.h) and its answers into the maps.
 */
#ifndef DWELL_CAPTURE_WAIT_SITES_H
#define DWELL_CAPTURE_WAIT_SITES_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/config.h"
#include "capture/wait_places.h"

struct wait_sites;

/* Before there are BPF descriptors: the helper must have none. NULL: see the error. */
struct wait_sites *wait_sites_new(struct error *error);
void wait_sites_free(struct wait_sites *sites);

/* Descriptors of the maps `sites` and `site_answers`, kept by the caller. */
void wait_sites_use(struct wait_sites *sites, int sites_fd, int answers_fd);

/* Has the files read that a process has mapped now, so that its first questions are answered at
 * once. */
void wait_sites_preload(struct wait_sites *sites, uint32_t pid);

/* Keeps a question for wait_sites_answer(); of too many the last is forgotten. */
void wait_sites_ask(struct wait_sites *sites, const struct site_question *question);

/*
 * Answers what has been asked, until the deadline (CLOCK_MONOTONIC); the first time may take 2 s.
 * What is left over comes first the next time.
 * Any failure (the process is gone, its memory is not ours to read, a file that kills or stops
 * the helper) leaves the wait as it was classified.
 */
void wait_sites_answer(struct wait_sites *sites, uint64_t deadline_ns);

/* Readable when an answer has come that wait_sites_answer() did not wait for; -1: none will. */
int wait_sites_descriptor(const struct wait_sites *sites);

/*
 * Asks for the lock at an address that a thread waits at, in the snapshot of an instant. False:
 * there is no room for more. wait_sites_answer() takes the answer.
 */
bool wait_sites_ask_lock(struct wait_sites *sites, uint32_t pid, uint32_t tid, uint64_t address,
			 uint64_t instant_ns);

/* An answer: the words of the lock, from the address on. */
struct wait_lock {
	uint64_t instant_ns; /* of the question */
	uint32_t tid;
	uint32_t words[LOCK_WORDS];
};

/* The next one that has come, of threads that slept when their lock was read. False: none. */
bool wait_sites_take_lock(struct wait_sites *sites, struct wait_lock *ret_lock);

/* After a snapshot: answers about single waits are used up. */
void wait_sites_forget(struct wait_sites *sites);

/* Processes over which a helper hung or died. From WAIT_SITES_HOSTILE_MAX on no one is asked about.
 */
size_t wait_sites_hostile(const struct wait_sites *sites);

#define WAIT_SITES_HOSTILE_MAX 16

/* No process is asked about any more: the helper and its keeper have ended. */
bool wait_sites_gone(const struct wait_sites *sites);

/* CPU time of the helper so far. */
uint64_t wait_sites_cpu_ns(const struct wait_sites *sites);

#endif
