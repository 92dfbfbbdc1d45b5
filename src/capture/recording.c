// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/recording.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "base/duration.h"
#include "capture/delta.h"
#include "capture/record_check.h"
#include "capture/recording_format.h"
#include "capture/recording_file.h"
#include "capture/recording_layout.h"
#include "capture/recording_paths.h"

#define BOOT_BYTES sizeof(((struct wire_session *)NULL)->boot)

struct recording {
	struct recording_file *files;	   /* in the order they were written */
	size_t file_count, first_file;	   /* those before it are of another boot */
	bool is_ring;			   /* its files were found, not named */
	struct recording_chunk *chunks;	   /* of all files */
	size_t next;			   /* chunk */
	const struct recording_file *file; /* of the last chunk */
	bool broken;	/* the chunks from here to the next key refer to one that is missing */
	bool restarted; /* what comes next has no baseline */
	const struct recording_layout *layout; /* of the records to come */
	struct recording_layout said;	       /* by the file; no states: not yet */
	union recording_laid_out laid_out;
	struct recording_facts facts;
	ZSTD_DCtx *zstd;
	struct delta delta;
	char *stored, *raw;
	size_t stored_room, raw_room;
};
static int by_time(const void *left, const void *right)
{
	const struct recording_file *a = left, *b = right;

	return (a->begun_realtime_ns > b->begun_realtime_ns) -
	       (a->begun_realtime_ns < b->begun_realtime_ns);
}

/* Removed since it was found, or just begun: of a ring, that is none of its files. */
static bool is_none(int result)
{
	return result == -ENOENT || result == -ENODATA;
}

static int open_files(struct recording *recording, const struct recording_paths *paths,
		      struct error *error)
{
	int result = 0;

	recording->is_ring = paths->are_found;
	recording->files = calloc(paths->count, sizeof(*recording->files));
	if (!recording->files)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; result >= 0 && i < paths->count; i++) {
		struct recording_file *file = &recording->files[recording->file_count];

		result = recording_file_open(file, paths->items[i], error);
		if (result >= 0) {
			recording->file_count++;
			continue;
		}
		recording_file_release(file);
		/* what the last one says, if there is no other */
		if (recording->is_ring && is_none(result) &&
		    (recording->file_count || i + 1 < paths->count))
			result = 0;
	}
	/* what was found is in the order of its names, also where the clock was set back */
	if (result >= 0 && !recording->is_ring)
		qsort(recording->files, recording->file_count, sizeof(*recording->files), by_time);
	return result;
}

static const struct recording_chunk *first_chunk(const struct recording_file *file)
{
	return &file->chunks[0];
}

static const struct recording_chunk *last_chunk(const struct recording_file *file)
{
	return &file->chunks[file->chunk_count - 1];
}

/* Those that have nothing of the time that is asked for are closed. */
static void choose_files(struct recording *recording)
{
	const struct recording_facts *facts = &recording->facts;
	size_t kept = 0;

	for (size_t i = 0; i < recording->file_count; i++) {
		struct recording_file *file = &recording->files[i];

		if (last_chunk(file)->realtime_ns <= facts->since_realtime_ns ||
		    (facts->until_realtime_ns &&
		     file->begun_realtime_ns >= facts->until_realtime_ns))
			recording_file_release(file);
		else
			recording->files[kept++] = *file;
	}
	recording->file_count = kept;
}

