/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Responses. In the process that speaks HTTP. */
#ifndef DWELL_SERVE_WEB_REPLY_H
#define DWELL_SERVE_WEB_REPLY_H

#include <microhttpd.h>
#include <stdint.h>

#include "serve/web_route.h"

/* Plain text, which must be a constant. */
enum MHD_Result web_reply_text(struct MHD_Connection *connection, unsigned int status,
			       const char *text);

/* 503, where there is no answer at present. */
enum MHD_Result web_reply_no_answer(struct MHD_Connection *connection);

/* 401 or 403, by web_access_refuses(). */
enum MHD_Result web_reply_refusal(struct MHD_Connection *connection, unsigned int status);

enum MHD_Result web_reply_static(struct MHD_Connection *connection, enum web_page page);

/*
 * The bytes of a file, compressed where the client takes that; 503 where it has fewer. The file
 * stays the caller's.
 */
enum MHD_Result web_reply_file(struct MHD_Connection *connection, unsigned int status,
			       const char *type, int fd, uint64_t length);

#endif
