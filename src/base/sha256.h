/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SHA-256 (FIPS 180-4), so that readers can compare a file with theirs by sha256sum(1): eighty
 * lines, where a library of cryptography would be linked for this alone.
 */
#ifndef DWELL_BASE_SHA256_H
#define DWELL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define SHA256_BLOCK 64
#define SHA256_TEXT  65 /* digits, and the end */

struct sha256 {
	uint32_t state[8];
	uint64_t length;
	uint8_t block[SHA256_BLOCK]; /* what is not a whole one yet */
};

void sha256_begin(struct sha256 *sum);
void sha256_add(struct sha256 *sum, const void *bytes, size_t length);
void sha256_end(struct sha256 *sum, char into[SHA256_TEXT]);

/* Of a regular file; -errno, with nothing in `into`. */
int sha256_file(const char *path, char into[SHA256_TEXT]) must_check;

#endif
