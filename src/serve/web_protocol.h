/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the process that measures and the one that speaks HTTP, which has no rights: questions
 * one way, answers the other, over a socket that keeps them apart (SOCK_SEQPACKET). The bytes of
 * an answer come as a file in memory.
 *
 * An attacker who takes over the process that speaks HTTP can ask these questions, and nothing
 * else.
 */
#ifndef DWELL_SERVE_WEB_PROTOCOL_H
#define DWELL_SERVE_WEB_PROTOCOL_H

#include <stdint.h>

enum web_ask {
	WEB_METRICS = 1,  /* Prometheus' text format */
	WEB_METRICS_OPEN, /* OpenMetrics */
	WEB_STATUS,	  /* JSON */
	WEB_HISTORY,	  /* JSON; arguments: step, ns; from and to, CLOCK_REALTIME ns, 0: open */
	WEB_PROFILE,	  /* arguments: seconds; 1 + enum state, 0: all; enum web_profile */
	WEB_STALLS,	  /* JSON */
	WEB_MAIN,	  /* the page */
	WEB_CANCEL,	  /* no answer; arguments: the number of a profile that no one waits for */
	WEB_ASKS,
};

enum web_profile {
	WEB_PROFILE_PPROF,
	WEB_PROFILE_HTML,
	WEB_PROFILE_FOLDED,
	WEB_PROFILE_KINDS,
};

#define WEB_ARGUMENTS 3

struct web_question {
	uint64_t number; /* the asker's, to know the answer by */
	uint32_t ask;
	uint32_t unused;
	uint64_t arguments[WEB_ARGUMENTS];
};

struct web_answer {
	uint64_t number; /* 0: of no question: an interval has ended */
	uint64_t length; /* of the file that comes with it, read from its beginning */
	uint32_t status; /* of HTTP: 200, 404, 503 */
	uint32_t unused;
	char type[88]; /* Content-Type */
};

#endif
