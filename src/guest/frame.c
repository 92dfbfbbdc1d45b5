// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"

#define MAGIC 0x6c6c7764u /* "dwll" */

static uint32_t crc_of(const struct frame_header *header, const void *payload)
{
	uLong crc = crc32(0, (const Bytef *)&header->kind,
			  sizeof(header->kind) + sizeof(header->length));

	return (uint32_t)crc32(crc, payload, header->length);
}

static int write_all(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t written = write(fd, bytes, length);
		struct pollfd ready = {.fd = fd, .events = POLLOUT};

		if (written < 0 && errno == EAGAIN)
			poll(&ready, 1, -1);
		else if (written < 0 && errno != EINTR)
			return -errno;
		bytes += written > 0 ? written : 0;
		length -= written > 0 ? (size_t)written : 0;
	}
	return 0;
}

int frame_write(int fd, enum frame_kind kind, const void *payload, size_t length)
{
	struct frame_header header = {
		.magic = MAGIC, .kind = (uint32_t)kind, .length = (uint32_t)length};
	char whole[sizeof(header) + FRAME_BYTES_MAX];

	if (length > FRAME_BYTES_MAX)
		return -EMSGSIZE;
	header.crc = crc_of(&header, payload);
	/* in one piece: each write to an emulated line costs as much as thousands of bytes */
	memcpy(whole, &header, sizeof(header));
	if (length)
		memcpy(whole + sizeof(header), payload, length);
	return write_all(fd, whole, sizeof(header) + length);
}

int frame_feed(struct frame_reader *reader, const void *bytes, size_t length)
{
	int result = array_reserve(&reader->bytes, &reader->room, reader->used + length, 1);

	if (result < 0)
		return result;
	memcpy(reader->bytes + reader->used, bytes, length);
	reader->used += length;
	return 0;
}

static void drop(struct frame_reader *reader, size_t count)
{
	memmove(reader->bytes, reader->bytes + count, reader->used - count);
	reader->used -= count;
}

/* Up to where a frame may begin. */
static void skip(struct frame_reader *reader)
{
	static const uint32_t magic = MAGIC;
	size_t at = 0;

	while (at < reader->used &&
	       memcmp(reader->bytes + at, &magic,
		      reader->used - at < sizeof(magic) ? reader->used - at : sizeof(magic)) != 0)
		at++;
	reader->skipped += at;
	if (at)
		drop(reader, at);
}

bool frame_next(struct frame_reader *reader, enum frame_kind *ret_kind, const char **ret_payload,
		size_t *ret_length)
{
	struct frame_header header;

	/* what was returned before is not needed any more */
	if (reader->returned) {
		drop(reader, reader->returned);
		reader->returned = 0;
	}
	for (;;) {
		skip(reader);
		if (reader->used < sizeof(header))
			return false;
		memcpy(&header, reader->bytes, sizeof(header));
		if (header.length > FRAME_BYTES_MAX) {
			reader->damaged++;
			drop(reader, 1);
			continue;
		}
		if (reader->used < sizeof(header) + header.length)
			return false;
		if (crc_of(&header, reader->bytes + sizeof(header)) == header.crc)
			break;
		reader->damaged++;
		drop(reader, 1);
	}
	*ret_kind = (enum frame_kind)header.kind;
	*ret_payload = reader->bytes + sizeof(header);
	*ret_length = header.length;
	reader->returned = sizeof(header) + header.length;
	return true;
}

void frame_release(struct frame_reader *reader)
{
	free(reader->bytes);
	*reader = (struct frame_reader){.bytes = NULL};
}
