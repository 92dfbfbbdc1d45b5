// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE /* memmem */
#include "capture/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "capture/delta.h"
#include "capture/record_check.h"
#include "capture/recording_format.h"
#include "capture/recording_layout.h"

struct chunk {
	uint64_t offset; /* of its header */
	uint64_t time_ns;
	uint32_t stored_bytes, raw_bytes, stored_crc;
	bool key;
	bool orphan;  /* it refers to a chunk that is damaged */
	bool counted; /* among those that could not be read */
};

struct recording {
	int fd;
	struct chunk *chunks;
	size_t chunk_room;
	size_t next;	/* chunk */
	bool broken;	/* the chunks from here to the next key refer to one that is missing */
	bool restarted; /* what comes next has no baseline */
	const struct recording_layout *layout; /* of the records to come */
	struct recording_layout said;	       /* by the recording; no states: not yet */
	union recording_laid_out laid_out;
	struct recording_facts facts;
	ZSTD_DCtx *zstd;
	struct delta delta;
	char *stored, *raw;
	size_t stored_room, raw_room;
};

static bool read_at(const struct recording *recording, void *into, size_t length, uint64_t offset)
{
	size_t done = 0;

	while (done < length) {
		ssize_t got = pread(recording->fd, (char *)into + done, length - done,
				    (off_t)(offset + done));

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
	char newer[32] = "a newer dwell";

	if (writer[1] || writer[2] || writer[3])
		snprintf(newer, sizeof(newer), "dwell %u.%u.%u or newer", writer[1], writer[2],
			 writer[3]);
	return error_set(error, EINVAL,
			 "%s is a recording of version %u.%u, this dwell reads %u.x to %u.x: use "
			 "%s",
			 path, header->major, header->minor, RECORDING_OLDEST, RECORDING_MAJOR,
			 newer);
}

static int check_header(struct recording *recording, const char *path, struct error *error)
{
	struct recording_header header;

	if (!read_at(recording, &header, sizeof(header), 0) ||
	    memcmp(header.magic, RECORDING_MAGIC, sizeof(header.magic)) != 0)
		return error_set(error, EINVAL, "%s is not a recording of dwell", path);
	if (header.byte_order == __builtin_bswap32(RECORDING_ORDER))
		return error_set(error, EINVAL,
				 "%s is from a machine of the other byte order: read it on one "
				 "like it",
				 path);
	if (header.crc != recording_crc(&header, offsetof(struct recording_header, crc)))
		return error_set(error, EINVAL, "%s: the header is damaged", path);
	if (header.major < RECORDING_OLDEST || header.major > RECORDING_MAJOR)
		return refuse_version(&header, path, error);
	recording->layout = header.major == 1 ? &recording_layout_1 : &recording_layout_2;
	delta_lay_out(&recording->delta, recording->layout);
	recording->facts.realtime_ns = header.realtime_ns;
	return 0;
}

static int add_chunk(struct recording *recording, struct chunk chunk)
{
	size_t count = (size_t)recording->facts.chunks;

	if (array_reserve(&recording->chunks, &recording->chunk_room, count + 1, sizeof(chunk)) < 0)
		return -ENOMEM;
	recording->chunks[count] = chunk;
	if (!count)
		recording->facts.first_ns = chunk.time_ns;
	recording->facts.last_ns = chunk.time_ns;
	recording->facts.raw_bytes += chunk.raw_bytes;
	recording->facts.chunks++;
	return 0;
}

static bool is_chunk(const struct chunk_header *header)
{
	return header->magic == CHUNK_MAGIC && header->raw_bytes <= CHUNK_MAX_BYTES &&
	       header->crc == recording_crc(header, offsetof(struct chunk_header, crc));
}

/* Where the next whole header is, from `offset` on; the file's size if there is none. */
static uint64_t resync(const struct recording *recording, uint64_t offset)
{
	static const __u32 magic = CHUNK_MAGIC;
	char window[65536];
	struct chunk_header header;

	while (offset < recording->facts.bytes) {
		uint64_t left = recording->facts.bytes - offset;
		size_t length = left < sizeof(window) ? (size_t)left : sizeof(window);
		char *at = window;

		if (!read_at(recording, window, length, offset))
			break;
		while ((at = memmem(at, (size_t)(window + length - at), &magic, sizeof(magic)))) {
			uint64_t found = offset + (uint64_t)(at - window);

			if (read_at(recording, &header, sizeof(header), found) && is_chunk(&header))
				return found;
			at++;
		}
		if (length == left)
			break;
		offset += length - (sizeof(magic) - 1);
	}
	return recording->facts.bytes;
}

static int scan(struct recording *recording)
{
	uint64_t offset = sizeof(struct recording_header);
	uint64_t damaged = 0;

	while (offset < recording->facts.bytes) {
		struct chunk_header header;
		uint64_t end;
		int result;

		if (!read_at(recording, &header, sizeof(header), offset) || !is_chunk(&header)) {
			uint64_t next = resync(recording, offset + 1);

			damaged += next - offset;
			offset = next;
			continue;
		}
		end = offset + sizeof(header) + header.stored_bytes;
		if (end > recording->facts.bytes) {
			damaged += recording->facts.bytes - offset;
			break;
		}
		recording->facts.damaged_bytes += damaged;
		result = add_chunk(recording, (struct chunk){.offset = offset,
							     .time_ns = header.time_ns,
							     .stored_bytes = header.stored_bytes,
							     .raw_bytes = header.raw_bytes,
							     .stored_crc = header.stored_crc,
							     .key = header.flags & CHUNK_KEY});
		if (result < 0)
			return result;
		recording->chunks[recording->facts.chunks - 1].orphan =
			damaged && !(header.flags & CHUNK_KEY);
		damaged = 0;
		offset = end;
	}
	recording->facts.tail_bytes = damaged;
	return 0;
}

int recording_open(struct recording **ret_recording, const char *path, struct error *error)
{
	struct recording *recording;
	struct stat status;
	int result = 0;

	if (!strcmp(path, "-"))
		return error_set(error, EINVAL,
				 "a recording is read from a file, not from a pipe: name it, or "
				 "./- for a file of that name");
	recording = calloc(1, sizeof(*recording));
	if (!recording)
		return error_set(error, ENOMEM, "out of memory");
	/* a FIFO that nothing writes to would be waited for */
	recording->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	recording->zstd = ZSTD_createDCtx();
	if (recording->fd < 0 || fstat(recording->fd, &status) < 0)
		result = error_set(error, errno, "cannot read %s: %s", path, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		result = error_set(error, EINVAL, "%s is not a regular file", path);
	else if (!recording->zstd)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0) {
		recording->facts.bytes = (uint64_t)status.st_size;
		result = check_header(recording, path, error);
	}
	if (result >= 0 && scan(recording) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0 && !recording->facts.chunks)
		result = error_set(error, EINVAL, "%s has no whole interval", path);
	if (result < 0) {
		recording_close(recording);
		return result;
	}
	*ret_recording = recording;
	return 0;
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	if (recording->fd >= 0)
		close(recording->fd);
	ZSTD_freeDCtx(recording->zstd);
	delta_release(&recording->delta);
	free(recording->chunks);
	free(recording->stored);
	free(recording->raw);
	free(recording);
}

const struct recording_facts *recording_facts(const struct recording *recording)
{
	return &recording->facts;
}

/* 0, or -EBADMSG for a chunk that is not what was written. */
static int unpack(struct recording *recording, const struct chunk *chunk)
{
	size_t length;

	if (array_reserve(&recording->stored, &recording->stored_room, chunk->stored_bytes, 1) < 0)
		return -ENOMEM;
	if (chunk->orphan)
		return -EBADMSG;
	if (!read_at(recording, recording->stored, chunk->stored_bytes,
		     chunk->offset + sizeof(struct chunk_header)) ||
	    recording_crc(recording->stored, chunk->stored_bytes) != chunk->stored_crc)
		return -EBADMSG;
	/* a frame of a few bytes may claim to unpack to anything: believe it only if it says so
	   itself */
	if (ZSTD_getFrameContentSize(recording->stored, chunk->stored_bytes) != chunk->raw_bytes)
		return -EBADMSG;
	if (array_reserve(&recording->raw, &recording->raw_room, chunk->raw_bytes, 1) < 0)
		return -ENOMEM;
	length = ZSTD_decompressDCtx(recording->zstd, recording->raw, chunk->raw_bytes,
				     recording->stored, chunk->stored_bytes);
	return ZSTD_isError(length) || length != chunk->raw_bytes ? -EBADMSG : 0;
}

/* At the beginning of each key chunk, always the same. */
static int take_layout(struct recording *recording, const struct wire_header *record)
{
	struct recording_layout layout;

	if (recording_layout_read(&layout, record) < 0)
		return -EBADMSG;
	if (recording->said.states)
		return memcmp(&layout, &recording->said, sizeof(layout)) ? -EBADMSG : 0;
	recording->said = layout;
	recording->layout = &recording->said;
	delta_lay_out(&recording->delta, recording->layout);
	return 0;
}

/* 1, -EBADMSG, or what the sink says. */
static int send_records(struct recording *recording, const struct chunk *chunk,
			struct record_sink sink)
{
	bool is_first = true;
	size_t at = 0;

	for (; at < chunk->raw_bytes; is_first = false) {
		const struct wire_header *record;
		long size = delta_decode(&recording->delta, recording->raw + at,
					 chunk->raw_bytes - at, &record);
		int result;

		if (size < 0)
			return (int)size;
		at += (size_t)size;
		if (record->kind == RECORDING_LAYOUT) {
			if (!is_first || take_layout(recording, record) < 0)
				return -EBADMSG;
			continue;
		}
		record = recording_lay_out(record, recording->layout, &recording->laid_out);
		if (!record_is_sound(record))
			return -EBADMSG;
		result = sink_send(sink, record);
		if (result < 0)
			return result == -EBADMSG ? -EIO : result;
	}
	delta_next(&recording->delta);
	return 1;
}

/* One may be met again after recording_seek(). */
static void count_once(struct chunk *chunk, uint64_t *counter)
{
	*counter += !chunk->counted;
	chunk->counted = true;
}

int recording_next(struct recording *recording, struct record_sink sink, struct error *error)
{
	static const struct wire_header restart = {.size = sizeof(restart), .kind = WIRE_RESTART};

	while (recording->next < recording->facts.chunks) {
		struct chunk *chunk = &recording->chunks[recording->next++];
		int result;

		if (chunk->key) {
			delta_clear(&recording->delta);
			recording->broken = false;
		}
		if (recording->broken) {
			count_once(chunk, &recording->facts.dependent_chunks);
			continue;
		}
		result = unpack(recording, chunk);
		if (result == 0 && recording->restarted)
			result = sink_send(sink, &restart);
		if (result == 0)
			result = send_records(recording, chunk, sink);
		if (result == -ENOMEM)
			return error_set(error, ENOMEM, "out of memory");
		if (result == -EBADMSG) {
			count_once(chunk, chunk->orphan ? &recording->facts.dependent_chunks
							: &recording->facts.damaged_chunks);
			recording->broken = recording->restarted = true;
			continue;
		}
		if (result < 0)
			return error_set(error, -result, "%s", strerror(-result));
		recording->restarted = false;
		return 1;
	}
	return 0;
}

void recording_seek(struct recording *recording, uint64_t time_ns)
{
	size_t at = 0, keys[2] = {0, 0};

	/* a key chunk gives the baseline only: what is wanted must lie behind it */
	for (; at < recording->facts.chunks && recording->chunks[at].time_ns < time_ns; at++) {
		if (recording->chunks[at].key) {
			keys[0] = keys[1];
			keys[1] = at;
		}
	}
	/* one that is the last chunk too gives a baseline, and nothing after it */
	recording->next = keys[1] + 1 < recording->facts.chunks ? keys[1] : keys[0];
	recording->restarted = true;
	recording->broken = false;
}

uint64_t recording_next_ns(const struct recording *recording)
{
	return recording->next < recording->facts.chunks
		       ? recording->chunks[recording->next].time_ns
		       : 0;
}
