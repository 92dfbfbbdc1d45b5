/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flight recorder: the last seconds are in memory, and when a trigger fires, the seconds that
 * follow are recorded with stacks. A recording takes a while to begin; once it has, the seconds
 * before it are written to one of their own, so that none is missing between the two.
 */
#ifndef DWELL_SERVE_FLIGHT_H
#define DWELL_SERVE_FLIGHT_H

#include <stdbool.h>

#include "bpf/wire.h"
#include "serve/jobs.h"

struct flight_options {
	const char *directory;
	uint64_t before_ns; /* kept in memory, and written */
	uint64_t after_ns;  /* recorded afterwards */
	uint64_t pause_ns;  /* from one that fires to the next that is recorded */
};

struct flight;

int flight_open(struct flight **ret_flight, const struct flight_options *options,
		struct error *error) must_check;
void flight_close(struct flight *flight); /* takes NULL */

/* Each record. 0 or -ENOMEM. */
int flight_record(struct flight *flight, const struct wire_header *record) must_check;

/*
 * A trigger has fired: starts the job that records on, for flight_look() to write what was before.
 * 1; 0: the last time is too recent, which is counted; or a negative errno, with the error.
 */
int flight_fire(struct flight *flight, struct jobs *jobs, uint64_t job_number,
		struct error *error) must_check;

/*
 * After an interval, and when the job has ended: writes what was before, if the job has begun to
 * record, or is not to be waited for. 1: it has; 0; or a negative errno, with the error.
 */
int flight_look(struct flight *flight, bool wait, struct error *error) must_check;

/* The recording of what was before, that was written last; NULL: none. */
const char *flight_path(const struct flight *flight);

uint64_t flight_written(const struct flight *flight);
uint64_t flight_suppressed(const struct flight *flight);

#endif
