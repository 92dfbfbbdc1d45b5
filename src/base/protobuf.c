// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/protobuf.h"

#include <string.h>

#include "base/array.h"
#include "base/text.h"

enum { WIRE_TYPE_VARINT = 0, WIRE_TYPE_FIXED = 1, WIRE_TYPE_LENGTH = 2 };

static void put(struct protobuf *message, const void *bytes, size_t length)
{
	if (message->failed ||
	    array_reserve(&message->bytes, &message->room, message->used + length, 1) < 0) {
		message->failed = true;
		return;
	}
	if (length)
		memcpy(message->bytes + message->used, bytes, length);
	message->used += length;
}

void protobuf_varint(struct protobuf *message, uint64_t number)
{
	uint8_t bytes[10];
	size_t length = 0;

	do {
		bytes[length] = (uint8_t)(number & 0x7f) | (number > 0x7f ? 0x80 : 0);
		length++;
		number >>= 7;
	} while (number);
	put(message, bytes, length);
}

static void key(struct protobuf *message, unsigned int field, unsigned int type)
{
	protobuf_varint(message, field << 3 | type);
}

void protobuf_number(struct protobuf *message, unsigned int field, uint64_t number)
{
	if (!number)
		return;
	key(message, field, WIRE_TYPE_VARINT);
	protobuf_varint(message, number);
}

/* The lowest byte comes first, on every machine. */
void protobuf_packed_fixed(struct protobuf *message, uint64_t number)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	put(message, bytes, sizeof(bytes));
}

void protobuf_packed_double(struct protobuf *message, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	protobuf_packed_fixed(message, bits);
}

void protobuf_fixed(struct protobuf *message, unsigned int field, uint64_t number)
{
	key(message, field, WIRE_TYPE_FIXED);
	protobuf_packed_fixed(message, number);
}

void protobuf_double(struct protobuf *message, unsigned int field, double number)
{
	key(message, field, WIRE_TYPE_FIXED);
	protobuf_packed_double(message, number);
}

void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t length)
{
	key(message, field, WIRE_TYPE_LENGTH);
	protobuf_varint(message, length);
	put(message, bytes, length);
}

void protobuf_string(struct protobuf *message, unsigned int field, const char *text)
{
	protobuf_bytes(message, field, text, strlen(text));
}

void protobuf_text(struct protobuf *message, unsigned int field, const char *text)
{
	cleanup_free char *valid = text_valid(text);

	if (valid)
		protobuf_string(message, field, valid);
	else
		message->failed = true;
}

void protobuf_message(struct protobuf *message, unsigned int field, struct protobuf *inner)
{
	protobuf_bytes(message, field, inner->bytes, inner->used);
	message->failed |= inner->failed;
	inner->used = 0;
}

/* False: it ends before. */
static bool read_varint(struct protobuf_reader *from, uint64_t *ret_number)
{
	*ret_number = 0;
	for (unsigned int shift = 0; shift < 64 && from->at < from->end; shift += 7) {
		uint8_t byte = *from->at++;

		*ret_number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

unsigned int protobuf_read(struct protobuf_reader *from, uint64_t *ret_number,
			   struct protobuf_reader *ret_bytes)
{
	uint64_t head;

	*ret_bytes = (struct protobuf_reader){0};
	if (!read_varint(from, &head) || !read_varint(from, ret_number))
		return 0;
	if ((head & 7) == WIRE_TYPE_LENGTH) {
		size_t left = (size_t)(from->end - from->at);
		size_t length = *ret_number < left ? (size_t)*ret_number : left;

		*ret_bytes = (struct protobuf_reader){from->at, from->at + length};
		from->at += length;
	} else if ((head & 7) != WIRE_TYPE_VARINT) {
		return 0;
	}
	return (unsigned int)(head >> 3);
}
