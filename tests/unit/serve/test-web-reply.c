// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers are whole, or say that there is none. The library that speaks HTTP is a stand-in. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/file.h"
#include "serve/web_reply.h"

#define TEXT "what is asked for"

struct MHD_Response {
	void *bytes;
	size_t length;
	bool is_owned;
};

/* What is replied. */
static unsigned int status;
static char body[128];
static bool is_interrupted;

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer,
						     enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response = malloc(sizeof(*response));

	assert_non_null(response);
	*response = (struct MHD_Response){buffer, size, mode == MHD_RESPMEM_MUST_FREE};
	return response;
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *header,
					const char *content)
{
	(void)response;
	(void)header;
	(void)content;
	return MHD_YES;
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int code,
				   struct MHD_Response *response)
{
	(void)connection;
	assert_true(response->length < sizeof(body));
	memcpy(body, response->bytes, response->length);
	body[response->length] = '\0';
	status = code;
	return MHD_YES;
}

void MHD_destroy_response(struct MHD_Response *response)
{
	if (response->is_owned)
		free(response->bytes);
	free(response);
}

/* In place of the C library's. */
ssize_t pread(int fd, void *buffer, size_t length, off_t offset)
{
	if (is_interrupted) {
		is_interrupted = false;
		errno = EINTR;
		return -1;
	}
	return lseek(fd, offset, SEEK_SET) < 0 ? -1 : read(fd, buffer, length);
}

static void reply(size_t length)
{
	int fd = file_in_memory("dwell-test");

	assert_int_equal(file_write(fd, TEXT, strlen(TEXT)), 0);
	assert_int_equal(web_reply_file(NULL, MHD_HTTP_OK, "text/plain", fd, length), MHD_YES);
	close(fd);
}

CASE(an_answer_that_is_whole_is_sent)
{
	reply(strlen(TEXT));
	assert_int_equal(status, MHD_HTTP_OK);
	assert_string_equal(body, TEXT);
}

CASE(a_signal_cuts_nothing_off)
{
	is_interrupted = true;
	reply(strlen(TEXT));
	assert_int_equal(status, MHD_HTTP_OK);
	assert_string_equal(body, TEXT);
}

CASE(an_answer_that_ends_early_is_none)
{
	reply(strlen(TEXT) + 1);
	assert_int_equal(status, MHD_HTTP_SERVICE_UNAVAILABLE);
	assert_null(strstr(body, TEXT));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(an_answer_that_is_whole_is_sent),
		cmocka_unit_test(a_signal_cuts_nothing_off),
		cmocka_unit_test(an_answer_that_ends_early_is_none),
	};

	return RUN(cases);
}
