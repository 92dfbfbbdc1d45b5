// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ROUNDS	    64
#define LENGTH_AT   (SHA256_BLOCK - sizeof(uint64_t)) /* in the last block */
#define CHUNK_BYTES 16384

/* Of the cube roots of the first primes, what is behind the point. */
static const uint32_t constants[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

/* Of their square roots. */
static const uint32_t initial[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rotate(uint32_t word, unsigned int by)
{
	return word >> by | word << (32 - by);
}

/* The names of the standard. */
static void add_block(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[ROUNDS], v[8];

	for (size_t i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (size_t i = 16; i < ROUNDS; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, state, sizeof(v));
	for (size_t i = 0; i < ROUNDS; i++) {
		uint32_t e = v[4], a = v[0];
		uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + constants[i] + w[i];
		uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(&v[1], &v[0], 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (size_t i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_begin(struct sha256 *sum)
{
	memcpy(sum->state, initial, sizeof(sum->state));
	sum->length = 0;
}

void sha256_add(struct sha256 *sum, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;

	while (length) {
		size_t used = sum->length % SHA256_BLOCK, part = SHA256_BLOCK - used;

		if (part > length)
			part = length;
		memcpy(sum->block + used, from, part);
		sum->length += part;
		from += part;
		length -= part;
		if (sum->length % SHA256_BLOCK == 0)
			add_block(sum->state, sum->block);
	}
}

void sha256_end(struct sha256 *sum, char into[SHA256_TEXT])
{
	uint64_t bits = sum->length * 8;
	uint8_t length[sizeof(bits)];

	sha256_add(sum, "\x80", 1);
	while (sum->length % SHA256_BLOCK != LENGTH_AT)
		sha256_add(sum, "", 1);
	for (size_t i = 0; i < sizeof(length); i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(sum, length, sizeof(length));
	for (size_t i = 0; i < 8; i++)
		snprintf(into + 8 * i, 9, "%08x", sum->state[i]);
}

int sha256_file(const char *path, char into[SHA256_TEXT])
{
	cleanup_file FILE *file = NULL;
	char chunk[CHUNK_BYTES];
	struct sha256 sum;
	struct stat status;
	size_t got;

	*into = '\0';
	/* nothing is opened that might wait for another program */
	if (stat(path, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	sha256_begin(&sum);
	while ((got = fread(chunk, 1, sizeof(chunk), file)))
		sha256_add(&sum, chunk, got);
	if (ferror(file))
		return -EIO;
	sha256_end(&sum, into);
	return 0;
}
