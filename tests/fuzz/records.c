// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the records of chunks, in a file whose checksums are right. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "capture/recording_format.h"

#define CHUNKS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recording_header header = {
		.magic = RECORDING_MAGIC, .major = RECORDING_MAJOR, .byte_order = RECORDING_ORDER};
	size_t room =
		sizeof(header) + CHUNKS * (sizeof(struct chunk_header) + ZSTD_compressBound(size));
	uint8_t *file = malloc(room);
	size_t used = sizeof(header);

	header.crc = recording_crc(&header, offsetof(struct recording_header, crc));
	memcpy(file, &header, sizeof(header));
	for (size_t i = 0; i < CHUNKS; i++) {
		struct chunk_header chunk = {
			.magic = CHUNK_MAGIC, .flags = i ? 0 : CHUNK_KEY, .time_ns = i + 1};
		const uint8_t *part = data + size / CHUNKS * i;
		size_t length = size / CHUNKS;

		chunk.raw_bytes = (__u32)length;
		chunk.stored_bytes = (__u32)ZSTD_compress(
			file + used + sizeof(chunk), room - used - sizeof(chunk), part, length, 1);
		chunk.stored_crc = recording_crc(file + used + sizeof(chunk), chunk.stored_bytes);
		chunk.crc = recording_crc(&chunk, offsetof(struct chunk_header, crc));
		memcpy(file + used, &chunk, sizeof(chunk));
		used += sizeof(chunk) + chunk.stored_bytes;
	}
	harness_show(file, used);
	free(file);
	return 0;
}
