/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the workers of the type rt-app do: tasks, each with phases of events. As a text of words
 * separated by blanks, which load/rt_app.c makes of rt-app's JSON:
 *
 *   task=NAME [instances=N] [delay=TIME] [loop=N] [settings]
 *     phase [loop=N] [settings] events…
 *
 *   settings  policy=POLICY nice=N cpus=CPUS nodes=NODES lock-pages
 *   events    run=TIME (work of that time at full speed) runtime=TIME (by the clock) sleep=TIME
 *             timer=NAME/PERIOD[/absolute] lock=MUTEX unlock=MUTEX wait=COND/MUTEX signal=COND
 *             broad=COND sync=COND/MUTEX barrier=NAME suspend resume=TASK yield mem=BYTES
 *             iorun=BYTES
 *
 * A loop of -1 has no end. A timer whose name begins with "unique" is of each worker alone; all
 * else that has a name is one for all tasks of the text.
 */
#ifndef DWELL_LOAD_WORK_RT_APP_PROGRAM_H
#define DWELL_LOAD_WORK_RT_APP_PROGRAM_H

#include "load/spec.h"

#define RT_APP_TASKS_MAX     64
#define RT_APP_RESOURCES_MAX 64 /* of each kind */
#define RT_APP_NAME_BYTES    48

enum rt_app_kind {
	RT_APP_RUN,
	RT_APP_RUNTIME,
	RT_APP_SLEEP,
	RT_APP_TIMER,
	RT_APP_LOCK,
	RT_APP_UNLOCK,
	RT_APP_WAIT,
	RT_APP_SIGNAL,
	RT_APP_BROAD,
	RT_APP_SYNC,
	RT_APP_BARRIER,
	RT_APP_SUSPEND,
	RT_APP_RESUME,
	RT_APP_YIELD,
	RT_APP_MEM,
	RT_APP_IORUN,
	RT_APP_KINDS,
};

/* As the words, and the keys of rt-app, are called. */
extern const char *const rt_app_events[RT_APP_KINDS];

struct rt_app_event {
	enum rt_app_kind kind;
	uint64_t amount; /* ns or bytes; of a timer its period */
	/* numbers among those of their kind: timer, mutex (of wait and sync: `mutex`), condition,
	 * barrier; a task's condition comes behind the conditions with a name */
	unsigned int resource, mutex;
	bool absolute; /* timer */
	bool own;      /* timer: of this worker alone */
};

/* At the start of a task or phase. */
struct rt_app_settings {
	bool policy_given, nice_given, lock_pages;
	struct spec_policy policy;
	int nice;
	struct cpus *cpus; /* owned; NULL: not given */
	struct spec_memory memory;
};

struct rt_app_phase {
	int64_t loop; /* -1: without end */
	struct rt_app_settings settings;
	struct rt_app_event *events;
	size_t count, room;
};

struct rt_app_task {
	char name[RT_APP_NAME_BYTES];
	unsigned int instances;
	uint64_t delay_ns;
	int64_t loop;
	struct rt_app_settings settings;
	struct rt_app_phase *phases;
	size_t count, room;
};

struct rt_app_names {
	char items[RT_APP_RESOURCES_MAX][RT_APP_NAME_BYTES];
	unsigned int count;
};

struct rt_app_program {
	struct rt_app_task *tasks;
	size_t count, room;
	unsigned int workers; /* of all tasks */
	struct rt_app_names mutexes, conditions, barriers, timers;
	unsigned int barrier_users[RT_APP_RESOURCES_MAX];
	bool needs_buffer; /* mem, iorun */
};

/* -EINVAL with the mistake; release it all the same. */
int rt_app_parse(struct rt_app_program *program, const char *text, struct error *error) must_check;
void rt_app_release(struct rt_app_program *program);

/* Whether all tasks of it have to share memory: something with a name is of several workers. */
bool rt_app_shares(const struct rt_app_program *program);

#endif
