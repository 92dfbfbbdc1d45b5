// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/push_send.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/forked.h"
#include "base/library.h"
#include "base/passing.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "serve/keeper.h"
#include "serve/push_protocol.h"
#include "view/otlp.h"

#define LIBRARY	     "libcurl.so.4" /* of every libcurl since 2006, with any TLS below */
#define PACKAGES     "libcurl4, libcurl4t64 or libcurl"
#define CONNECT_S    10L
#define SEND_S	     30L
#define MEMORY_BYTES (512 << 20)
#define FILES	     64
#define LATER_MOST_S 3600

/*
 * What is called of libcurl, found when it is needed: linked, it and the 30 libraries below it
 * would be loaded by every dwell.
 */
static struct {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_setopt) *easy_setopt;
	__typeof__(curl_easy_perform) *easy_perform;
	__typeof__(curl_easy_getinfo) *easy_getinfo;
	__typeof__(curl_easy_strerror) *easy_strerror;
	__typeof__(curl_slist_append) *slist_append;
} curl;

static const struct library_call calls_of_curl[] = {
	{"curl_global_init", (void **)&curl.global_init},
	{"curl_easy_init", (void **)&curl.easy_init},
	{"curl_easy_setopt", (void **)&curl.easy_setopt},
	{"curl_easy_perform", (void **)&curl.easy_perform},
	{"curl_easy_getinfo", (void **)&curl.easy_getinfo},
	{"curl_easy_strerror", (void **)&curl.easy_strerror},
	{"curl_slist_append", (void **)&curl.slist_append},
};

int push_send_check(struct error *error)
{
	void *library =
		library_load(LIBRARY, PACKAGES, calls_of_curl, ARRAY_SIZE(calls_of_curl), error);

	library_unload(library);
	return library ? 0 : error_wrap(error, -ENOENT, "--push sends with libcurl");
}

struct sender {
	const struct push_engine *engine;
	CURL *handle;
	struct curl_slist *headers;
	char mistake[CURL_ERROR_SIZE];
	char answer[160]; /* its beginning */
	size_t answer_length;
};

static size_t take_answer(char *bytes, size_t size, size_t count, void *data)
{
	struct sender *sender = data;
	size_t room = sizeof(sender->answer) - 1 - sender->answer_length;
	size_t part = size * count < room ? size * count : room;

	memcpy(sender->answer + sender->answer_length, bytes, part);
	sender->answer_length += part;
	return size * count;
}

static void add_header(struct sender *sender, const char *header)
{
	struct curl_slist *longer = curl.slist_append(sender->headers, header);

	if (!longer)
		_exit(1);
	sender->headers = longer;
}

static void add_headers(struct sender *sender)
{
	const struct push_protocol_info *protocol = &push_protocols[sender->engine->protocol];
	static const char *const encodings[] = {
		[PUSH_GZIP] = "Content-Encoding: gzip",
		[PUSH_SNAPPY] = "Content-Encoding: snappy",
	};
	char line[1024];

	snprintf(line, sizeof(line), "Content-Type: %s", protocol->type);
	add_header(sender, line);
	if (protocol->packing)
		add_header(sender, encodings[protocol->packing]);
	if (protocol->header)
		add_header(sender, protocol->header);
	add_header(sender, "Expect:"); /* without asking whether it may send the body */
	if (sender->engine->token && !sender->engine->has_user) {
		snprintf(line, sizeof(line), "Authorization: Bearer %s", sender->engine->token);
		add_header(sender, line);
	}
}

/* What is refused by this version of the library would be a mistake that no one sees. */
#define SET(option, value)                                                                         \
	do {                                                                                       \
		if (curl.easy_setopt(handle, option, value) != CURLE_OK)                           \
			_exit(1);                                                                  \
	} while (0)

static void prepare(struct sender *sender)
{
	CURL *handle = sender->handle = curl.easy_init();

	if (!handle)
		_exit(1);
	add_headers(sender);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L); /* the token is for this engine alone */
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	SET(CURLOPT_TIMEOUT, SEND_S);
	SET(CURLOPT_USERAGENT, "dwell");
	SET(CURLOPT_HTTPHEADER, sender->headers);
	SET(CURLOPT_ERRORBUFFER, sender->mistake);
	SET(CURLOPT_WRITEFUNCTION, take_answer);
	SET(CURLOPT_WRITEDATA, sender);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (sender->engine->ca) {
		struct curl_blob blob = {.data = sender->engine->ca,
					 .len = strlen(sender->engine->ca),
					 .flags = CURL_BLOB_NOCOPY};

		SET(CURLOPT_CAINFO_BLOB, &blob);
	}
	if (sender->engine->token && sender->engine->has_user) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(CURLOPT_PASSWORD, sender->engine->token);
	}
}

