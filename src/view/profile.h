/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code each state's time was spent in, as `dwell profile` shows it. */
#ifndef DWELL_VIEW_PROFILE_H
#define DWELL_VIEW_PROFILE_H

#include "emit/emit.h"
#include "model/profile.h"

/* A profile with what is worked out once: profile_result_make(). */
struct profile_result {
	struct profile *profile;
	const struct session_info *session;
	uint64_t start_realtime_ns, duration_ns;
	uint64_t self_cpu_ns; /* what dwell itself used */
	struct wire_losses losses;
	uint32_t states; /* 1 << enum state: those that are shown */
	enum profile_grouping by;
	size_t top;  /* rows of the page; 0: as many as there are */
	bool kernel; /* all of the kernel's part of waits, not only the system call */
	const struct profile_result *before; /* what the page compares it with; NULL: nothing */
	/* filled in */
	const struct profile_spot *spots;
	size_t spot_count;
	const struct profile_path *paths;
	size_t path_count;
	const struct profile_thread *threads; /* those without time of their own among them */
	size_t thread_count;
	uint64_t total_ns; /* of all threads in the states that are shown */
};

/* After profile_end(). 0 or -ENOMEM. */
int profile_result_make(struct profile_result *result) must_check;

/* Its name, or that. */
const char *profile_frame_name(const struct frame *frame);

#define PROFILE_THREAD_BYTES 64

/* "http-4 1240", or "310 threads of cc1". */
void profile_thread_name(const struct profile_thread *thread, char into[PROFILE_THREAD_BYTES]);

/* The process that all threads are of; NULL: there are several, or none. */
const struct profile_thread *profile_only_process(const struct profile_thread *threads,
						  size_t count);

#define PROFILE_FRAMES_MAX 1024

/*
 * The ids of the frames to show, innermost first; how many. All waits end in the same functions of
 * the scheduler: of the kernel's part there is only the system call, unless `kernel` is set.
 */
size_t profile_frames(const struct profile_result *result, const struct profile_path *path,
		      uint32_t ids[PROFILE_FRAMES_MAX]);

/* The row is a struct profile_result. */
extern const struct schema profile_schema;

/* The page of text. */
void profile_table(struct output *out, const struct profile_result *result);

#endif
