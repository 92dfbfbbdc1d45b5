/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns in processes of their own, and what their threads say of themselves. */
#ifndef DWELL_VERIFY_BATCH_H
#define DWELL_VERIFY_BATCH_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/error.h"
#include "verify/pattern.h"

#define BATCH_TRUTHS 1024

/* In memory that the processes share. */
struct batch_truths {
	atomic_uint count; /* may be more than there is room for */
	struct truth items[BATCH_TRUTHS];
};

/* What runs at the same time. */
struct batch {
	const struct pattern *const *patterns;
	size_t count;
	bool (*wanted_call)(const void *data, const char *name); /* NULL: no calls */
	const void *data;
	const char *path;      /* of the file for those that need one; NULL: there is none, */
	int file_error;	       /* for this errno */
	const char *directory; /* where it was to be */
	/* the rest is the batch's own */
	struct batch_truths *truths;
	pid_t pid; /* parent of all; 0: none */
	int pidfd; /* readable when all have ended */
	int start_fd;
};

/* The processes' parent exists, and waits for batch_start(). It dies with us. */
int batch_prepare(struct batch *batch, struct error *error) must_check;
void batch_start(struct batch *batch);
/* Kills what still runs, and reaps it. */
void batch_release(struct batch *batch);

#endif
