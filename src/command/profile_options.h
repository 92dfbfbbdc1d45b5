/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of `dwell profile`. */
#ifndef DWELL_COMMAND_PROFILE_OPTIONS_H
#define DWELL_COMMAND_PROFILE_OPTIONS_H

#include "capture/profiler.h"
#include "capture/recording.h"
#include "command/result_options.h"
#include "command/watch_options.h"
#include "view/profile.h"
#include "view/profile_export.h"

struct command_profile_options {
	struct watch_options watch;
	struct profile_options profile;
	uint32_t states; /* 1 << enum state: what is asked for; 0: the usual ones */
	enum profile_grouping by;
	bool by_given;
	enum profile_root root;
	struct result_options output;
	const struct profile_export_ops *export; /* a format of profiles alone; NULL: none */
	const char *path;			 /* NULL: standard output */
	const char *from;			 /* a recording; NULL: live */
	struct recording_window window;		 /* of it */
	const char *before;			 /* a recording to compare with; NULL: none */
	bool kernel;				 /* as in struct profile_result */
	bool force;				 /* an existing file is replaced */
};

extern const struct command_line profile_line;

/* Those that are shown where none is asked for. */
#define PROFILE_STATES_USUAL (PROFILE_STATES & ~(1U << STATE_IDLE | 1U << STATE_STOPPED))

void profile_options_init(struct command_profile_options *options);

/* As command_line.end. */
int profile_options_end(void *data, struct error *error) must_check;

/* What is taken where nothing else is asked for. */
void profile_options_usual(struct profile_options *options);

/* How many stacks there are to be, for a member of that type. */
#define STACK_RATE_OPTIONS(options, member)                                                        \
	TAKEN_MEMBER("freq", 0, "HZ", options, member, profile_take_frequency,                     \
		     "samples a second of each CPU (99)"),                                         \
		TAKEN_MEMBER("rate", 0, "N", options, member, profile_take_rate,                   \
			     "stacks of waits a second and CPU, about (150); long waits always "   \
			     "have one")

/* Of a struct profile_options, as command_option.take. */
int profile_take_frequency(void *options, const char *value, struct error *error) must_check;
int profile_take_rate(void *options, const char *value, struct error *error) must_check;

#endif
