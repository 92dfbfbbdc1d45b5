/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the time of a recording's threads went, by program: by state, by reason, and because of
 * whom, each as a series (model/batches.h). Of recordings that are compared the keys are the same,
 * so that what belongs together has one number.
 */
#ifndef DWELL_MODEL_SHARES_H
#define DWELL_MODEL_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interned.h"
#include "model/batches.h"
#include "model/blame.h"
#include "model/interval.h"
#include "model/reason_marks.h"

/* Names are chosen by the processes under study: how many there may be has bounds. */
#define SHARE_PROGRAMS_MAX   32768
#define SHARE_KEYS_MAX	     65536
#define SHARE_NAME_BYTES     16
#define SHARE_CODE_BYTES_MAX (8 << 20) /* of the names of functions */

#define SHARE_LEVELS(X)                                                                            \
	X(PROGRAM, "program", "all that the program lost")                                         \
	X(STATE, "state", "in one state")                                                          \
	X(REASON, "reason", "of that, for one reason")                                             \
	X(CULPRIT, "culprit", "of that, because of one culprit")                                   \
	X(CODE, "code", "of that, in one function")

enum share_level {
#define X(name, key, help) SHARE_##name,
	SHARE_LEVELS(X)
#undef X
		SHARE_LEVELS_COUNT,
};

/* Compared by its bytes: no gaps, and zero what a level does not have. */
struct share_key {
	uint32_t program; /* number of its name */
	uint32_t culprit; /* the same; WIRE_CULPRIT_THREAD. Of SHARE_CODE: of the function */
	struct wire_wait_site reason;
	uint8_t level;	   /* enum share_level */
	uint8_t state;	   /* enum state */
	uint8_t kind;	   /* enum wire_culprit_kind */
	uint8_t flags;	   /* SHARE_* */
	uint8_t meanwhile; /* enum wire_state */
	uint8_t pad[3];
};

#define SHARE_GOES_ON	1 /* the wait had not ended when the recording did */
#define SHARE_MEANWHILE 2 /* what the culprit did is known */

struct share_keys {
	struct interned names;	   /* SHARE_NAME_BYTES each */
	struct interned keys;	   /* struct share_key */
	struct interned functions; /* with their NULs */
};

/* One recording. All zeros is empty. */
struct shares {
	struct share_keys *keys; /* not owned */
	struct batches batches;
	struct series *items; /* by number of the key */
	size_t count, room;
	uint32_t *unmeasured; /* by number of the program: 1 << enum state */
	size_t program_count, program_room;
	struct reason_marks marks;
	struct wire_session session; /* of the last interval */
	uint64_t intervals;
	uint64_t folded_ns; /* of keys that found no room */
	uint64_t lost;	    /* records and transitions that did not arrive, torn ones too */
	bool has_reasons, has_blame, has_code;
};

/*
 * A recording begins. Of `keys`, all zeros at first, the first recording may take half, so that
 * the second one finds room too.
 */
void shares_begin(struct shares *shares, struct share_keys *keys);

/* Takes an interval by thread. 0 or -ENOMEM. */
int shares_add(struct shares *shares, const struct interval *interval) must_check;

/* The number of a function's name, "": not known; INTERNED_FULL, or INTERNED_NONE. */
size_t shares_function(struct shares *shares, const char *function) must_check;
/* The number of the key of its time in a program; the same, also where `function` is that. */
size_t shares_code_key(struct shares *shares, const char *process, enum state state,
		       size_t function) must_check;
/* Time in code, in all batches. 0 or -ENOMEM. */
int shares_add_code(struct shares *shares, size_t key, const struct series *series) must_check;

void shares_release(struct shares *shares);
void share_keys_release(struct share_keys *keys);

/* NULL: it has no time of that. */
const struct series *shares_find(const struct shares *shares, size_t key);

/* Without its NUL where it is as long as can be. */
const char *share_name(const struct share_keys *keys, uint32_t number);
const char *share_function(const struct share_keys *keys, uint32_t number);
const struct share_key *share_key_at(const struct share_keys *keys, size_t number);

static inline bool shares_folded(const struct shares *shares)
{
	return shares->folded_ns;
}

#endif
