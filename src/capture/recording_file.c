// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memmem */
#include "capture/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/recording_format.h"
#include "version.h"

bool recording_file_read(const struct recording_file *file, void *into, size_t length,
			 uint64_t offset)
{
	size_t done = 0;

	while (done < length) {
		ssize_t got =
			pread(file->fd, (char *)into + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static int refuse_version(const struct recording_header *header, const char *path,
			  struct error *error)
{
	const __u8 *writer = header->written_by;
	char version[16] = "", by[24] = "a newer dwell";

	if (writer[1] || writer[2] || writer[3]) {
		snprintf(version, sizeof(version), "%u.%u.%u", writer[1], writer[2], writer[3]);
		snprintf(by, sizeof(by), "dwell %s", version);
	}
	return error_set(error, EINVAL,
			 "%s was written by %s and needs %s%s: it is in version %u.%u of the "
			 "format, of which this dwell (" DWELL_VERSION ") reads %u.x to %u.x",
			 path, by, *version ? "dwell >= " : "that", version, header->major,
			 header->minor, RECORDING_OLDEST, RECORDING_MAJOR);
}

static int check_header(struct recording_file *file, struct error *error)
{
	struct recording_header header;

	if (!recording_file_read(file, &header, sizeof(header), 0) ||
	    memcmp(header.magic, RECORDING_MAGIC, sizeof(header.magic)) != 0)
		return error_set(error, EINVAL, "%s is not a recording of dwell", file->path);
	if (header.byte_order == __builtin_bswap32(RECORDING_ORDER))
		return error_set(error, EINVAL,
				 "%s is from a machine of the other byte order: read it on one "
				 "like it",
				 file->path);
	if (header.crc != recording_crc(&header, offsetof(struct recording_header, crc)))
		return error_set(error, EINVAL, "%s: the header is damaged", file->path);
	if (header.major < RECORDING_OLDEST || header.major > RECORDING_MAJOR)
		return refuse_version(&header, file->path, error);
	file->layout = header.major == 1 ? &recording_layout_1 : &recording_layout_2;
	file->begun_realtime_ns = header.realtime_ns;
	return 0;
}

static bool is_chunk(const struct chunk_header *header)
{
	return header->magic == CHUNK_MAGIC && header->raw_bytes <= CHUNK_MAX_BYTES &&
	       header->crc == recording_crc(header, offsetof(struct chunk_header, crc));
}

/* Where the next whole header is, from `offset` on; the file's size if there is none. */
static uint64_t resync(const struct recording_file *file, uint64_t offset)
{
	static const __u32 magic = CHUNK_MAGIC;
	char window[65536];
	struct chunk_header header;

	while (offset < file->bytes) {
		uint64_t left = file->bytes - offset;
		size_t length = left < sizeof(window) ? (size_t)left : sizeof(window);
		char *at = window;

		if (!recording_file_read(file, window, length, offset))
			break;
		while ((at = memmem(at, (size_t)(window + length - at), &magic, sizeof(magic)))) {
			uint64_t found = offset + (uint64_t)(at - window);

			if (recording_file_read(file, &header, sizeof(header), found) &&
			    is_chunk(&header))
				return found;
			at++;
		}
		if (length == left)
			break;
		offset += length - (sizeof(magic) - 1);
	}
	return file->bytes;
}

static int scan(struct recording_file *file)
{
	uint64_t offset = sizeof(struct recording_header);
	uint64_t damaged = 0;

	while (offset < file->bytes) {
		struct chunk_header header;
		uint64_t end;

		if (!recording_file_read(file, &header, sizeof(header), offset) ||
		    !is_chunk(&header)) {
			uint64_t next = resync(file, offset + 1);

			damaged += next - offset;
			offset = next;
			continue;
		}
		end = offset + sizeof(header) + header.stored_bytes;
		if (end > file->bytes) {
			damaged += file->bytes - offset;
			break;
		}
		file->damaged_bytes += damaged;
		if (array_reserve(&file->chunks, &file->chunk_room, file->chunk_count + 1,
				  sizeof(*file->chunks)) < 0)
			return -ENOMEM;
		file->chunks[file->chunk_count++] = (struct recording_chunk){
			.offset = offset,
			.time_ns = header.time_ns,
			.realtime_ns = header.realtime_ns,
			.stored_bytes = header.stored_bytes,
			.raw_bytes = header.raw_bytes,
			.stored_crc = header.stored_crc,
			.key = header.flags & CHUNK_KEY,
			.orphan = damaged && !(header.flags & CHUNK_KEY),
		};
		damaged = 0;
		offset = end;
	}
	file->tail_bytes = damaged;
	return 0;
}

int recording_file_open(struct recording_file *file, const char *path, struct error *error)
{
	struct stat status;
	int result = 0;

	*file = (struct recording_file){.fd = -1, .path = strdup(path)};
	if (!file->path)
		return error_set(error, ENOMEM, "out of memory");
	/* a FIFO that nothing writes to would be waited for */
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (file->fd < 0 || fstat(file->fd, &status) < 0)
		result = error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		result = error_set(error, EINVAL, "%s is not a regular file", path);
	if (result >= 0) {
		file->bytes = (uint64_t)status.st_size;
		result = check_header(file, error);
	}
	if (result >= 0 && scan(file) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0 && !file->chunk_count)
		result = error_set(error, ENODATA, "%s has no whole interval", path);
	return result;
}

void recording_file_release(struct recording_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->chunks);
	free(file->path);
	*file = (struct recording_file){.fd = -1};
}
