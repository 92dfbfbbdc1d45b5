/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries a spec out: cgroups, workers, phases and ops, the watchdog; and what came of it. */
#ifndef DWELL_LOAD_RUN_H
#define DWELL_LOAD_RUN_H

#include "base/output.h"
#include "base/schedstat.h"
#include "base/pressure.h"
#include "load/cgroups.h"
#include "load/worker_group.h"
#include "load/guardian.h"
#include "scheduler/inside.h"
#include "scheduler/scheduler.h"
#include "scheduler/switch_ring.h"

#define RUN_TICK_NS 100000000ULL

/* Where a worker stands when the hold of a phase begins or ends. */
struct phase_mark {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint64_t iterations, paused_ns;
	bool known; /* schedstat is */
	struct schedstat schedstat;
};

/* What it did in between. */
struct phase_worker {
	uint64_t wall_ns; /* 0: it was not there */
	uint64_t free_ns; /* of that, not frozen */
	uint64_t iterations;
	bool known;
	struct schedstat before, after; /* where `known` */
};

/* A group of workers and all that is known of it, also after its end. */
struct run_group {
	struct worker_group worker_group;
	struct plan_group group;
	char cgroup[SPEC_NAME_BYTES]; /* "" = none */
	struct cpus allowed;	      /* all CPUs that it was ever allowed to use */
	unsigned int first_index;     /* of its workers, among all */
	bool begun;
	/* with more than one phase, load/phases.h: since the current one began, by worker */
	struct phase_mark *marks;
	struct phase_worker *phase_workers; /* those of the first phase first */
	bool in_phase;
};

/* A cgroup of the run, as the ops have left it. */
struct run_cgroup {
	char name[SPEC_NAME_BYTES];
	bool limited; /* to `cpus` */
	struct cpus cpus;
	bool frozen; /* itself: those nested in it are, too */
};

/* Something that was done at a time: phases, ops. */
struct run_event {
	uint64_t at_ns; /* since the start of the run */
	char text[400];
};

/* The hold of a phase. */
struct run_phase {
	uint64_t began_ns, ended_ns;	      /* CLOCK_MONOTONIC */
	char sched_ext[SCHEDULER_NAME_BYTES]; /* scheduler that was in use at its end; "": none */
};

enum run_end {
	RUN_COMPLETE,
	RUN_INTERRUPTED,
	RUN_SCHEDULER_DIED,
};

struct run;

/* Others that take part. All may be NULL; a negative errno ends the run. */
struct run_hooks {
	void *data;
	int (*starting)(void *data, struct error *error); /* workers exist, none has begun */
	int (*tick)(void *data, const struct run *run, struct error *error); /* 10 a second */
	/* Something that a waiting user wants to know now; at_ns since the start. */
	void (*warn)(void *data, uint64_t at_ns, const char *text);
	int (*ready)(void *data, struct error *error);	 /* one of `fds` is readable */
	int (*stopped)(void *data, struct error *error); /* all workers have ended */
	int fds[2];
	unsigned int fd_count;
};

struct run_options {
	pid_t scheduler_pid;	 /* to watch, and to alarm; 0: none */
	bool repro;		 /* the watchdog is off */
	bool trace;		 /* keep what happens around a failure: run_trace.h */
	bool time_ops;		 /* of sched_ext schedulers */
	const char *cgroup_root; /* NULL: that of the tree */
	const char *scratch;	 /* where the workers' files go; NULL: see scratch.h */
	struct run_hooks hooks;
};

/* Around the first failure. */
struct run_trace {
	struct switch_ring *ring; /* NULL: none is kept */
	uint64_t from_ns,
		until_ns; /* CLOCK_MONOTONIC; until 0: nothing has failed, and it goes on */
	char what[400];	  /* failed then; "": the run just ended */
};

struct run {
	const struct spec *spec;
	const struct topology *topology;
	const struct run_options *options;
	struct planner planner;
	struct run_group **worker_groups;
	size_t worker_group_count, worker_group_room;
	struct run_event *events;
	size_t event_count, event_room;
	struct run_phase *held; /* those that began; NULL: phases are not measured */
	size_t held_count;
	bool holding; /* the last of them goes on */
	enum run_end end;
	struct pressure_mark before, after; /* then */
	uint64_t started_ns, stopped_ns;    /* CLOCK_MONOTONIC: first start, all gathered */
	uint64_t started_realtime_ns;
	uint64_t hold_ns;   /* planned in all */
	uint64_t start_ns;  /* it took to fork, place and start the first workers */
	uint64_t stop_ns;   /* to stop, gather and reap the last ones */
	uint64_t alarms;    /* by the parent's watchdog, and workers without a report */
	unsigned int stuck; /* times that it found a worker that had not run */
	/* of the first of these times, load/evidence.h: `evidence.buffer` is a text */
	struct output evidence;
	unsigned int evidence_count;
	struct run_trace trace;
	/* its own */
	struct cgroups cgroups;
	struct run_cgroup *run_cgroups;
	size_t run_cgroup_count, run_cgroup_room;
	struct scheduler scheduler;
	struct scheduler_inside inside;
	struct guarded *guarded;
	struct scratch scratch;
	int signal_fd;
	unsigned int workers; /* forked so far */
	const char *phase;    /* for the display */
	bool stop;
	bool more_to_come; /* workers, by an op of this phase or a later one */
	uint64_t next_tick_ns;
};

/*
 * To its end, of any kind: 0, with run->end; or a negative errno if it could not be carried
 * out. In both cases no worker runs any more, and what was made is removed, while the figures of
 * run->worker_groups stay until run_release(). SIGINT, SIGTERM and SIGHUP end it.
 */
int run_execute(struct run *run, const struct spec *spec, const struct topology *topology,
		const struct run_options *options, struct guarded *guarded,
		struct error *error) must_check;
void run_release(struct run *run);

/* Outer iterations of all workers so far, for a display. */
uint64_t run_iterations(const struct run *run);

#endif
