// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/output.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

int output_init(struct output *out, int fd)
{
	*out = (struct output){.fd = fd, .capacity = OUTPUT_BUFFER_BYTES};
	out->buffer = malloc(out->capacity);
	return out->buffer ? 0 : -ENOMEM;
}

void output_release(struct output *out)
{
	free(out->buffer);
	*out = (struct output){.fd = -1};
}

int output_flush(struct output *out)
{
	size_t done = 0;

	while (out->fd >= 0 && !out->error && done < out->used) {
		ssize_t written = write(out->fd, out->buffer + done, out->used - done);

		if (written >= 0)
			done += (size_t)written;
		else if (errno != EINTR)
			out->error = errno;
	}
	if (out->fd >= 0)
		out->used = 0;
	return -out->error;
}

/* Room for `length` more bytes, or NULL after an error. `length` <= OUTPUT_BUFFER_BYTES. */
static char *reserve(struct output *out, size_t length)
{
	if (out->capacity - out->used >= length)
		return out->buffer + out->used;
	if (out->fd >= 0)
		return output_flush(out) < 0 ? NULL : out->buffer;
	if (!out->error) {
		char *grown = realloc(out->buffer, out->capacity * 2);

		if (grown) {
			out->buffer = grown;
			out->capacity *= 2;
			return out->buffer + out->used;
		}
		out->error = ENOMEM;
	}
	return NULL;
}

void output_bytes_slowly(struct output *out, const char *bytes, size_t length)
{
	while (length) {
		size_t part = length < OUTPUT_BUFFER_BYTES ? length : OUTPUT_BUFFER_BYTES;
		char *room = reserve(out, part);

		if (!room)
			return;
		memcpy(room, bytes, part);
		out->used += part;
		bytes += part;
		length -= part;
	}
}

#define U64_DIGITS 20

/* Decimal digits of a number above 0. */
static size_t digits_of(uint64_t value)
{
	static const uint64_t powers[U64_DIGITS] = {
		1ULL,
		10ULL,
		100ULL,
		1000ULL,
		10000ULL,
		100000ULL,
		1000000ULL,
		10000000ULL,
		100000000ULL,
		1000000000ULL,
		10000000000ULL,
		100000000000ULL,
		1000000000000ULL,
		10000000000000ULL,
		100000000000000ULL,
		1000000000000000ULL,
		10000000000000000ULL,
		100000000000000000ULL,
		1000000000000000000ULL,
		10000000000000000000ULL,
	};
	/* bits * log10(2), which is one too few where the number reaches the next power */
	size_t digits = (64 - (size_t)__builtin_clzll(value)) * 1233 >> 12;

	return digits + (digits < U64_DIGITS && value >= powers[digits]);
}

void output_long(struct output *out, uint64_t value)
{
	/* two at a time: a division takes longer than all the rest */
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";
	char *at;
	size_t length;

	at = reserve(out, U64_DIGITS);
	if (!at)
		return;
	length = digits_of(value);
	out->used += length;
	at += length;
	for (; value >= 10; value /= 100) {
		at -= 2;
		memcpy(at, pairs + 2 * (value % 100), 2);
	}
	if (value)
		*--at = (char)('0' + value);
}

void output_i64(struct output *out, int64_t value)
{
	if (value < 0)
		output_char(out, '-');
	output_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void output_format(struct output *out, const char *format, ...)
{
	char room[512], *text;
	va_list args;
	size_t length;

	va_start(args, format);
	text = text_format(room, sizeof(room), &length, format, args);
	va_end(args);
	if (text)
		output_bytes(out, text, length);
	else
		output_fail(out, ENOMEM);
	if (text != room)
		free(text);
}
