/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may ask. In the process that speaks HTTP. */
#ifndef DWELL_SERVE_WEB_ACCESS_H
#define DWELL_SERVE_WEB_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/web.h"

struct MHD_Connection;

/* The status of HTTP to refuse it with: 401, 403; 0: it may. What is open takes no token. */
unsigned int web_access_refuses(struct MHD_Connection *connection,
				const struct web_options *options, bool is_open);

/* Whether a Host header names this machine: an address, or localhost, with a port or without. */
bool web_host_is_local(const char *host);

/*
 * Whether an Authorization header has the token: as "Bearer TOKEN", or as the password of "Basic
 * BASE64", whatever the user. It takes as long for each wrong token of the same length.
 */
bool web_token_matches(const char *authorization, const char *token);

#endif
