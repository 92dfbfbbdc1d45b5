/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the last `dwell verify` on this machine found: written by root's, read by everyone. */
#ifndef DWELL_CAPTURE_VERIFIED_H
#define DWELL_CAPTURE_VERIFIED_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/cleanup.h"

#define VERIFIED_PATH "/var/lib/dwell/verify.json"

struct verified {
	time_t at;
	char dwell[32], kernel[72], verdict[16];
	uint64_t patterns;    /* that passed */
	double worst_percent; /* error, of a thread's time; NAN: not known */
};

/* Replaces it by one line of JSON, as `dwell verify` writes it. Without the rights to: -errno. */
int verified_write(const char *path, const char *line, size_t length) must_check;

/* Whether it was this dwell, on this kernel. */
bool verified_is_of_here(const struct verified *verified);

/* -ENOENT: never here; another negative errno: what is there cannot be read. */
int verified_read(struct verified *ret_verified, const char *path) must_check;

#endif
