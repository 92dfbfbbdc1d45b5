/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions on an interval: "runqueue-p99>20ms,lock>4@/system.slice/db.service". */
#ifndef DWELL_SERVE_TRIGGERS_H
#define DWELL_SERVE_TRIGGERS_H

#include <stdbool.h>

#include "base/error.h"
#include "model/counters.h"
#include "serve/stall_watch.h"

#define TRIGGERS_MAX 16

enum trigger_kind {
	TRIGGER_RUNQUEUE_P99, /* of a group's waits for a CPU that ended, if there were enough */
	TRIGGER_RUNQUEUE_MAX, /* of any thread's */
	TRIGGER_STATE,	      /* threads of a group in a state, on average */
	TRIGGER_STALL,	      /* of a watched program: the longest in the interval */
};

struct trigger {
	enum trigger_kind kind;
	enum state state;
	uint64_t limit_ns;
	double limit_threads;
	char words[160];   /* as it was given, without the group */
	const char *group; /* into the text that was parsed; NULL: any */
	uint64_t fired;	   /* in so many intervals */
};

struct triggers {
	struct trigger items[TRIGGERS_MAX];
	size_t count;
	char *text; /* owned */
};

/* What has happened; strings live as long as the triggers and the counters. */
struct trigger_event {
	const struct trigger *trigger;
	const char *group;
	uint64_t ns;	/* the wait */
	double threads; /* or: how many */
};

/* Adds what the option says. */
int triggers_parse(struct triggers *triggers, const char *text, struct error *error) must_check;
void triggers_release(struct triggers *triggers);

/* Else it never fires. */
bool trigger_is_measured(const struct trigger *trigger, const struct session_info *session);

/* After counters_add(); `mark` was set when the interval began. */
struct triggers_input {
	const struct counters *counters;
	size_t mark;
	const struct interval *interval;
	const struct stall_watch *stalls; /* NULL: no program is watched */
};

/* Counts each trigger that fires; returns whether one did, and the first. */
bool triggers_look(struct triggers *triggers, const struct triggers_input *input,
		   struct trigger_event *ret_event);

/* "runqueue-p99>20ms: 31ms in /a/b" */
void trigger_event_words(const struct trigger_event *event, char *into, size_t room);

#endif