static int list_chunks(struct recording *recording)
{
	struct recording_facts *facts = &recording->facts;
	size_t count = 0;

	for (size_t i = 0; i < recording->file_count; i++)
		count += recording->files[i].chunk_count;
	recording->chunks = calloc(count, sizeof(*recording->chunks));
	if (!recording->chunks)
		return -ENOMEM;
	for (size_t i = 0; i < recording->file_count; i++) {
		struct recording_file *file = &recording->files[i];

		for (size_t j = 0; j < file->chunk_count; j++) {
			struct recording_chunk *chunk = &recording->chunks[facts->chunks++];

			*chunk = file->chunks[j];
			chunk->file = file;
			facts->raw_bytes += chunk->raw_bytes;
		}
		/* its own list is not looked at again: a day has 86,400 */
		free(file->chunks);
		file->chunks = NULL;
		file->chunk_count = 0;
		facts->bytes += file->bytes;
		facts->damaged_bytes += file->damaged_bytes;
		facts->tail_bytes += file->tail_bytes;
	}
	facts->files = recording->file_count;
	facts->realtime_ns = recording->files[0].begun_realtime_ns;
	facts->first_ns = recording->chunks[0].time_ns;
	facts->last_ns = recording->chunks[facts->chunks - 1].time_ns;
	return 0;
}

static void go_to_since(struct recording *recording)
{
	const struct recording_facts *facts = &recording->facts;

	for (size_t i = 0; i < facts->chunks; i++) {
		if (recording->chunks[i].realtime_ns < facts->since_realtime_ns)
			continue;
		if (i)
			recording_seek(recording, recording->chunks[i].time_ns);
		return;
	}
}

const struct recording_facts *recording_facts(const struct recording *recording)
{
	return &recording->facts;
}

/* Its first chunk refers to nothing before it, and what came before is not continued. */
static void begin_file(struct recording *recording, const struct recording_file *file)
{
	recording->restarted |= recording->file != NULL;
	recording->file = file;
	recording->layout = file->layout;
	recording->said = (struct recording_layout){.states = 0};
	delta_lay_out(&recording->delta, recording->layout);
}

