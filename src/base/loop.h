/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop of a command: descriptors, a timer, signals. A procedure that has to wait in the
 * middle, with a deadline: await.h.
 */
#ifndef DWELL_BASE_LOOP_H
#define DWELL_BASE_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define LOOP_MAX_SOURCES 16

/* Called when its descriptor is readable. Negative errno ends the loop with it. */
typedef int (*loop_callback)(void *data, struct error *error);

struct loop {
	int timer;	   /* descriptor of the first; 0 = none */
	uint64_t timer_ns; /* its period */
	int epoll_fd;
	bool stop;
	struct loop_source {
		int fd;
		bool owned;
		loop_callback callback;
		void *data;
	} sources[LOOP_MAX_SOURCES];
	unsigned int count;
	/* of the signal whose callback is running */
	int signal;
	bool signal_from_terminal;
};

#define cleanup_loop cleanup(loop_release)

int loop_init(struct loop *loop, struct error *error) must_check;
void loop_release(struct loop *loop);

/* The loop does not own `fd`. */
int loop_add(struct loop *loop, int fd, loop_callback callback, void *data,
	     struct error *error) must_check;

/*
 * Every `period_ns` after `since_ns` (CLOCK_MONOTONIC; 0: now), on the beat: a late call does not
 * shift the next ones.
 */
int loop_add_timer(struct loop *loop, uint64_t since_ns, uint64_t period_ns, loop_callback callback,
		   void *data, struct error *error) must_check;

/* Another period for the timer that was added first, from now on. */
void loop_change_timer(struct loop *loop, uint64_t period_ns);

/*
 * Those of the signals that are to be heard: not SIGHUP where it is ignored, as nohup(1) and
 * daemons want it.
 */
void signals_heard(sigset_t *ret_set, const int *signals, unsigned int count);

/* Blocks the signals, as signals_heard() says, for the process and hears them here. */
int loop_add_signals(struct loop *loop, const int *signals, unsigned int count,
		     loop_callback callback, void *data, struct error *error) must_check;

/* Until loop->stop is set or a callback fails. */
int loop_run(struct loop *loop, struct error *error) must_check;

#endif
