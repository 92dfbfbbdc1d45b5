/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explains to the kernel side where in their programs threads wait for a futex: bpf/sites.bpf.h
 * asks, this answers by the symbols of the mapped files.
 */
#ifndef DWELL_CAPTURE_WAIT_SITES_H
#define DWELL_CAPTURE_WAIT_SITES_H

#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/config.h"

struct wait_sites;

/* Descriptors of the maps `sites` and `site_answers`, kept by the caller. NULL: out of memory. */
struct wait_sites *wait_sites_new(int sites_fd, int answers_fd);
void wait_sites_free(struct wait_sites *sites);

/* Reads the files a process has mapped now, so that its first questions are answered at once. */
void wait_sites_preload(struct wait_sites *sites, uint32_t pid);

/* Keeps a question for wait_sites_answer(); of too many the last is forgotten. */
void wait_sites_ask(struct wait_sites *sites, const struct site_question *question);

/*
 * Answers what has been asked. Takes a bounded time; what is left over comes first the next time.
 * Whatever fails (the process is gone, its memory is not ours to read) leaves the wait as it was
 * classified.
 */
void wait_sites_answer(struct wait_sites *sites);

/* After a snapshot: answers about single waits are used up. */
void wait_sites_forget(struct wait_sites *sites);

/* What a function tells by its mangled name (NULL: none known), as an enum site_verdict. */
int wait_sites_classify(const char *function);

#endif
