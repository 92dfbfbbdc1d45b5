/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the processes that push. The one that measures gives each batch of figures to one that
 * has the queues, and hears what became of them. That one gives a batch to a process for each
 * engine, which alone speaks with other machines and has no rights, and hears how that went. All
 * over sockets that keep messages apart (SOCK_SEQPACKET); bytes come as a file in memory.
 */
#ifndef DWELL_SERVE_PUSH_PROTOCOL_H
#define DWELL_SERVE_PUSH_PROTOCOL_H

#include <stdint.h>

/* More in the query of a URL: "name=dwell&from=1", and a NUL. */
#define PUSH_QUERY_BYTES 256
#define PUSH_WORDS_BYTES 256

/* Of a batch, not packed. */
#define PUSH_BATCH_MOST (64 << 20)

enum push_dropped {
	PUSH_DROPPED_FULL,    /* the oldest one, where the queue had no room */
	PUSH_DROPPED_REFUSED, /* the engine does not want it, or a part of it */
	PUSH_DROPPED_CORRUPT, /* its file is not as it was written */
	PUSH_DROPPED_BUSY,    /* the queue's process does not read */
	PUSH_DROPPED_LOST,    /* the process with the queue was killed: it may have been sent */
	PUSH_DROPPED_REASONS,
};

enum push_kind { PUSH_BATCH = 1, PUSH_FINISH /* send what there is at once, and report */ };

struct push_batch {
	uint32_t kind;
	uint32_t engine;
	uint64_t number; /* of the engine's batches: 1, 2 and so on */
	uint64_t length;
	char query[PUSH_QUERY_BYTES];
};

/* Of one engine, since the process that reports it began. */
struct push_status {
	uint32_t engine;
	uint32_t pid;	/* of that process */
	uint64_t found; /* in the queue, when it began */
	uint64_t taken; /* the last number */
	uint64_t sent, dropped[PUSH_DROPPED_REASONS];
	uint64_t queued, queue_bytes;
	uint32_t has_finished; /* PUSH_FINISH: all is sent, or cannot be now */
	uint32_t unused;
	char words[PUSH_WORDS_BYTES]; /* for the user; "": nothing */
};

struct push_request {
	uint64_t number;
	uint64_t length;
	char query[PUSH_QUERY_BYTES];
};

enum push_outcome {
	PUSH_SENT = 1,
	PUSH_PARTLY, /* without some of its points */
	PUSH_REFUSED,
	PUSH_LATER,
};

struct push_result {
	uint64_t number;
	uint32_t outcome;
	uint32_t later_s;	      /* at the earliest; 0: as one likes */
	char words[PUSH_WORDS_BYTES]; /* why not */
};

#endif
