/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that works on bytes of others in our place: it may hang, crash, or want all memory, and
 * what that costs is the answer to one question. It is killed and started again then.
 *
 *   parent ── questions, answers (one socket) ──▶ helper ── requests ──▶ reader
 *      └────────── starts, SIGUSR1 ──────────▶ keeper ── forks, reaps ──▶ both
 *
 * The helper has no rights at all (base/sandbox.h). The reader opens files for it: it has only the
 * rights that reading takes, its own rules decide what it opens, and it parses nothing of what it
 * opens. The bytes may take over a helper, and make a reader hang. They live and die together.
 *
 * The keeper is forked when there is nothing in the parent that the two should not have, and forks
 * both from there. Questions are answered in their order. Nothing here blocks the parent.
 */
#ifndef DWELL_BASE_HELPER_H
#define DWELL_BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A question, a part of an answer, or its end: the largest has the copy of a stack. */
#define HELPER_MESSAGE_BYTES (48 << 10)

struct helper_parts;

struct helper_work {
	/*
	 * In each helper, at its start, with the context of helper_start(). NULL: there is no
	 * memory. Its time is that of the first question.
	 */
	void *(*begin)(const void *context);
	/*
	 * In the helper. May send parts; writes the end of the answer, of at most
	 * HELPER_MESSAGE_BYTES; its length.
	 */
	size_t (*answer)(void *data, const void *question, size_t length, void *answer,
			 struct helper_parts *parts);
	/*
	 * In the reader. Writes a reply of at most HELPER_REPLY_BYTES; *ret_fd: a descriptor to
	 * hand over, which is closed then, or -1. 0 or a negative errno.
	 */
	int (*serve)(const void *request, size_t length, void *reply, size_t *ret_length,
		     int *ret_fd);
	/*
	 * Both NULL, or in the reader: at its start, a descriptor that is readable when there is
	 * something to do besides, or -1; and what is done then.
	 */
	int (*watch)(void);
	void (*tend)(void);
	/*
	 * Memory that a helper may allocate, besides what the parent has (RLIMIT_DATA); and the
	 * most that helper_allow_memory() may make of it.
	 */
	uint64_t memory_bytes, memory_max_bytes;
	uint64_t patience_ns; /* with one question, while it does not wait for a CPU */
};

#define HELPER_REPLY_BYTES (40 << 10)

struct helper;

/*
 * In the helper, from its answer(): before the end comes what does not fit into it. At most
 * HELPER_PART_BYTES.
 */
#define HELPER_PART_BYTES (HELPER_MESSAGE_BYTES - 16)
void helper_part(struct helper_parts *parts, const void *bytes, size_t length);

/*
 * In the helper: the reader's reply, and a descriptor or -1. 1; 0: this process is no helper with a
 * reader, and serves itself; or the reader's negative errno.
 */
int helper_request(const void *request, size_t length, void *reply, size_t *ret_length,
		   int *ret_fd) must_check;

/* In the helper: it may allocate so much more, as for a larger file. */
void helper_allow_memory(uint64_t bytes);

/* A restarted helper sees the context as it was when helper_start() was called. */
int helper_start(struct helper **ret_helper, const struct helper_work *work, const void *context,
		 struct error *error) must_check;
void helper_end(struct helper *helper); /* kills it; may be NULL */

/* The question's number, from 1; 0: there is no room now, or no helper any more. */
uint64_t helper_ask(struct helper *helper, const void *question, size_t length) must_check;

/* The same of what lies in two places: it is not copied. */
uint64_t helper_ask_both(struct helper *helper, const void *first, size_t first_length,
			 const void *second, size_t second_length) must_check;

enum helper_state {
	HELPER_ANSWERED,
	HELPER_PART, /* of an answer whose end is still to come */
	HELPER_LOST, /* the helper died of that question or was killed over it, or there is none */
	HELPER_NONE, /* nothing has come yet */
};

/*
 * The next answer, or part of one. Each question ends once, answered or lost, in their order.
 * HELPER_NONE comes after a wait: until `deadline_ns` (CLOCK_MONOTONIC), or until a single question
 * has taken longer than `single_ns`, whose answer may come later, or until a blocked signal is
 * pending that asks the parent to end; or when nothing can come any more.
 */
enum helper_state helper_next(struct helper *helper, uint64_t deadline_ns, uint64_t single_ns,
			      uint64_t *ret_number, void *answer, size_t *ret_length);

/* Readable when helper_next() has something to take; -1: nothing can come any more. */
int helper_descriptor(const struct helper *helper);

/* CPU time of all helpers so far, by their own word. */
uint64_t helper_cpu_ns(const struct helper *helper);
/* How many have died, or could not be started. */
uint64_t helper_deaths(const struct helper *helper);
/* The keeper has ended: nothing is answered any more. */
bool helper_is_gone(const struct helper *helper);

#endif
