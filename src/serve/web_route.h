/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request asks for. In the process that speaks HTTP. */
#ifndef DWELL_SERVE_WEB_ROUTE_H
#define DWELL_SERVE_WEB_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "serve/web_protocol.h"

struct MHD_Connection;

enum web_page {
	WEB_PAGE_HEALTH,
	WEB_PAGE_INDEX, /* of /debug/pprof/ */
};

struct web_route {
	enum web_ask ask; /* 0: a page */
	uint64_t arguments[WEB_ARGUMENTS];
	uint64_t patience_ns; /* that the answer takes besides */
	enum web_page page;
	unsigned int status; /* of a refusal, with its reason */
	const char *mistake;
};

/* A target may name its server, as for a proxy: "http://127.0.0.1:9465/metrics" is "/metrics". */
const char *web_route_path(const char *target);

/* Of a path. False: a refusal. */
bool web_route_find(struct web_route *ret_route, struct MHD_Connection *connection,
		    const char *method, const char *url);

/* Whether a path says nothing of the machine: probes of Kubernetes and load balancers have no
 * token. */
bool web_route_is_open(const char *url);

#endif
