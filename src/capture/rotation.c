// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/rotation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/least.h"
#include "capture/recorder.h"
#include "capture/rotated_files.h"

/* Files that the room is divided into: so much of it is lost when the oldest is removed. */
#define FILES_OF_BYTES 8
/* Of a file on a disk that has little room. */
#define FILE_LEAST_BYTES (128 << 10)

struct rotation {
	struct rotation_options options;
	struct recorder *recorder; /* NULL: no file yet */
	bool failed;		   /* its file takes no more */
	bool is_full, was_full;	   /* because the disk is full; it has been, earlier */
	struct rotated_name name;
	char path[ROTATED_PATH_BYTES], stamp[ROTATED_STAMP_BYTES]; /* of the present file */
	char before[ROTATED_PATH_BYTES];			   /* of the last one; "": none */
	uint64_t begun_ns; /* the present file, CLOCK_MONOTONIC */
	bool ends;	   /* this interval is the file's last one: its records are kept */
	char *kept;
	size_t used, room;
	uint64_t bytes, files; /* of those that are complete */
	uint64_t most_bytes;   /* that they have had, without what the limits removed */
	uint64_t file_bytes;   /* that one file may have; 0: no limit */
};

/* What the files have, the largest of them, and what the disk has free. */
struct room {
	uint64_t bytes, largest, free;
};

/*
 * Whether the oldest makes room on a full disk, or on one that was and soon is again: before an
 * interval is lost. Where other files fill it up, they also take what is freed, and the history
 * would go file by file without anything in its place: so only while what was removed before has
 * been recorded again, or can be, but for the rest that is too short for an interval. And not for a
 * large part of what there is, as where it is the only file.
 */
static bool makes_room(const struct rotation *rotation, const struct rotated_file *oldest,
		       const struct room *room)
{
	uint64_t most = rotation->most_bytes, lost = most - room->bytes;

	if (oldest->bytes > most / 4)
		return false;
	if (rotation->is_full)
		return lost <= most / 16;
	return rotation->was_full && room->free < room->largest / 8 * 9 &&
	       lost <= most / 16 + room->free;
}

