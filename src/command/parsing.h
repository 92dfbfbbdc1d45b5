/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that options of several commands have. */
#ifndef DWELL_COMMAND_PARSING_H
#define DWELL_COMMAND_PARSING_H

#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "model/group.h"
#include "session/watch.h"

/*
 * A process by its name, the argument at rest[0]: the message also says how to run a program, and
 * that there are other targets.
 */
int parsing_name(struct targets *targets, char **rest, struct error *error) must_check;

/*
 * "unknown WHAT 'VALUE'; did you mean 'CHOICE'?", or "…: use CHOICES", as similar_choice() takes
 * them; -EINVAL.
 */
int parsing_unknown(struct error *error, const char *what, const char *value, const char *choices);

/* Of --by; `has_threads`: a row per thread can be asked for, too. */
int parsing_grouping(const char *value, bool has_threads, enum grouping *ret_by,
		     struct error *error) must_check;

/* A number from 1 up. */
int parsing_count(const char *text, const char *option, uint64_t *ret_count,
		  struct error *error) must_check;

/* Of a struct stack_options, as command_option.take. */
int parsing_unwind(void *stacks, const char *value, struct error *error) must_check;
int parsing_own(void *stacks, const char *value, struct error *error) must_check;

#endif
