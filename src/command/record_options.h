/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell record` has in hand, and its command line. */
#ifndef DWELL_COMMAND_RECORD_OPTIONS_H
#define DWELL_COMMAND_RECORD_OPTIONS_H

#include "base/status_line.h"
#include "capture/rotation.h"
#include "command/profile_options.h"
#include "command/result_options.h"
#include "command/watch_options.h"
#include "view/recorded.h"

#define RECORD_PATH "dwell.dwell" /* without --output */

struct record {
	struct watch_options watch;
	const char *path;
	bool force;
	struct status_line progress;
	bool stacks;
	struct profile_options profile;
	uint64_t rotate_ns, max_bytes;
	struct recorder *recorder; /* or: */
	struct rotation *rotation;
	struct result_options output;
	struct recorded recorded;
};

extern const struct command_line record_line;

#endif
