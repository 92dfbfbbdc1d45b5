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

#endif
