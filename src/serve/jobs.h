/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Other runs of this program, on behalf of a daemon that has given up the rights to start one: a
 * process that is forked before starts them, as many as it was allowed, and hands back what they
 * wrote.
 */
#ifndef DWELL_SERVE_JOBS_H
#define DWELL_SERVE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define JOBS_AT_ONCE   2
#define JOB_WORDS      16
#define JOB_WORD_BYTES 1024

struct job {
	uint64_t number;		       /* the asker's */
	uint32_t seconds;		       /* it is killed after so long, and a minute */
	uint32_t word_count;		       /* 0: the job of that number is to be killed */
	char words[JOB_WORDS][JOB_WORD_BYTES]; /* arguments: "profile", "-d", "10s" */
};

struct job_end {
	uint64_t number;
	uint64_t length; /* of what it wrote */
	int32_t status;	 /* as of wait(2); -EBUSY: not started, as many run */
	int32_t unused;
	char error[512]; /* the end of what it wrote to standard error */
};

struct jobs;

/* Forks what starts jobs; it has all rights that the caller has now. */
int jobs_start(struct jobs **ret_jobs, struct error *error) must_check;
void jobs_end(struct jobs *jobs); /* kills those that run; takes NULL */

/* False: no job can be started. */
bool jobs_run(struct jobs *jobs, const struct job *job) must_check;

/* Kills it: jobs_next() reports its end. */
void jobs_cancel(struct jobs *jobs, uint64_t number);

/* Adds an argument, printf() style; what is too long is cut. */
__attribute__((format(printf, 2, 3))) void job_add(struct job *job, const char *format, ...);

/* Readable when a job has ended. */
int jobs_descriptor(const struct jobs *jobs);

/*
 * 1: a job has ended; *ret_fd is what it wrote, which the caller closes. 0: none has. -ECHILD: what
 * starts them has been killed.
 */
int jobs_next(struct jobs *jobs, struct job_end *ret_end, int *ret_fd) must_check;

#endif
