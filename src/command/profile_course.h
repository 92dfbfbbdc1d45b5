/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `dwell profile` has in hand, and what feeds it: processes, or a recording. */
#ifndef DWELL_COMMAND_PROFILE_COURSE_H
#define DWELL_COMMAND_PROFILE_COURSE_H

#include "base/file.h"
#include "command/profile_options.h"
#include "command/profile_tui.h"

struct profile_command {
	struct command_profile_options options;
	struct profile *profile;
	struct profile_result result;
	struct profile_tui tui;
	struct file_draft file; /* none: standard output */
};

/* As audience.record and audience.interval. */
int profile_take_record(void *data, const struct wire_header *record,
			struct error *error) must_check;
int profile_take_interval(void *data, struct interval *interval, struct error *error) must_check;

/* At the end, what is no screen. */
int profile_write_result(struct profile_command *command, struct error *error) must_check;
int profile_open_screen(struct profile_command *command, struct error *error) must_check;

/* What runs now: to its end, or the user's. */
int profile_run_live(struct profile_command *command, struct error *error) must_check;

/* What has been recorded. -EBADMSG: what is not damaged of it has been shown. */
int profile_run_recording(struct profile_command *command, struct error *error) must_check;

/* What the page compares with: as a command of its own, which writes nothing. */
int profile_read_before(struct profile_command *before, struct error *error) must_check;

#endif
