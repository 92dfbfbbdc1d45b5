/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffered writing to a descriptor. It keeps the first error: after a failed write it drops
 * everything else, and output_flush() returns the error. Not stdio, because 10,000 rows a
 * second of numbers are most of what dwell itself spends, and because ENOSPC and EPIPE must reach
 * the user.
 */
#ifndef DWELL_BASE_OUTPUT_H
#define DWELL_BASE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

#define OUTPUT_BUFFER_BYTES (256 * 1024)

struct output {
	int fd;	   /* not owned; -1: keep everything in memory */
	int error; /* errno of the first failed write, 0 = none */
	char *buffer;
	size_t used;
	size_t capacity;
};

/* Returns 0 or -ENOMEM. With fd -1 the buffer grows and holds all that was written. */
int output_init(struct output *out, int fd) must_check;
void output_release(struct output *out);

/* Returns 0 or the negative errno of the first write that failed. */
int output_flush(struct output *out) must_check;

/* What is to be written cannot be known whole: as if a write had failed with that errno. */
static inline void output_fail(struct output *out, int code)
{
	out->error = out->error ? out->error : code;
}

/* What output_bytes() does when the buffer is full. */
void output_bytes_slowly(struct output *out, const char *bytes, size_t length);

/* Inline, because most calls write a few constant bytes into a buffer that has room. */
static inline void output_bytes(struct output *out, const char *bytes, size_t length)
{
	if (out->capacity - out->used < length) {
		output_bytes_slowly(out, bytes, length);
		return;
	}
	memcpy(out->buffer + out->used, bytes, length);
	out->used += length;
}

/* Where `length` bytes can be written that the caller takes by `used`; NULL: write them otherwise.
 */
static inline char *output_room(struct output *out, size_t length)
{
	return out->capacity - out->used < length ? NULL : out->buffer + out->used;
}

static inline void output_string(struct output *out, const char *string)
{
	output_bytes(out, string, strlen(string));
}

static inline void output_char(struct output *out, char c)
{
	output_bytes(out, &c, 1);
}

void output_long(struct output *out, uint64_t value);

static inline void output_u64(struct output *out, uint64_t value)
{
	if (value < 10) /* most of all numbers are 0 */
		output_char(out, (char)('0' + value));
	else
		output_long(out, value);
}

void output_i64(struct output *out, int64_t value);
/* What arguments bring cannot disturb a terminal or end a line: text_tame(). */
__attribute__((format(printf, 2, 3))) void output_format(struct output *out, const char *format,
							 ...);

#endif
