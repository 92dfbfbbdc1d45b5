/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is waited for, by the names of functions and libraries. */
#ifndef DWELL_CAPTURE_WAIT_NAMES_H
#define DWELL_CAPTURE_WAIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* What a function's mangled name says (NULL: none known), as an enum site_verdict. */
int wait_verdict_of_name(const char *function);

/*
 * Whether a function of that name returns with what it has asked for, or with the next message of
 * a queue: who waits in it for events is no event loop.
 */
bool wait_is_for_answer(const char *function);

/* Whether it begins with one of `count` others. */
bool name_begins_with_any(const char *name, const char *const *begins, size_t count);

/*
 * Whether the file, of a library whose functions are known, has lost the names of its inner
 * functions as a rule. What these wait for by the value of a futex would be taken for a lock, or
 * for nothing known: they wait for work, but where who called them makes a lock of it.
 */
bool wait_is_of_library(const char *path);

/* Ruby's, which waits for a single descriptor, and sleeps, by poll(), and for several by select().
 */
bool wait_is_of_ruby(const char *path);

/* The name of the file at a path. */
bool file_begins_with_any(const char *path, const char *const *begins, size_t count);

/* glibc's or musl's, by which others wait. */
bool wait_is_of_c_library(const char *path);

#endif
