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

/* Also where the descriptor does not block: waits for room. */
static int write_waiting(int fd, const char *bytes, size_t length)
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
	return write_waiting(fd, whole, sizeof(header) + length);
}

int frame_feed(struct frame_reader *reader, const void *bytes, size_t length)
{
	size_t left = reader->used - reader->start;
	int result;

	/* here, once for all frames of what came at once, and not at each of them */
	if (reader->start)
		memmove(reader->bytes, reader->bytes + reader->start, left);
	reader->start = 0;
	reader->used = left;
	result = array_reserve(&reader->bytes, &reader->room, left + length, 1);
	if (result < 0)
		return result;
	memcpy(reader->bytes + left, bytes, length);
	reader->used += length;
	return 0;
}

/* Up to where a frame may begin. */
static void skip(struct frame_reader *reader)
{
	static const uint32_t magic = MAGIC;
	size_t before = reader->start;

	while (reader->start < reader->used) {
		size_t left = reader->used - reader->start;

		if (!memcmp(reader->bytes + reader->start, &magic,
			    left < sizeof(magic) ? left : sizeof(magic)))
			break;
		reader->start++;
	}
	reader->skipped += reader->start - before;
}

static bool is_whole(struct frame_reader *reader, const struct frame_header *header)
{
	const char *payload = reader->bytes + reader->start + sizeof(*header);

	return header->length <= FRAME_BYTES_MAX && crc_of(header, payload) == header->crc;
}

bool frame_next(struct frame_reader *reader, enum frame_kind *ret_kind, const char **ret_payload,
		size_t *ret_length)
{
	struct frame_header header;

	for (;;) {
		size_t left;

		skip(reader);
		left = reader->used - reader->start;
		if (left < sizeof(header))
			return false;
		memcpy(&header, reader->bytes + reader->start, sizeof(header));
		if (header.length <= FRAME_BYTES_MAX && left < sizeof(header) + header.length)
			return false;
		if (is_whole(reader, &header))
			break;
		reader->damaged++;
		reader->start++;
	}
	*ret_kind = (enum frame_kind)header.kind;
	*ret_payload = reader->bytes + reader->start + sizeof(header);
	*ret_length = header.length;
	reader->start += sizeof(header) + header.length;
	return true;
}

void frame_release(struct frame_reader *reader)
{
	free(reader->bytes);
	*reader = (struct frame_reader){.bytes = NULL};
}
