// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/gzip.h"

#include <errno.h>
#include <stdint.h>
#include <zlib.h>

#define WITH_HEADER (MAX_WBITS + 16)
#define MEMORY	    8 /* zlib's usual */

int gzip_pack(const void *bytes, size_t length, int level, char **ret_packed, size_t *ret_length)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)length};
	char *packed;
	size_t room;
	int result;

	if (length > UINT32_MAX / 2 || deflateInit2(&stream, level, Z_DEFLATED, WITH_HEADER, MEMORY,
						    Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	room = deflateBound(&stream, length);
	packed = malloc(room);
	stream.next_out = (Bytef *)packed;
	stream.avail_out = (uInt)room;
	result = packed ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	*ret_length = stream.total_out;
	deflateEnd(&stream);
	if (result != Z_STREAM_END) {
		free(packed);
		return -ENOMEM;
	}
	*ret_packed = packed;
	return 0;
}

int gzip_unpack(const char *packed, size_t packed_length, char *into, size_t length)
{
	z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed,
			   .avail_in = (uInt)packed_length,
			   .next_out = (Bytef *)into,
			   .avail_out = (uInt)length};
	int result;

	if (length > UINT32_MAX / 2 || packed_length > UINT32_MAX / 2)
		return -EBADMSG;
	if (inflateInit2(&stream, WITH_HEADER) != Z_OK)
		return -ENOMEM;
	result = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	return result == Z_STREAM_END && !stream.avail_out ? 0 : -EBADMSG;
}
