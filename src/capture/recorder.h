/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes records to a file that is whole after every interval: capture/recording_format.h. */
#ifndef DWELL_CAPTURE_RECORDER_H
#define DWELL_CAPTURE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"

struct recorder;

/*
 * An existing file is replaced only with `force`, by the first interval; until then there is none
 * of ours. Only its owner can read it. `path` NULL: there is none until recorder_continue(), and
 * only recorder_note() is allowed.
 */
int recorder_open(struct recorder **ret_recorder, const char *path, bool force,
		  struct error *error) must_check;

/*
 * Takes a record; a WIRE_INTERVAL or WIRE_CHILD writes a chunk. When that fails (a full disk), the
 * file is cut back to the chunks before, and stays readable. A record that readers would refuse is
 * left out; the file says how many were, as what is missing.
 */
int recorder_record(struct recorder *recorder, const struct wire_header *record,
		    struct error *error) must_check;

/*
 * After a WIRE_INTERVAL: what comes from now on goes to another file, which is whole of its own,
 * and like the first one. On failure the old file is whole, and nothing more can be recorded until
 * another call succeeds.
 */
int recorder_continue(struct recorder *recorder, const char *path, struct error *error) must_check;

/* The file is complete. */
void recorder_end_file(struct recorder *recorder);

/* Between files: what later records may refer to is remembered. 0 or -ENOMEM. */
int recorder_note(struct recorder *recorder, const struct wire_header *record,
		  struct error *error) must_check;

uint64_t recorder_intervals(const struct recorder *recorder);
uint64_t recorder_bytes(const struct recorder *recorder); /* of the present file */

void recorder_close(struct recorder *recorder);

#endif
