/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that people write: compared kindly, and guessed where they are misspelt. */
#ifndef DWELL_BASE_SIMILAR_H
#define DWELL_BASE_SIMILAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Equal but for case, `-`, `_` and `%`: "FutexPingPong" is "futex-ping-pong". */
bool similar_same(const char *a, const char *b);

/*
 * How many letters to add, drop, change or swap (Damerau-Levenshtein, restricted), case, `-` and
 * `_` left out; of names longer than 63 letters only the beginning counts.
 */
size_t similar_distance(const char *a, const char *b);

/* A search for what the user may have meant. All zeros but `wanted` is new. */
struct similar {
	const char *wanted;
	const char *best; /* NULL: nothing is near */
	size_t distance;
};

/*
 * One more candidate. Near is: a third of its letters, two at most, may differ, or it begins with
 * what is wanted. Farther ones would hide what there is to choose from.
 */
void similar_try(struct similar *similar, const char *candidate);

/*
 * The message of an unknown name: the format, and behind it "; did you mean 'NAME'?", or, where
 * nothing is near, `otherwise`. Returns -code.
 */
__attribute__((format(printf, 5, 6))) int similar_error(struct error *error, int code,
							const struct similar *similar,
							const char *otherwise, const char *format,
							...);

/*
 * The choice nearest to `wanted` among words separated by blanks, commas and "or", as messages list
 * them: "table, json or csv". `into` gets the word, or is empty.
 */
void similar_choice(char *into, size_t room, const char *wanted, const char *choices);

#endif
