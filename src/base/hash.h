/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tables of bytes that others choose: from a secret start, so that no input is made to collide.
 */
#ifndef DWELL_BASE_HASH_H
#define DWELL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

/* Of one table, as long as it lives. */
static inline uint64_t hash_secret(const void *table)
{
	uint64_t key = 0;

	return getrandom(&key, sizeof(key), 0) == sizeof(key) ? key : (uintptr_t)table;
}

/* By words; each word is mixed before the next. A table of 2^n slots takes bits from 24 on. */
static inline uint64_t hash_bytes(uint64_t secret, const void *bytes, size_t length)
{
	uint64_t hash = secret ^ length;

	for (const uint8_t *at = bytes; length;) {
		uint64_t word = 0;
		size_t part = length < sizeof(word) ? length : sizeof(word);

		memcpy(&word, at, part);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
		at += part;
		length -= part;
	}
	return hash * 0x9e3779b97f4a7c15ULL;
}

#endif
