/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording of threads, as one side of a comparison. */
#ifndef DWELL_RESULTS_THREAD_SIDE_H
#define DWELL_RESULTS_THREAD_SIDE_H

#include <stdbool.h>

#include "base/error.h"
#include "model/shares.h"

/*
 * Whether the recording is not one of `dwell blocked`, by its first records. An error if it is not
 * a recording, or its beginning is damaged.
 */
int thread_side_is(const char *path, bool *ret_is, struct error *error) must_check;

/*
 * All of a recording. What of it could not be read is in *ret_damage, empty if everything could;
 * without a whole interval it is an error.
 */
int thread_side_read(struct shares *shares, struct share_keys *keys, const char *path,
		     struct error *ret_damage, struct error *error) must_check;

#endif
