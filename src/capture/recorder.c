// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/identities.h"
#include "base/limits.h"
#include "base/text.h"
#include "capture/delta.h"
#include "capture/record_check.h"
#include "capture/recording_format.h"
#include "capture/recording_layout.h"
#include "version.h"

/* Reading can begin, or go on after damage, at each of these; they cost some space. */
#define KEY_EVERY 8
/* Fastest: differences are mostly zeros, so a higher one gains little. */
#define COMPRESSION_LEVEL 1

#define STANDING_MISSING  16

/* wire_missing.source of what is left out of the file. */
#define SOURCE_RECORDING "recording"

/* Records that others refer to by a number, kept to be written again. */
struct kept {
	struct kept_record {
		struct wire_header *record; /* NULL: there is none of that number */
		uint64_t period;	    /* it was last written in */
	} * items;
	size_t count, room;
};

/*
 * What readers must know that begin at a later key chunk. A session and what it misses are written
 * again at its beginning; a cgroup, a stack and its frames before the first there that refers to
 * them.
 */
struct standing {
	struct wire_session session; /* size 0: not sent yet */
	struct wire_missing missing[STANDING_MISSING];
	size_t missing_count;
	struct identities cgroup_ids; /* (0, id) */
	struct kept cgroups;	      /* by number of the id */
	struct kept frames, stacks;   /* by id */
	uint64_t last_cgroup_id;      /* of the thread before: most often the next one's too */
	uint64_t period;	      /* from one key chunk to the next; from 1 */
};

struct recorder {
	struct file_draft file;
	char *path;
	bool force;
	ZSTD_CCtx *zstd;
	struct standing standing;
	struct delta delta;
	char *raw; /* differences of the present interval */
	size_t raw_used, raw_room;
	char *stored;
	size_t stored_room;
	uint64_t chunks, bytes;
	uint64_t unsound;   /* records left out: readers would refuse the chunk for one of them */
	uint64_t intervals; /* and the instant from which the first one counts */
};

static int fail(const struct recorder *recorder, int code, struct error *error)
{
	uint64_t intervals = recorder->intervals ? recorder->intervals - 1 : 0;

	if (!intervals)
		return error_set(error, code, "cannot write to %s: %s", recorder->path,
				 limits_strerror(code));
	return error_set(error, code,
			 "cannot write to %s: %s; the file can be read, with %llu interval%s",
			 recorder->path, limits_strerror(code), (unsigned long long)intervals,
			 text_plural(intervals));
}

/* All or nothing. */
static int append(struct recorder *recorder, struct iovec *parts, int count, struct error *error)
{
	size_t whole = 0;

	for (int i = 0; i < count; i++)
		whole += parts[i].iov_len;
	for (size_t left = whole; left;) {
		ssize_t written = writev(recorder->file.fd, parts, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int code = written < 0 ? errno : ENOSPC;

			/* cutting back cannot fail for want of space; if it does, the reader copes
			 */
			if (ftruncate(recorder->file.fd, (off_t)recorder->bytes) < 0)
				code = code ? code : errno;
			return fail(recorder, code, error);
		}
		left -= (size_t)written;
		while (count && (size_t)written >= parts->iov_len) {
			written -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count) {
			parts->iov_base = (char *)parts->iov_base + written;
			parts->iov_len -= (size_t)written;
		}
	}
	recorder->bytes += whole;
	return 0;
}

static void kept_clear(struct kept *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		free(kept->items[i].record);
	kept->count = 0;
}

static void kept_release(struct kept *kept)
{
	kept_clear(kept);
	free(kept->items);
}

