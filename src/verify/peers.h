/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other tools and counters, which measure the patterns' threads at the same time as dwell, against
 * the same truth: who is how wrong.
 */
#ifndef DWELL_VERIFY_PEERS_H
#define DWELL_VERIFY_PEERS_H

#include <sys/types.h>

#include "base/error.h"
#include "verify/judge.h"
#include "verify/peer_output.h"
#include "verify/ranks.h"

/* How exact one kind of time is. */
struct peer_time_result {
	const char *name;
	struct ranks errors; /* of each thread */
};

/* Dwell itself is the first of them. */
struct peer_result {
	const char *name;
	const char *measures; /* which of CPU, run queue, blocked, or all that is not CPU */
	struct ranks errors;  /* of each of these, of each thread */
	struct peer_time_result times[PEER_TIMES]; /* each alone, of those that it measures */
	size_t time_count;
	unsigned int threads; /* that it has figures of */
	unsigned int unseen;  /* that it has none of */
	struct error why;     /* it did not run; empty: it did */
};

#define PEERS 6

struct peers;

/*
 * Starts the tools that are installed, and waits until they measure; they end with us. `directory`:
 * where one of them keeps what it records, in a file without a name.
 */
int peers_open(struct peers **ret_peers, const char *directory, struct error *error) must_check;

/* Processes are about to run, `pid` and its children. */
int peers_begin(struct peers *peers, pid_t pid, struct error *error) must_check;
/* From time to time: some only say how much there was so far. */
int peers_read(struct peers *peers, struct error *error) must_check;
/* The processes have ended. */
int peers_end(struct peers *peers, struct error *error) must_check;

/* A thread that can be judged, as dwell measured it. `pattern` must outlive the results. */
int peers_add(struct peers *peers, const char *pattern, const struct truth *truth,
	      const struct row *row, const struct interval *interval) must_check;

/* Ends the tools, and judges. The results are to be released. */
int peers_judge(struct peers *peers, struct peer_result results[PEERS],
		struct error *error) must_check;

void peer_result_release(struct peer_result *result);

void peers_close(struct peers *peers); /* takes NULL */

#endif
