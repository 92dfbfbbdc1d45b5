/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two sides of base/helper.h share: helper.c is the parent's, helper_process.c the
 * others'. */
#ifndef DWELL_BASE_HELPER_INTERNAL_H
#define DWELL_BASE_HELPER_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/helper.h"

/*
 * Mapped by all three. The helper may write what it likes here: none of it decides what the parent
 * does, but how much CPU time is reported.
 */
struct helper_shared {
	uint64_t current;	/* number of the question in work; 0: none */
	uint64_t answered;	/* how many questions */
	uint64_t cpu_ns;	/* of the helpers before */
	uint64_t helper_cpu_ns; /* of this one, after its last answer */
	uint64_t reader_cpu_ns; /* of its reader, after its last reply */
};

enum helper_message_kind {
	HELPER_QUESTION = 1,
	HELPER_ANSWER,
	HELPER_PARTS,
	HELPER_DIED, /* the keeper's word; the number is of the question in work, or 0 */
};

struct helper_message {
	struct helper_message_head {
		uint64_t number;
		uint64_t kind;
	} head;
	uint8_t bytes[HELPER_MESSAGE_BYTES];
};

/* Several parts go in one message, each behind its length, at a multiple of 8. */
struct helper_part_head {
	uint64_t length;
};

static inline size_t helper_part_room(size_t length)
{
	return sizeof(struct helper_part_head) + (length + 7) / 8 * 8;
}

static inline uint64_t helper_load(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static inline void helper_store(uint64_t *value, uint64_t to)
{
	__atomic_store_n(value, to, __ATOMIC_RELEASE);
}

/*
 * In the child of a fork: starts helpers and readers until there is nothing left to work for. `fd`
 * is its end of the socket, `parent` what forked it.
 */
_Noreturn void helper_keep(const struct helper_work *work, const void *context,
			   struct helper_shared *shared, int fd, pid_t parent);

#endif
