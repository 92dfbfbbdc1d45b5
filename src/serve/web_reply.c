// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/web_reply.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/gzip.h"
#include "serve/web_accept.h"

#define LENGTH_MAX    (64 << 20)
#define COMPRESS_FROM 1024
#define LEVEL	      1 /* the fastest */

static const char index_text[] =
	"profile?seconds=10    which code time is spent in, as pprof reads it\n"
	"  &state=lock         of one state: user, kernel, runnable, disk, lock, ...\n"
	"  &format=html        as a page; format=folded: as flame graph programs read it\n";

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned int status,
			     const char *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "Content-Security-Policy", "frame-ancestors 'none'");
	MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static struct MHD_Response *constant(const char *text)
{
	return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
					       MHD_RESPMEM_PERSISTENT);
}

enum MHD_Result web_reply_text(struct MHD_Connection *connection, unsigned int status,
			       const char *text)
{
	struct MHD_Response *response = constant(text);

	if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	return queue(connection, status, "text/plain; charset=utf-8", response);
}

enum MHD_Result web_reply_no_answer(struct MHD_Connection *connection)
{
	return web_reply_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "there is no answer now; ask again\n");
}

enum MHD_Result web_reply_refusal(struct MHD_Connection *connection, unsigned int status)
{
	struct MHD_Response *response;

	if (status != MHD_HTTP_UNAUTHORIZED)
		return web_reply_text(connection, status,
				      "not for pages of other sites; name this machine by its "
				      "address\n");
	response = constant("the token is missing or wrong\n");
	if (response)
		MHD_add_response_header(response, "WWW-Authenticate",
					"Basic realm=\"dwell\", charset=\"UTF-8\"");
	return queue(connection, status, "text/plain; charset=utf-8", response);
}

/* False: as it is. */
static bool accepts_gzip(struct MHD_Connection *connection)
{
	static const char *const gzip[] = {"gzip", "x-gzip", "*", NULL};
	static const char *const plain[] = {"identity", NULL};
	const char *accepted =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding");
	int quality = web_accept_quality(accepted, gzip);

	return quality > 0 && quality >= web_accept_quality(accepted, plain);
}

/* Takes the bytes, which malloc() gave. */
static enum MHD_Result reply_bytes(struct MHD_Connection *connection, unsigned int status,
				   const char *type, char *bytes, size_t length)
{
	struct MHD_Response *response;
	char *compressed = NULL;
	size_t compressed_length = 0;

	if (length >= COMPRESS_FROM && accepts_gzip(connection) &&
	    gzip_pack(bytes, length, LEVEL, &compressed, &compressed_length) >= 0) {
		free(bytes);
		bytes = compressed;
		length = compressed_length;
	}
	response = MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(bytes);
	else if (compressed)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
	return queue(connection, status, type, response);
}

enum MHD_Result web_reply_static(struct MHD_Connection *connection, enum web_page page)
{
	if (page == WEB_PAGE_HEALTH)
		return web_reply_text(connection, MHD_HTTP_OK, "ok\n");
	return web_reply_text(connection, MHD_HTTP_OK, index_text);
}

enum MHD_Result web_reply_file(struct MHD_Connection *connection, unsigned int status,
			       const char *type, int fd, uint64_t length)
{
	char *bytes;

	if (length > LENGTH_MAX)
		return web_reply_text(
			connection, MHD_HTTP_CONTENT_TOO_LARGE,
			"that is more than 64 MiB: ask for less time, or larger steps\n");
	bytes = file_bytes(fd, length);
	/* a part of it would look like all there is */
	return bytes ? reply_bytes(connection, status, type, bytes, length)
		     : web_reply_no_answer(connection);
}