static int kept_add(struct kept *kept, size_t number, const struct wire_header *record,
		    uint64_t period)
{
	struct wire_header *copy = malloc(record->size);

	if (!copy ||
	    array_reserve(&kept->items, &kept->room, number + 1, sizeof(*kept->items)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	while (kept->count <= number)
		kept->items[kept->count++] = (struct kept_record){0};
	memcpy(copy, record, record->size);
	free(kept->items[number].record);
	kept->items[number] = (struct kept_record){copy, period};
	return 0;
}

/* NULL: it need not be written again. It is the caller's to write it now. */
static const struct wire_header *kept_take(struct kept *kept, size_t number, uint64_t period)
{
	if (number >= kept->count || !kept->items[number].record ||
	    kept->items[number].period == period)
		return NULL;
	kept->items[number].period = period;
	return kept->items[number].record;
}

static int write_header(struct recorder *recorder, struct error *error)
{
	struct recording_header header = {
		.magic = RECORDING_MAGIC,
		.major = RECORDING_MAJOR,
		.minor = RECORDING_MINOR,
		.byte_order = RECORDING_ORDER,
		.realtime_ns = clock_realtime_ns(),
	};
	struct iovec part = {&header, sizeof(header)};

	sscanf(DWELL_VERSION, "%hhu.%hhu.%hhu", &header.written_by[1], &header.written_by[2],
	       &header.written_by[3]);
	header.crc = recording_crc(&header, offsetof(struct recording_header, crc));
	return append(recorder, &part, 1, error);
}

static int open_file(struct recorder *recorder, const char *path, bool force, struct error *error)
{
	int result;

	free(recorder->path);
	recorder->path = strdup(path);
	if (!recorder->path)
		return error_set(error, ENOMEM, "out of memory");
	/* it has the names and addresses of all programs: nothing for others */
	result = file_draft_open(&recorder->file, AT_FDCWD, path, 0600, force);
	return result < 0 ? file_draft_refused(path, result, error) : write_header(recorder, error);
}

int recorder_open(struct recorder **ret_recorder, const char *path, bool force, struct error *error)
{
	struct recorder *recorder;
	int result;

	if (path && !strcmp(path, "-"))
		return error_set(error, EINVAL,
				 "a recording is a file, not standard output: name it, or ./- for "
				 "a file of that name");
	recorder = calloc(1, sizeof(*recorder));
	if (!recorder)
		return error_set(error, ENOMEM, "out of memory");
	recorder->file = FILE_DRAFT_NONE;
	recorder->force = force;
	recorder->zstd = ZSTD_createCCtx();
	result = recorder->zstd ? 0 : error_set(error, ENOMEM, "out of memory");
	if (result >= 0 && path)
		result = open_file(recorder, path, force, error);
	if (result < 0) {
		recorder_close(recorder);
		return result;
	}
	*ret_recorder = recorder;
	return 0;
}

static void forget_missing(struct standing *standing, const char *source)
{
	size_t kept = 0;

	for (size_t i = 0; i < standing->missing_count; i++)
		if (strcmp(standing->missing[i].source, source) != 0)
			standing->missing[kept++] = standing->missing[i];
	standing->missing_count = kept;
}

void recorder_end_file(struct recorder *recorder)
{
	file_draft_close(&recorder->file);
	recorder->file = FILE_DRAFT_NONE;
}

int recorder_continue(struct recorder *recorder, const char *path, struct error *error)
{
	recorder_end_file(recorder);
	recorder->bytes = recorder->chunks = recorder->intervals = recorder->unsound = 0;
	forget_missing(&recorder->standing, SOURCE_RECORDING);
	recorder->raw_used = 0;
	delta_clear(&recorder->delta);
	return open_file(recorder, path, recorder->force, error);
}

void recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return;
	file_draft_close(&recorder->file);
	delta_release(&recorder->delta);
	kept_release(&recorder->standing.cgroups);
	kept_release(&recorder->standing.frames);
	kept_release(&recorder->standing.stacks);
	identities_release(&recorder->standing.cgroup_ids);
	ZSTD_freeCCtx(recorder->zstd);
	free(recorder->path);
	free(recorder->raw);
	free(recorder->stored);
	free(recorder);
}

/* The records since the last chunk. `time_ns`: of the last one. */
static int write_chunk(struct recorder *recorder, uint64_t time_ns, struct error *error)
{
	struct chunk_header header = {
		.magic = CHUNK_MAGIC,
		.flags = recorder->chunks % KEY_EVERY ? 0 : CHUNK_KEY,
		.raw_bytes = (__u32)recorder->raw_used,
		.time_ns = time_ns,
		.realtime_ns = clock_realtime_ns(),
	};
	struct iovec parts[2] = {{&header, sizeof(header)}};
	size_t stored;

	if (array_reserve(&recorder->stored, &recorder->stored_room,
			  ZSTD_compressBound(recorder->raw_used), 1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	stored = ZSTD_compressCCtx(recorder->zstd, recorder->stored, recorder->stored_room,
				   recorder->raw, recorder->raw_used, COMPRESSION_LEVEL);
	if (ZSTD_isError(stored))
		return error_set(error, EIO, "cannot compress: %s", ZSTD_getErrorName(stored));
	header.stored_bytes = (__u32)stored;
	header.stored_crc = recording_crc(recorder->stored, stored);
	header.crc = recording_crc(&header, offsetof(struct chunk_header, crc));
	parts[1] = (struct iovec){recorder->stored, stored};
	recorder->raw_used = 0;
	recorder->chunks++;
	delta_next(&recorder->delta);
	if (recorder->chunks % KEY_EVERY == 0)
		delta_clear(&recorder->delta);
	return append(recorder, parts, 2, error);
}

static int put(struct recorder *recorder, const struct wire_header *record, struct error *error)
{
	if (recorder->raw_used + record->size > CHUNK_MAX_BYTES)
		return error_set(error, EFBIG, "an interval of more than %u bytes",
				 CHUNK_MAX_BYTES);
	if (array_reserve(&recorder->raw, &recorder->raw_room, recorder->raw_used + record->size,
			  1) < 0 ||
	    delta_encode(&recorder->delta, record, recorder->raw + recorder->raw_used) < 0)
		return error_set(error, ENOMEM, "out of memory");
	recorder->raw_used += record->size;
	return 0;
}

static void keep_missing(struct standing *standing, const struct wire_missing *record)
{
	size_t at = 0;

	while (at < standing->missing_count &&
	       strcmp(standing->missing[at].source, record->source) != 0)
		at++;
	if (at == STANDING_MISSING)
		return;
	standing->missing[at] = *record;
	if (at == standing->missing_count)
		standing->missing_count++;
}

static int keep_cgroup(struct standing *standing, const struct wire_cgroup *record)
{
	size_t index;

	if (!record->id) {
		kept_clear(&standing->cgroups);
		identities_clear(&standing->cgroup_ids);
		standing->last_cgroup_id = 0;
		return 0;
	}
	index = identities_add(&standing->cgroup_ids, 0, record->id);
	return index == IDENTITY_NONE
		       ? -ENOMEM
		       : kept_add(&standing->cgroups, index, &record->header, standing->period);
}

static int keep(struct standing *standing, const struct wire_header *record)
{
	switch (record->kind) {
	case WIRE_SESSION:
		standing->session = *(const struct wire_session *)record;
		break;
	case WIRE_MISSING:
		keep_missing(standing, (const struct wire_missing *)record);
		break;
	case WIRE_CGROUP:
		return keep_cgroup(standing, (const struct wire_cgroup *)record);
	case WIRE_FRAME:
		return kept_add(&standing->frames, ((const struct wire_frame *)record)->id, record,
				standing->period);
	case WIRE_STACK:
		return kept_add(&standing->stacks, ((const struct wire_stack *)record)->id, record,
				standing->period);
	}
	return 0;
}

/* At the first record of a key chunk. */
static int begin_period(struct recorder *recorder, struct error *error)
{
	struct standing *standing = &recorder->standing;
	struct recording_layout_record layout = recording_layout_record();
	int result;

	standing->period++;
	standing->last_cgroup_id = 0;
	result = put(recorder, &layout.header, error);
	if (result >= 0 && standing->session.header.size)
		result = put(recorder, &standing->session.header, error);
	for (size_t i = 0; result >= 0 && i < standing->missing_count; i++)
		result = put(recorder, &standing->missing[i].header, error);
	return result;
}

static int repeat(struct recorder *recorder, struct kept *kept, size_t number, struct error *error)
{
	const struct wire_header *record = kept_take(kept, number, recorder->standing.period);

	return record ? put(recorder, record, error) : 0;
}

static int repeat_cgroup(struct recorder *recorder, uint64_t id, struct error *error)
{
	struct standing *standing = &recorder->standing;
	size_t index;

	if (id == standing->last_cgroup_id)
		return 0;
	standing->last_cgroup_id = id;
	index = identities_find(&standing->cgroup_ids, 0, id);
	return index == IDENTITY_NONE ? 0 : repeat(recorder, &standing->cgroups, index, error);
}

static int repeat_frames(struct recorder *recorder, const struct wire_stack *stack,
			 struct error *error)
{
	int result = 0;

	for (__u32 i = 0; result >= 0 && i < stack->count; i++)
		result = repeat(recorder, &recorder->standing.frames, stack->frames[i], error);
	return result;
}

static int repeat_stack(struct recorder *recorder, uint32_t id, struct error *error)
{
	const struct wire_header *record =
		kept_take(&recorder->standing.stacks, id, recorder->standing.period);
	int result = record ? repeat_frames(recorder, (const struct wire_stack *)record, error) : 0;

	return result >= 0 && record ? put(recorder, record, error) : result;
}

/* Of a cgroup whose limit was reached; it may have no thread of its own that refers to it. */
static int repeat_limits(struct recorder *recorder, const struct wire_blame *blame,
			 struct error *error)
{
	const struct wire_culprit *culprits = (const struct wire_culprit *)(blame + 1);
	int result = 0;

	for (__u32 i = 0; result >= 0 && i < blame->count; i++)
		if (wire_limit_cgroup(&culprits[i]))
			result = repeat_cgroup(recorder, wire_limit_cgroup(&culprits[i]), error);
	return result;
}

static int repeat_wait(struct recorder *recorder, const struct wire_stall_wait *wait,
		       struct error *error)
{
	int result = repeat_stack(recorder, wait->stack, error);

	return result < 0 ? result : repeat_stack(recorder, wait->waker_stack, error);
}

/* What a record refers to that has not been written since the last key. */
static int repeat_referred(struct recorder *recorder, const struct wire_header *record,
			   struct error *error)
{
	const struct wire_stall *stall = (const struct wire_stall *)record;
	const struct wire_worker *worker = (const struct wire_worker *)record;
	int result;

	switch (record->kind) {
	case WIRE_THREAD:
	case WIRE_EXIT:
		return repeat_cgroup(recorder, ((const struct wire_thread *)record)->cgroup_id,
				     error);
	case WIRE_MEMBER:
		return repeat_cgroup(recorder, ((const struct wire_member *)record)->cgroup_id,
				     error);
	case WIRE_BLAME:
		return repeat_limits(recorder, (const struct wire_blame *)record, error);
	case WIRE_POLLS:
		return repeat(recorder, &recorder->standing.frames,
			      ((const struct wire_polls *)record)->type, error);
	case WIRE_STACK:
		return repeat_frames(recorder, (const struct wire_stack *)record, error);
	case WIRE_SAMPLE:
		return repeat_stack(recorder, ((const struct wire_sample *)record)->stack, error);
	case WIRE_SPENT:
		return repeat_stack(recorder, ((const struct wire_spent *)record)->stack, error);
	case WIRE_WORKER:
		result = repeat(recorder, &recorder->standing.frames, worker->open_type, error);
		return result < 0 ? result : repeat_stack(recorder, worker->stack, error);
	case WIRE_STALL:
		result = repeat(recorder, &recorder->standing.frames, stall->type, error);
		if (result >= 0)
			result = repeat_stack(recorder, stall->stack, error);
		if (result >= 0)
			result = repeat_stack(recorder, stall->waker_stack, error);
		if (result >= 0 && stall->flags & WIRE_STALL_LIMIT)
			result = repeat_cgroup(recorder, wire_peer_cgroup(&stall->culprit), error);
		for (size_t i = 0; result >= 0 && i < WIRE_STALL_WAITS; i++)
			result = repeat_wait(recorder, &stall->waits[i], error);
		return result;
	}
	return 0;
}

static int note_sound(struct recorder *recorder, const struct wire_header *record,
		      struct error *error)
{
	return keep(&recorder->standing, record) < 0 ? error_set(error, ENOMEM, "out of memory")
						     : 0;
}

int recorder_note(struct recorder *recorder, const struct wire_header *record, struct error *error)
{
	/* where it is written, it is counted */
	return record_is_sound(record) ? note_sound(recorder, record, error) : 0;
}

/* Before an interval's end. */
static int say_unsound(struct recorder *recorder, struct error *error)
{
	struct wire_missing record = {.header = {.size = sizeof(record), .kind = WIRE_MISSING},
				      .source = SOURCE_RECORDING};

	if (!recorder->unsound)
		return 0;
	snprintf(record.why, sizeof(record.why),
		 "%llu record%s that no reader would take (a mistake in dwell)",
		 (unsigned long long)recorder->unsound, text_plural(recorder->unsound));
	keep_missing(&recorder->standing, &record);
	return put(recorder, &record.header, error);
}

int recorder_record(struct recorder *recorder, const struct wire_header *record,
		    struct error *error)
{
	int result = 0;

	if (!record_is_sound(record)) {
		recorder->unsound++;
		return 0;
	}
	if (!recorder->raw_used && recorder->chunks % KEY_EVERY == 0)
		result = begin_period(recorder, error);
	if (result >= 0)
		result = repeat_referred(recorder, record, error);
	if (result >= 0)
		result = note_sound(recorder, record, error);
	if (result >= 0 && record->kind == WIRE_INTERVAL)
		result = say_unsound(recorder, error);
	if (result >= 0)
		result = put(recorder, record, error);
	if (result < 0)
		return result;
	if (record->kind != WIRE_INTERVAL && record->kind != WIRE_CHILD)
		return 0;
	result = write_chunk(recorder, record->time_ns, error);
	if (result < 0 || record->kind != WIRE_INTERVAL)
		return result;
	/* the first one is where intervals begin: what was there before stays until one has ended
	 */
	if (recorder->intervals++ == 0)
		return 0;
	result = file_draft_keep(&recorder->file);
	return result < 0 ? file_draft_refused(recorder->path, result, error) : 0;
}

uint64_t recorder_intervals(const struct recorder *recorder)
{
	return recorder->intervals;
}

uint64_t recorder_bytes(const struct recorder *recorder)
{
	return recorder->bytes;
}
