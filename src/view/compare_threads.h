/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What two recordings of threads differ in, as text and by its schema. */
#ifndef DWELL_VIEW_COMPARE_THREADS_H
#define DWELL_VIEW_COMPARE_THREADS_H

#include "base/error.h"
#include "base/output.h"
#include "emit/schema.h"
#include "model/share_comparison.h"

#define THREAD_REMARKS_MAX  16
#define THREAD_REMARK_BYTES 400
#define CULPRIT_WORDS_BYTES 256

/* Of the longest that is said of a culprit: "ended by 0123456789abcdef itself, meanwhile runnable".
 */
#define COMPARE_BECAUSE_COLUMNS 52

struct thread_comparison {
	const char *const *paths; /* two */
	const char *damage[2];	  /* what of it could not be read; empty: nothing */
	const struct share_comparison *comparison;
	const struct share_row **order; /* rows, as they are shown; NULL at first */
	size_t top;			/* of these; 0: all */
	bool all;			/* on the page rows that did not change too */
	char remarks[THREAD_REMARKS_MAX][THREAD_REMARK_BYTES];
	size_t remark_count;
};

/* Sets what only follows from the rest: the remarks. */
void compare_threads_remark(struct thread_comparison *pair);

/*
 * Sets the order: as the comparison has it, or by a field. -EINVAL, with a guess, for one that does
 * not exist; -ENOMEM.
 */
int compare_threads_sort(struct thread_comparison *pair, const char *field,
			 struct error *error) must_check;
/* The row is a struct thread_comparison. */
extern const struct schema compare_threads_schema;

void compare_threads_table(struct output *out, const struct thread_comparison *pair);

/* "postgres waits 2.1 times as long for a CPU: 18 % -> 38 % of the time; …" of a row of a state;
 * of a part of one that is not worse, "postgres waits for locks no longer than before, but …" */
void compare_threads_sentence(struct output *out, const struct share_comparison *comparison,
			      const struct share_row *row);

/* "postgres lost 2.1 times as much: 18 % -> 38 % of the time" of a row of a program. */
void compare_threads_loss(char *into, size_t room, const struct share_comparison *comparison,
			  const struct share_row *row);

/* "ran instead: backup-tar", "ended by db, meanwhile disk", "futex:lock"; printable. */
void compare_threads_because(char *into, size_t room, const struct share_comparison *comparison,
			     const struct share_key *key);

/* "18 %", "0.25 %", of a share. */
void compare_threads_percent(char *into, size_t room, double share);

/* Printable; `room` of 64 at least. */
void compare_threads_name(char *into, size_t room, const struct share_comparison *comparison,
			  uint32_t name);

/* System calls have names. */
bool compare_threads_native(const struct share_comparison *comparison);

extern const char *const share_verdict_keys[SHARE_VERDICTS_COUNT];

#endif