/* 0, or -EBADMSG for a chunk that is not what was written. */
static int unpack(struct recording *recording, const struct recording_chunk *chunk)
{
	size_t length;

	if (array_reserve(&recording->stored, &recording->stored_room, chunk->stored_bytes, 1) < 0)
		return -ENOMEM;
	if (chunk->orphan)
		return -EBADMSG;
	if (!recording_file_read(chunk->file, recording->stored, chunk->stored_bytes,
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
static int send_records(struct recording *recording, const struct recording_chunk *chunk,
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

static int take_boot(void *data, const struct wire_header *record)
{
	const struct wire_session *session = (const void *)record;

	if (record->kind == WIRE_SESSION)
		memcpy(data, session->boot, BOOT_BYTES);
	return 0;
}

/* What the first chunk of a file says; all zeros: nothing. Reading begins at the first file then.
 */
static void read_boot(struct recording *recording, const struct recording_file *file,
		      __u8 boot[BOOT_BYTES])
{
	struct recording_chunk chunk = *first_chunk(file);
	struct record_sink sink = {take_boot, boot};

	memset(boot, 0, BOOT_BYTES);
	chunk.file = file;
	begin_file(recording, file);
	if (unpack(recording, &chunk) == 0)
		(void)!send_records(recording, &chunk, sink);
	delta_clear(&recording->delta);
	recording->file = NULL;
	recording->restarted = false;
}

/* How far the clock may be set, or drift, between two files of one boot that do not say theirs. */
#define CLOCK_SET_NS (5 * 60 * NS_PER_S)

static bool is_same_clock(const struct recording_chunk *before, const struct recording_chunk *after)
{
	int64_t moved_ns = (int64_t)(after->realtime_ns - after->time_ns -
				     (before->realtime_ns - before->time_ns));

	return moved_ns < (int64_t)CLOCK_SET_NS && moved_ns > -(int64_t)CLOCK_SET_NS;
}

static bool is_later(const struct recording_chunk *before, const struct recording_chunk *after)
{
	return after->time_ns >= before->time_ns;
}

/* Both clocks go on, or the files say it: one of the clocks stands still in a suspend. */
static bool is_same_boot(struct recording *recording, const struct recording_file *before,
			 const struct recording_file *file)
{
	static const __u8 none[BOOT_BYTES];
	bool same_clock = is_same_clock(last_chunk(before), first_chunk(file));
	__u8 boots[2][BOOT_BYTES];

	if (same_clock && is_later(last_chunk(before), first_chunk(file)))
		return true;
	read_boot(recording, before, boots[0]);
	read_boot(recording, file, boots[1]);
	if (!memcmp(boots[0], none, BOOT_BYTES) || !memcmp(boots[1], none, BOOT_BYTES))
		return same_clock;
	return !memcmp(boots[0], boots[1], BOOT_BYTES);
}

/* Files of one boot follow each other. */
static int check_order(struct recording *recording, struct error *error)
{
	for (size_t i = recording->file_count - 1; i > 0; i--) {
		struct recording_file *before = &recording->files[i - 1], *file = before + 1;

		if (!is_same_boot(recording, before, file)) {
			if (!recording->is_ring)
				return error_set(
					error, EINVAL,
					"%s and %s come from different boots, or machines: "
					"give one after the other",
					before->path, file->path);
			recording->facts.older_files = i;
			for (size_t j = 0; j < i; j++)
				recording_file_release(&recording->files[j]);
			recording->file_count -= i;
			memmove(recording->files, file,
				recording->file_count * sizeof(*recording->files));
			return 0;
		}
		if (!is_later(last_chunk(before), first_chunk(file)))
			return error_set(error, EINVAL,
					 "%s and %s have the same time: give one of them",
					 before->path, file->path);
	}
	return 0;
}

static int choose(struct recording *recording, const struct recording_choice *choice,
		  struct error *error)
{
	const struct recording_file *last = &recording->files[recording->file_count - 1];
	uint64_t end_ns = last_chunk(last)->realtime_ns;
	struct recording_facts *facts = &recording->facts;
	int result;

	facts->since_realtime_ns = moment_ns(&choice->window.since, end_ns);
	facts->until_realtime_ns = moment_ns(&choice->window.until, end_ns);
	if (facts->until_realtime_ns && facts->until_realtime_ns <= facts->since_realtime_ns)
		return error_set(error, EINVAL, "--until is not after --since");
	choose_files(recording);
	if (!recording->file_count)
		return error_set(error, EINVAL, "%s has nothing of that time", choice->paths[0]);
	result = check_order(recording, error);
	if (result >= 0 && list_chunks(recording) < 0)
		result = error_set(error, ENOMEM, "out of memory");
	if (result >= 0)
		go_to_since(recording);
	return result;
}

int recording_open(struct recording **ret_recording, const struct recording_choice *choice,
		   struct error *error)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	struct recording_paths paths = {.are_found = false};
	int result = 0;

	if (!recording || !(recording->zstd = ZSTD_createDCtx()))
		result = error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; result >= 0 && i < choice->count; i++)
		result = recording_paths_add(&paths, choice->paths[i], error);
	if (result >= 0)
		result = open_files(recording, &paths, error);
	if (result >= 0)
		result = choose(recording, choice, error);
	recording_paths_release(&paths);
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
	for (size_t i = 0; i < recording->file_count; i++)
		recording_file_release(&recording->files[i]);
	ZSTD_freeDCtx(recording->zstd);
	delta_release(&recording->delta);
	free(recording->files);
	free(recording->chunks);
	free(recording->stored);
	free(recording->raw);
	free(recording);
}

/* One may be met again after recording_seek(). */
static void count_once(struct recording_chunk *chunk, uint64_t *counter)
{
	*counter += !chunk->counted;
	chunk->counted = true;
}

int recording_next(struct recording *recording, struct record_sink sink, struct error *error)
{
	static const struct wire_header restart = {.size = sizeof(restart), .kind = WIRE_RESTART};

	while (recording->next < recording->facts.chunks) {
		struct recording_chunk *chunk = &recording->chunks[recording->next++];
		int result;

		if (chunk->file != recording->file)
			begin_file(recording, chunk->file);
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
