/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of protocol buffers, written and read field by field:
 * https://protobuf.dev/programming-guides/encoding/. So few kinds of messages are written that a
 * code generator would be more to keep.
 */
#ifndef DWELL_BASE_PROTOBUF_H
#define DWELL_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a message; all zeros is empty. The bytes are the caller's to free. */
struct protobuf {
	uint8_t *bytes;
	size_t used, room;
	bool failed; /* there was no memory, and bytes are missing */
};

/* A number without its field, as packed fields have them. */
void protobuf_varint(struct protobuf *message, uint64_t number);

/* int64, uint64, bool and enumerations; 0 is the default, and left out. */
void protobuf_number(struct protobuf *message, unsigned int field, uint64_t number);

/* fixed64 and sfixed64, also 0; without their field in packed ones. */
void protobuf_fixed(struct protobuf *message, unsigned int field, uint64_t number);
void protobuf_double(struct protobuf *message, unsigned int field, double number);
void protobuf_packed_fixed(struct protobuf *message, uint64_t number);
void protobuf_packed_double(struct protobuf *message, double number);

/* bytes, and strings, which are to be valid UTF-8. */
void protobuf_bytes(struct protobuf *message, unsigned int field, const void *bytes, size_t length);
void protobuf_string(struct protobuf *message, unsigned int field, const char *text);

/* The same of any bytes: what is no valid UTF-8 becomes U+FFFD. */
void protobuf_text(struct protobuf *message, unsigned int field, const char *text);

/* Puts `inner` into `message`, and empties it. */
void protobuf_message(struct protobuf *message, unsigned int field, struct protobuf *inner);

/* What is left of a message that is read. */
struct protobuf_reader {
	const uint8_t *at, *end;
};

/*
 * The next field: a number in *ret_number, or bytes, which may be a message. `ret_bytes->at` is
 * NULL for a number; of bytes that end before they should, those that there are. 0: there is no
 * more, or a field of another kind.
 */
unsigned int protobuf_read(struct protobuf_reader *from, uint64_t *ret_number,
			   struct protobuf_reader *ret_bytes);

#endif
