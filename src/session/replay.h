/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows a recording to an audience, as fast as it takes it. */
#ifndef DWELL_SESSION_REPLAY_H
#define DWELL_SESSION_REPLAY_H

#include "capture/recording.h"
#include "session/audience.h"

struct replay {
	struct recording *recording;
	struct intervals *intervals;
	struct audience audience;
	uint64_t count, duration_ns; /* where replay_run() ends; 0: with the recording */
	uint64_t shown;		     /* intervals */
	uint64_t start_ns, end_ns;   /* of these */
	bool is_over;		     /* what is left is after the time that was chosen */
	bool foreign; /* from another architecture: system calls are shown by number */
	struct error sink_error;
};

int replay_open(struct replay *replay, const char *path, struct error *error) must_check;
int replay_choose(struct replay *replay, const struct recording_choice *choice,
		  struct error *error) must_check;

/* Whether a path that is not a file stands for files of a rotation. */
bool replay_is_rotation(const char *path);

/* As recording_seek(). */
void replay_seek(struct replay *replay, uint64_t time_ns);

/* Reads on until an interval has been shown. 1; 0 at the end; or a negative errno. */
int replay_step(struct replay *replay, struct error *error) must_check;

/*
 * Everything, up to `count` and `duration_ns`. When parts could not be read, reports them at the
 * end: -EBADMSG.
 */
int replay_run(struct replay *replay, struct error *error) must_check;

/* For the user, if there is something; else NULL. Static storage. */
const char *replay_remark(const struct replay *replay);

/* -EBADMSG with what was damaged so far; else 0. */
int replay_check(const struct replay *replay, struct error *error) must_check;

void replay_release(struct replay *replay);

#endif