/* Not known: as if there was no end of it. */
static uint64_t free_bytes(const struct rotation *rotation)
{
	struct statvfs disk;

	if (!rotation->options.fits_disk || statvfs(rotation->name.directory, &disk) < 0)
		return UINT64_MAX;
	return (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* With `fits_disk` so that all there is room for is in several files: the oldest can make room. */
static uint64_t limit_file(const struct rotation *rotation, const struct room *room)
{
	uint64_t limit = rotation->options.max_bytes / FILES_OF_BYTES, part;

	if (room->free == UINT64_MAX)
		return limit;
	part = most((room->bytes + room->free) / FILES_OF_BYTES, FILE_LEAST_BYTES);
	return limit ? least(limit, part) : part;
}

/* So that what there is and another file have room. */
static void tidy(struct rotation *rotation)
{
	const struct rotation_options *options = &rotation->options;
	uint64_t now_ns = clock_realtime_ns();
	struct room room = {.free = free_bytes(rotation)};
	uint64_t bytes_each = options->max_bytes / FILES_OF_BYTES;
	cleanup_free struct rotated_file *files = NULL;
	size_t count = 0, first = 0;

	if (rotated_files_list(&rotation->name, &files, &count) < 0)
		count = 0;
	for (size_t i = 0; i < count; i++) {
		room.bytes += files[i].bytes;
		room.largest = most(room.largest, files[i].bytes);
	}
	rotation->most_bytes = most(rotation->most_bytes, room.bytes);
	rotation->file_bytes = limit_file(rotation, &room);
	rotation->was_full |= rotation->is_full;
	while (first < count) {
		const struct rotated_file *file = &files[first];
		bool is_old = options->keep_ns && file->changed_ns + options->keep_ns < now_ns;
		bool is_much = options->max_bytes && room.bytes + bytes_each > options->max_bytes;

		if (is_old || is_much)
			rotation->most_bytes -= file->bytes;
		else if (!makes_room(rotation, file, &room))
			break;
		rotation->is_full = false; /* for the space of one */
		rotated_file_remove(&rotation->name, file->stamp);
		room.bytes -= file->bytes;
		room.free += room.free < UINT64_MAX ? file->bytes : 0;
		first++;
	}
	rotation->is_full = false;
	rotation->bytes = room.bytes;
	rotation->files = count - first;
}

int rotation_open(struct rotation **ret_rotation, const struct rotation_options *options,
		  struct error *error)
{
	struct rotation *rotation = calloc(1, sizeof(*rotation));
	int result;

	if (!rotation)
		return error_set(error, ENOMEM, "out of memory");
	rotation->options = *options;
	result = rotated_name_split(&rotation->name, options->path, error);
	if (result < 0) {
		rotation_close(rotation);
		return result;
	}
	tidy(rotation);
	*ret_rotation = rotation;
	return 0;
}

void rotation_close(struct rotation *rotation)
{
	if (!rotation)
		return;
	recorder_close(rotation->recorder);
	free(rotation->kept);
	free(rotation);
}

/* The present file: it gets its name with its first interval. */
static bool is_there(const struct rotation *rotation)
{
	/* where it begins is not one */
	return rotation->recorder && recorder_intervals(rotation->recorder) > 1;
}

static int begin_file(struct rotation *rotation, struct error *error)
{
	int result;

	/* the one before is complete now, and counts, without what the disk had set aside for it */
	if (rotation->recorder)
		recorder_end_file(rotation->recorder);
	tidy(rotation);
	if (is_there(rotation))
		memcpy(rotation->before, rotation->path, sizeof(rotation->before));
	rotated_path_new(&rotation->name, rotation->stamp, rotation->path);
	rotation->begun_ns = clock_monotonic_ns();
	result = rotation->recorder
			 ? recorder_continue(rotation->recorder, rotation->path, error)
			 : recorder_open(&rotation->recorder, rotation->path, false, error);
	rotation->failed = result < 0;
	return result;
}

/* A file ends with the interval after the one behind which this is so: by then it is full. */
static bool is_due(const struct rotation *rotation, uint64_t interval_ns)
{
	uint64_t age_ns = clock_monotonic_ns() - rotation->begun_ns;
	uint64_t limit = rotation->file_bytes, file_ns = rotation->options.file_ns;

	/* intervals are some microseconds longer or shorter */
	return (file_ns && age_ns + interval_ns + interval_ns / 8 >= file_ns) ||
	       (limit && recorder_bytes(rotation->recorder) >= limit);
}

static int keep_record(struct rotation *rotation, const struct wire_header *record,
		       struct error *error)
{
	if (array_reserve(&rotation->kept, &rotation->room, rotation->used + record->size, 1) < 0)
		return error_set(error, ENOMEM, "out of memory");
	memcpy(rotation->kept + rotation->used, record, record->size);
	rotation->used += record->size;
	return 0;
}

/* The next file begins with the records that the last one ended with. */
static int rotate(struct rotation *rotation, struct error *error)
{
	int result = begin_file(rotation, error);

	for (size_t at = 0; result >= 0 && at < rotation->used;) {
		const struct wire_header *record =
			(const struct wire_header *)(rotation->kept + at);

		result = recorder_record(rotation->recorder, record, error);
		at += record->size;
	}
	rotation->used = 0;
	rotation->ends = false;
	return result;
}

/* What is removed, or moved away with its directory, could be written to for ever. */
static int check_there(const struct rotation *rotation, struct error *error)
{
	if (!is_there(rotation) || !access(rotation->path, F_OK) || errno != ENOENT)
		return 0;
	return error_set(error, ENOENT, "%s is not there any more", rotation->path);
}

static bool is_without_room(int result)
{
	return result == -ENOSPC || result == -EDQUOT;
}

int rotation_record(struct rotation *rotation, const struct wire_header *record,
		    struct error *error)
{
	const struct wire_interval *interval = (const struct wire_interval *)record;
	bool is_last = record->kind == WIRE_INTERVAL;
	int result = 0;

	if (!rotation->recorder)
		result = begin_file(rotation, error);
	if (result >= 0 && rotation->ends)
		result = keep_record(rotation, record, error);
	if (result >= 0)
		result = rotation->failed ? recorder_note(rotation->recorder, record, error)
					  : recorder_record(rotation->recorder, record, error);
	if (result >= 0 && is_last && !rotation->failed)
		result = check_there(rotation, error);
	if (result < 0)
		rotation->failed = true;
	rotation->is_full = rotation->is_full || is_without_room(result);
	/* behind the last one comes how the command ended, which belongs to it */
	if (is_last && rotation->ends && !interval->final) {
		int rotated = rotate(rotation, error);

		/* without its first records nothing of it can be read */
		if (rotated < 0) {
			rotation->failed = true;
			rotation->is_full = rotation->is_full || is_without_room(rotated);
		}
		result = result < 0 ? result : rotated;
	}
	if (is_last) {
		uint64_t length_ns = record->time_ns - interval->start_ns;

		rotation->ends = rotation->failed || is_due(rotation, length_ns);
	}
	return result;
}

const char *rotation_path(const struct rotation *rotation)
{
	if (!is_there(rotation) && *rotation->before)
		return rotation->before;
	return rotation->recorder ? rotation->path : NULL;
}

uint64_t rotation_bytes(const struct rotation *rotation)
{
	return rotation->bytes + (is_there(rotation) ? recorder_bytes(rotation->recorder) : 0);
}

uint64_t rotation_files(const struct rotation *rotation)
{
	return rotation->files + is_there(rotation);
}
