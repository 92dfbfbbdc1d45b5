// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/duration.h"
#include "capture/recorder.h"
#include "capture/rotated_files.h"

#define KEPT_MAX 16 /* recordings of each kind */
/* A recording that has not begun by then is none to wait for. */
#define BEGINS_NS    (15 * NS_PER_S)
#define MEMORY_BYTES (64 << 20)
#define PARTS_MAX    1024

/* The records of one interval. */
struct part {
	char *bytes;
	size_t used, room;
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: it goes on */
};

struct flight {
	struct flight_options options;
	struct rotated_name before, after;
	struct recorder *recorder; /* remembers what records refer to; has a file while it writes */
	struct part parts[PARTS_MAX]; /* a ring, from `first`; the last one goes on */
	size_t first, count;
	size_t bytes;
	uint64_t fired_ns; /* CLOCK_MONOTONIC; 0: never */
	uint64_t written, suppressed;
	bool is_due;			  /* what was before is still to be written, */
	char path[ROTATED_PATH_BYTES];	  /* to this file, */
	char follows[ROTATED_PATH_BYTES]; /* as soon as this one is there */
};

static int name_files(struct rotated_name *name, const char *directory, const char *kind,
		      struct error *error)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/trigger.%s.dwell", directory, kind);

	/* it has to fit a job's argument, with the time */
	if (length < 0 || (size_t)length + ROTATED_STAMP_BYTES + 1 > JOB_WORD_BYTES)
		return error_set(error, ENAMETOOLONG, "%.200s is too long", directory);
	return rotated_name_split(name, path, error);
}

int flight_open(struct flight **ret_flight, const struct flight_options *options,
		struct error *error)
{
	struct flight *flight = calloc(1, sizeof(*flight));
	int result;

	if (!flight)
		return error_set(error, ENOMEM, "out of memory");
	flight->options = *options;
	flight->count = 1;
	result = name_files(&flight->before, options->directory, "before", error);
	if (result >= 0)
		result = name_files(&flight->after, options->directory, "after", error);
	if (result >= 0)
		result = recorder_open(&flight->recorder, NULL, false, error);
	if (result < 0)
		flight_close(flight);
	else
		*ret_flight = flight;
	return result;
}

void flight_close(struct flight *flight)
{
	if (!flight)
		return;
	recorder_close(flight->recorder);
	for (size_t i = 0; i < PARTS_MAX; i++)
		free(flight->parts[i].bytes);
	free(flight);
}

static struct part *part_at(struct flight *flight, size_t index)
{
	return &flight->parts[(flight->first + index) % PARTS_MAX];
}

/* The first part is where the second one's interval begins, of which some is still wanted. */
static bool drops_oldest(struct flight *flight, uint64_t now_ns)
{
	uint64_t until_ns = flight->is_due ? flight->fired_ns : now_ns;

	if (flight->count <= 2)
		return false;
	return flight->count == PARTS_MAX || flight->bytes > MEMORY_BYTES ||
	       part_at(flight, 1)->end_ns + flight->options.before_ns < until_ns;
}

static void drop_oldest(struct flight *flight)
{
	struct part *part = part_at(flight, 0);

	flight->bytes -= part->used;
	/* not kept for when the ring comes round: all parts would be as large as the largest */
	free(part->bytes);
	*part = (struct part){0};
	flight->first = (flight->first + 1) % PARTS_MAX;
	flight->count--;
}

int flight_record(struct flight *flight, const struct wire_header *record)
{
	struct part *part = part_at(flight, flight->count - 1);

	if (recorder_note(flight->recorder, record, NULL) < 0 ||
	    array_reserve(&part->bytes, &part->room, part->used + record->size, 1) < 0)
		return -ENOMEM;
	memcpy(part->bytes + part->used, record, record->size);
	part->used += record->size;
	flight->bytes += record->size;
	if (record->kind != WIRE_INTERVAL)
		return 0;
	part->end_ns = record->time_ns;
	while (drops_oldest(flight, record->time_ns))
		drop_oldest(flight);
	flight->count++;
	return 0;
}

static int write_part(struct flight *flight, const struct part *part, struct error *error)
{
	int result = 0;

	for (size_t at = 0; result >= 0 && at < part->used;) {
		const struct wire_header *record = (const struct wire_header *)(part->bytes + at);

		result = recorder_record(flight->recorder, record, error);
		at += record->size;
	}
	return result;
}

static int write_before(struct flight *flight, struct error *error)
{
	int result = recorder_continue(flight->recorder, flight->path, error);

	flight->is_due = false;
	for (size_t i = 0; result >= 0 && i < flight->count; i++)
		result = write_part(flight, part_at(flight, i), error);
	recorder_end_file(flight->recorder);
	flight->written += result >= 0;
	return result < 0 ? result : 1;
}

static bool record_after(const struct flight *flight, struct jobs *jobs, uint64_t number)
{
	struct job job = {
		.number = number,
		.seconds = (uint32_t)((flight->options.after_ns + NS_PER_S - 1) / NS_PER_S),
	};

	job_add(&job, "record");
	job_add(&job, "--stacks");
	job_add(&job, "-o");
	job_add(&job, "%s", flight->follows);
	job_add(&job, "-d");
	job_add(&job, "%llums",
		(unsigned long long)((flight->options.after_ns + NS_PER_MS - 1) / NS_PER_MS));
	return jobs_run(jobs, &job);
}

int flight_fire(struct flight *flight, struct jobs *jobs, uint64_t job_number, struct error *error)
{
	uint64_t now_ns = clock_monotonic_ns();
	char stamp[ROTATED_STAMP_BYTES];
	int result;

	if (flight->is_due ||
	    (flight->fired_ns && now_ns - flight->fired_ns < flight->options.pause_ns)) {
		flight->suppressed++;
		return 0;
	}
	flight->fired_ns = now_ns;
	rotated_files_limit(&flight->before, KEPT_MAX - 1);
	rotated_files_limit(&flight->after, KEPT_MAX - 1);
	rotated_path_new(&flight->before, stamp, flight->path);
	rotated_path(&flight->after, stamp, flight->follows);
	flight->is_due = true;
	if (record_after(flight, jobs, job_number))
		return 1;
	result = flight_look(flight, false, error);
	return result < 0 ? result : error_set(error, EBUSY, "cannot start recording");
}

int flight_look(struct flight *flight, bool wait, struct error *error)
{
	if (!flight->is_due || (wait && access(flight->follows, F_OK) < 0 &&
				clock_monotonic_ns() - flight->fired_ns < BEGINS_NS))
		return 0;
	return write_before(flight, error);
}

const char *flight_path(const struct flight *flight)
{
	return *flight->path ? flight->path : NULL;
}

uint64_t flight_written(const struct flight *flight)
{
	return flight->written;
}

uint64_t flight_suppressed(const struct flight *flight)
{
	return flight->suppressed;
}
