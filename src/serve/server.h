/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `dwell serve`, between what is measured and who asks. */
#ifndef DWELL_SERVE_SERVER_H
#define DWELL_SERVE_SERVER_H

#include "serve/container_names.h"
#include "serve/stall_watch.h"
#include "serve/triggers.h"
#include "capture/rotation.h"
#include "serve/flight.h"
#include "serve/jobs.h"
#include "serve/push_host.h"
#include "model/findings.h"
#include "serve/web_host.h"
#include "session/watch.h"
#include "view/metrics.h"
#include "view/periods.h"

struct server_options {
	enum grouping by;
	size_t groups; /* with counters of their own */
	struct web_options web;
	const char *store; /* a directory for recordings; NULL: none */
	uint64_t keep_ns, max_bytes;
	struct triggers triggers; /* with them a flight recorder, in the store */
	uint64_t before_ns, after_ns, pause_ns;
	const char *stalls[STALL_WATCHES]; /* names of programs whose workers are watched */
	size_t stall_count;
	uint64_t stall_threshold_ns;
	struct push_options push;
	bool insecure;		      /* what is secret may go through the network as it is */
	const char *container_socket; /* of an engine that knows names; NULL: none is asked */
};

struct server {
	struct server_options *options;
	struct watch *watch; /* not owned */
	struct counters counters;
	struct periods periods;
	const struct interval *interval; /* the last one, until the next ends; NULL: none yet */
	struct findings findings; /* of `findings_end_ns`: they are looked for if asked for */
	uint64_t findings_end_ns;
	struct web_host *web;
	struct jobs *jobs;
	struct profile_jobs {
		uint64_t number; /* of the job; 0: none */
		struct web_question question;
	} profiles[JOBS_AT_ONCE];
	uint64_t last_job;
	struct rotation *store;
	uint64_t store_failures;
	bool store_fails; /* the last interval was not kept */
	char *store_path;
	int store_lock; /* a descriptor; -1: none */
	struct flight *flight;
	struct container_names *containers;
	struct stall_watch *stalls;
	struct stall_source {
		struct server *server;
		size_t index;
	} stall_sources[STALL_WATCHES];
	uint64_t flight_job;	/* the last one; 0: it has ended */
	char flight_words[512]; /* what has fired last */
	struct server_push {
		struct push_host *host; /* NULL: nothing is pushed */
		char name[65];		/* the machine's */
		uint64_t intervals;	/* up to the last figures that were pushed */
		uint64_t done_ns;	/* the end of the last one of them, CLOCK_MONOTONIC */
		uint64_t profile_job;	/* 0: none */
		uint64_t profile_begun_ns, profile_realtime_ns; /* of the last one */
	} push;
	char notice[1024]; /* for the user, until it has been shown; lines */
};

/* Forks its processes: before anything is open that they should not have. */
int server_open(struct server *server, struct server_options *options,
		struct error *error) must_check;

/* When measuring has begun: adds its descriptors to the loop. */
int server_begin(struct server *server, struct watch *watch, struct error *error) must_check;

/* An interval by thread, which is the watch's. */
int server_interval(struct server *server, const struct interval *interval,
		    struct error *error) must_check;

/* Each record, for the store: what cannot be written is counted, and no reason to end. */
int server_record(struct server *server, const struct wire_header *record,
		  struct error *error) must_check;

/* What /metrics has now; all of it is valid until the server does anything else. */
struct metrics_input server_metrics(const struct server *server, struct metrics_service *service);

/* Something for the user: a line. */
__attribute__((format(printf, 2, 3))) void server_note(struct server *server, const char *format,
						       ...);

/* Of one of its processes that cannot be started again: what is to end with the daemon. -ECHILD. */
int server_gone(const char *what, struct error *error) must_check;

/* At the end, while there are figures: pushes the last ones. */
void server_finish(struct server *server);

void server_release(struct server *server);

#endif
