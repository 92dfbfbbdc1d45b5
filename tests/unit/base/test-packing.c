// SPDX-License-Identifier: GPL-2.0-or-later
/* What is packed here comes out as it was, by decoders that are written here or others'. */
#include "test.h"

#include <errno.h>
#include <zlib.h>

#include "base/gzip.h"
#include "base/protobuf.h"
#include "base/snappy.h"

#define MOST (300 << 10)

/* format_description.txt of Snappy; how long what it makes is. */
static size_t unpack(uint8_t *into, const uint8_t *packed, size_t length, size_t *ret_wanted)
{
	size_t at = 0, used = 0;
	unsigned int shift = 0;

	*ret_wanted = 0;
	do
		*ret_wanted |= (size_t)(packed[at] & 0x7f) << shift, shift += 7;
	while (packed[at++] & 0x80);
	while (at < length) {
		unsigned int kind = packed[at] & 3, upper = packed[at] >> 2;
		size_t count = upper + 1, offset = 0;

		at++;
		if (!kind) {
			if (upper >= 60) {
				count = 1;
				for (unsigned int i = 0; i < upper - 59; i++)
					count += (size_t)packed[at++] << (8 * i);
			}
			assert_true(at + count <= length && used + count <= MOST);
			memcpy(into + used, packed + at, count);
			at += count;
			used += count;
			continue;
		}
		assert_int_equal(kind, 2);
		offset = packed[at] | (size_t)packed[at + 1] << 8;
		at += 2;
		assert_true(offset && offset <= used && used + count <= MOST);
		for (size_t i = 0; i < count; i++, used++)
			into[used] = into[used - offset];
	}
	return used;
}

static size_t packed_length(const uint8_t *bytes, size_t length)
{
	static uint8_t again[MOST];
	size_t packed_bytes, wanted;
	char *packed = NULL;

	assert_int_equal(snappy_pack(bytes, length, &packed, &packed_bytes), 0);
	assert_int_equal(unpack(again, (const uint8_t *)packed, packed_bytes, &wanted), length);
	assert_int_equal(wanted, length);
	assert_memory_equal(again, bytes, length);
	free(packed);
	return packed_bytes;
}

CASE(snappy_gives_back_any_bytes)
{
	static const size_t lengths[] = {0,	1,     3,     4,      5,   59,	60,
					 61,	62,    255,   256,    257, 258, 65535,
					 65536, 65537, 65540, 131073, MOST};
	static uint8_t bytes[MOST];
	uint32_t random = 1;

	/* how many values a byte has: of few, much repeats */
	for (unsigned int values = 1; values <= 256; values *= 4) {
		for (size_t i = 0; i < MOST; i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (uint8_t)((random >> 24) % values);
		}
		for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
			packed_length(bytes, lengths[i]);
		for (size_t length = 0; length < 600; length++)
			packed_length(bytes + length, length);
	}
}

CASE(snappy_finds_what_repeats)
{
	static uint8_t bytes[100000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t) "dwell_thread_seconds_total{state=\"user\"}"[i % 40];
	assert_true(packed_length(bytes, sizeof(bytes)) < sizeof(bytes) / 15);
}

CASE(gzip_gives_back_the_bytes)
{
	char text[1000], again[1001], *packed = NULL;
	size_t length;
	z_stream stream = {0};

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * i);
	assert_int_equal(gzip_pack(text, sizeof(text), 6, &packed, &length), 0);
	assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	stream.next_in = (Bytef *)packed;
	stream.avail_in = (uInt)length;
	stream.next_out = (Bytef *)again;
	stream.avail_out = sizeof(again);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, sizeof(text));
	assert_memory_equal(again, text, sizeof(text));
	inflateEnd(&stream);

	memset(again, 0, sizeof(again));
	assert_int_equal(gzip_unpack(packed, length, again, sizeof(text)), 0);
	assert_memory_equal(again, text, sizeof(text));
	assert_int_equal(gzip_unpack(packed, length - 9, again, sizeof(text)), -EBADMSG);
	assert_int_equal(gzip_unpack(packed, length, again, sizeof(text) - 1), -EBADMSG);
	assert_int_equal(gzip_unpack(packed, length, again, sizeof(again)), -EBADMSG);
	packed[length / 2] ^= 0x55;
	assert_int_equal(gzip_unpack(packed, length, again, sizeof(text)), -EBADMSG);
	free(packed);
}

#define assert_bytes(message, ...)                                                                 \
	do {                                                                                       \
		const uint8_t wanted_[] = {__VA_ARGS__};                                           \
		assert_int_equal((message).used, sizeof(wanted_));                                 \
		assert_memory_equal((message).bytes, wanted_, sizeof(wanted_));                    \
		assert_false((message).failed);                                                    \
		(message).used = 0;                                                                \
	} while (0)

/* The examples of the specification, and edges. */
CASE(protobuf_is_written_as_specified)
{
	struct protobuf message = {0}, inner = {0};

	protobuf_number(&message, 1, 150);
	assert_bytes(message, 0x08, 0x96, 0x01);
	protobuf_string(&message, 2, "testing");
	assert_bytes(message, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g');
	protobuf_number(&inner, 1, 150);
	protobuf_message(&message, 3, &inner);
	assert_bytes(message, 0x1a, 0x03, 0x08, 0x96, 0x01);
	assert_int_equal(inner.used, 0);
	protobuf_number(&message, 1, 0);
	assert_int_equal(message.used, 0);
	protobuf_number(&message, 16, UINT64_MAX);
	assert_bytes(message, 0x80, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		     0x01);
	protobuf_fixed(&message, 4, 0);
	assert_bytes(message, 0x21, 0, 0, 0, 0, 0, 0, 0, 0);
	protobuf_double(&message, 5, 1.5);
	assert_bytes(message, 0x29, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f);
	protobuf_text(&message, 1, "a\xff");
	assert_bytes(message, 0x0a, 4, 'a', 0xef, 0xbf, 0xbd);
	free(message.bytes);
	free(inner.bytes);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(snappy_gives_back_any_bytes),
		cmocka_unit_test(snappy_finds_what_repeats),
		cmocka_unit_test(gzip_gives_back_the_bytes),
		cmocka_unit_test(protobuf_is_written_as_specified),
	};

	return RUN(cases);
}
