// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/snappy.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

/* Elements: their kind is in the two lowest bits of the first byte. */
enum { LITERAL = 0, COPY_2 = 2 /* an offset of two bytes */ };

#define BLOCK_BYTES (1U << 16) /* offsets stay below it */
#define HASH_BITS   14
#define LEAST_COPY  4
#define MOST_COPY   64

struct packer {
	uint8_t *next;
	uint16_t seen[1U << HASH_BITS]; /* where four bytes were last, in the block */
};

static void put_length(struct packer *packer, size_t length)
{
	for (; length > 0x7f; length >>= 7)
		*packer->next++ = (uint8_t)length | 0x80;
	*packer->next++ = (uint8_t)length;
}

static void put_literal(struct packer *packer, const uint8_t *bytes, size_t length)
{
	size_t rest = length - 1;

	if (!length)
		return;
	if (rest < 60) {
		*packer->next++ = (uint8_t)(rest << 2 | LITERAL);
	} else if (rest < 1U << 8) {
		*packer->next++ = 60 << 2 | LITERAL;
		*packer->next++ = (uint8_t)rest;
	} else { /* of a block, so two bytes are enough */
		*packer->next++ = 61 << 2 | LITERAL;
		*packer->next++ = (uint8_t)rest;
		*packer->next++ = (uint8_t)(rest >> 8);
	}
	memcpy(packer->next, bytes, length);
	packer->next += length;
}

static void put_copy(struct packer *packer, size_t offset, size_t length)
{
	while (length) {
		size_t part = length < MOST_COPY ? length : MOST_COPY;

		*packer->next++ = (uint8_t)((part - 1) << 2 | COPY_2);
		*packer->next++ = (uint8_t)offset;
		*packer->next++ = (uint8_t)(offset >> 8);
		length -= part;
	}
}

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static void pack_block(struct packer *packer, const uint8_t *block, size_t length)
{
	size_t done = 0, at = 0;

	memset(packer->seen, 0, sizeof(packer->seen));
	while (at + LEAST_COPY <= length) {
		uint32_t word = word_at(block + at);
		uint16_t *seen = &packer->seen[word * 0x9e3779b1U >> (32 - HASH_BITS)];
		size_t before = *seen, same = 0;

		*seen = (uint16_t)at;
		if (before < at && word_at(block + before) == word)
			for (same = LEAST_COPY;
			     at + same < length && block[before + same] == block[at + same];)
				same++;
		if (!same) {
			at++;
			continue;
		}
		put_literal(packer, block + done, at - done);
		put_copy(packer, at - before, same);
		at += same;
		done = at;
	}
	put_literal(packer, block + done, length - done);
}

/* A copy is never longer than what it stands for; a literal has three bytes more, at most. */
static size_t most_bytes(size_t length)
{
	return 5 + length + length / (LEAST_COPY + 1) * 3 + 3 * (length / BLOCK_BYTES + 1);
}

int snappy_pack(const void *bytes, size_t length, char **ret_packed, size_t *ret_length)
{
	cleanup_free struct packer *packer = malloc(sizeof(*packer));
	char *packed;

	if (length > UINT32_MAX)
		return -EFBIG;
	packed = malloc(most_bytes(length));
	if (!packer || !packed) {
		free(packed);
		return -ENOMEM;
	}
	packer->next = (uint8_t *)packed;
	put_length(packer, length);
	for (size_t at = 0; at < length; at += BLOCK_BYTES) {
		size_t left = length - at;

		pack_block(packer, (const uint8_t *)bytes + at,
			   left < BLOCK_BYTES ? left : BLOCK_BYTES);
	}
	*ret_length = (size_t)(packer->next - (uint8_t *)packed);
	*ret_packed = packed;
	return 0;
}