/* Some take a request and not all that is in it. */
static void judge_taken(const struct sender *sender, struct push_result *result)
{
	char words[sizeof(sender->answer)] = "";
	uint64_t rejected = 0;

	if (sender->engine->protocol == PUSH_OTLP)
		rejected = otlp_rejected((const uint8_t *)sender->answer, sender->answer_length,
					 words, sizeof(words));
	result->outcome = rejected ? PUSH_PARTLY : PUSH_SENT;
	if (rejected)
		snprintf(result->words, sizeof(result->words),
			 "it took a batch without %" PRIu64 " of its points%s%s", rejected,
			 *words ? ": " : "", words);
}

/* Status of HTTP, and what is to become of the batch. */
static void judge(struct sender *sender, struct push_result *result)
{
	char *end = sender->answer + sender->answer_length;
	long status = 0;
	curl_off_t later = 0;

	curl.easy_getinfo(sender->handle, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300) {
		judge_taken(sender, result);
		return;
	}
	result->outcome = status == 429 || status >= 500 ? PUSH_LATER : PUSH_REFUSED;
	if (result->outcome == PUSH_LATER &&
	    curl.easy_getinfo(sender->handle, CURLINFO_RETRY_AFTER, &later) == CURLE_OK &&
	    later > 0)
		result->later_s = later < LATER_MOST_S ? (uint32_t)later : LATER_MOST_S;
	while (end > sender->answer && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
		end--;
	*end = '\0';
	snprintf(result->words, sizeof(result->words), "it answered with HTTP %ld%s%s", status,
		 *sender->answer ? ": " : "", sender->answer);
}

static void send_batch(struct sender *sender, const struct push_request *request, int fd,
		       struct push_result *result)
{
	cleanup_free char *bytes =
		request->length <= PUSH_BATCH_MOST ? file_bytes(fd, request->length) : NULL;
	const char *url = sender->engine->url;
	CURL *handle = sender->handle;
	CURLcode code;
	char whole[2048];

	snprintf(whole, sizeof(whole), "%s%s%s", url,
		 !*request->query   ? ""
		 : strchr(url, '?') ? "&"
				    : "?",
		 request->query);
	*result = (struct push_result){.number = request->number, .outcome = PUSH_LATER};
	sender->answer_length = 0;
	memset(sender->answer, 0, sizeof(sender->answer));
	memset(sender->mistake, 0, sizeof(sender->mistake));
	if (!bytes) {
		snprintf(result->words, sizeof(result->words), "out of memory");
		return;
	}
	SET(CURLOPT_URL, whole);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
	SET(CURLOPT_POSTFIELDS, bytes);
	code = curl.easy_perform(handle);
	if (code == CURLE_OK)
		judge(sender, result);
	else
		snprintf(result->words, sizeof(result->words), "%.200s",
			 *sender->mistake ? sender->mistake : curl.easy_strerror(code));
}

static void limit(void)
{
	sandbox_limit(RLIMIT_CORE, 0);
	sandbox_limit(RLIMIT_FSIZE, 0);
	sandbox_limit(RLIMIT_DATA, MEMORY_BYTES);
	sandbox_limit(RLIMIT_NOFILE, FILES);
}

/* Finding machines by their names, reading certificates, and talking to one machine. */
static const int calls[] = {
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_shutdown,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_getpeername,
	SYS_socketpair,
	SYS_sendmmsg,
	SYS_recvmmsg,
	SYS_openat,
	SYS_getdents64,
	SYS_statx,
	SYS_ioctl,
	SYS_uname,
	SYS_pipe2,
	SYS_eventfd2,
	SYS_writev,
	SYS_readv,
	SYS_geteuid,
	SYS_getuid,
	SYS_getegid,
	SYS_getgid,
	SYS_sched_yield,
	SYS_rseq,
	SYS_readlinkat,
	SYS_faccessat,
	SYS_fstatfs,
	SYS_set_robust_list,
	SYS_sched_getaffinity,
#ifdef SYS_open
	SYS_open,
	SYS_stat,
	SYS_access,
	SYS_readlink,
#endif
};

void push_send_run(const struct push_engine *engine, int socket, pid_t parent)
{
	struct sender sender = {.engine = engine};
	struct push_request request;
	int *kept[] = {&socket};

	forked_silence();
	if (forked_keep_only(kept, ARRAY_SIZE(kept)) < 0)
		_exit(1);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (!library_load(LIBRARY, PACKAGES, calls_of_curl, ARRAY_SIZE(calls_of_curl), NULL) ||
	    curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		_exit(1);
	prepare(&sender);
	limit();
	if (!sandbox_confine_client(parent, calls, ARRAY_SIZE(calls)))
		_exit(1);
	for (;;) {
		struct push_result result;
		int fd = -1;
		ssize_t got = passing_receive(socket, &request, sizeof(request), &fd, 0);

		if (got == -EINTR)
			continue;
		if (got != sizeof(request))
			_exit(0); /* the parent has ended */
		request.query[PUSH_QUERY_BYTES - 1] = '\0';
		send_batch(&sender, &request, fd, &result);
		if (fd >= 0)
			close(fd);
		if (send(socket, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result))
			_exit(0);
	}
}
