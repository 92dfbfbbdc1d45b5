/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a process's threads, for people. */
#ifndef DWELL_CAPTURE_THREAD_NAMES_H
#define DWELL_CAPTURE_THREAD_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * "worker (8), main": by how many have the same name, made printable, cut off with "…" where `size`
 * ends. Returns how many threads there are, and in *ret_matching how many names begin with
 * `prefix`. 0: the process is gone, or not ours to read.
 */
size_t thread_names(uint32_t pid, const char *prefix, size_t *ret_matching, char *text,
		    size_t size);

#endif
