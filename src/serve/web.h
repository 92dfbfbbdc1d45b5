/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that speaks HTTP: what it is given, and its whole life. */
#ifndef DWELL_SERVE_WEB_H
#define DWELL_SERVE_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WEB_LISTENERS 8

struct web_options {
	int listeners[WEB_LISTENERS]; /* sockets that listen; not owned */
	size_t listener_count;
	char *certificate, *key; /* PEM; NULL: no TLS */
	char *token;		 /* what clients have to show; NULL: nothing */
	/*
	 * Whether a request has to name this machine by an address, or as localhost: else a page of
	 * another site whose name leads here could read what only local users may.
	 */
	bool local_names_only;
	uint64_t silent_ns; /* /healthz fails so long after the last interval */
};

/*
 * Gives up all rights and serves until `parent`, at the other end of `socket`, ends. Of what is
 * open only the listeners and the socket stay. Never returns.
 */
void web_run(const struct web_options *options, int socket, pid_t parent) __attribute__((noreturn));

#endif
