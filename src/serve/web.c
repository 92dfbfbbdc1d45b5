// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/web.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/passing.h"
#include "base/sandbox.h"
#include "serve/web_access.h"
#include "serve/web_protocol.h"
#include "serve/web_reply.h"
#include "serve/web_route.h"

#define CONNECTIONS  512
#define WAITING_MOST 256 /* connections without a request: another one ends the oldest of them */
#define SENDING_MOST 128 /* those that take their answers, likewise */
#define REQUEST_NS   (15 * NS_PER_S) /* from a connection to a whole request */
/* From an answer to the next whole request: scrapes are up to a minute apart. */
#define IDLE_SECONDS 90U
#define ANSWER_NS    (15 * NS_PER_S)
#define REPLY_NS     (300 * NS_PER_S) /* from an answer to its last byte at the client */
#define HEADER_BYTES (16 << 10)	      /* a request line with all headers */
#define BODY_BYTES   (64 << 10)	      /* which is read and ignored */
#define MEMORY_BYTES (512 << 20)
#define SWEEP_MS     1000

enum peer_state {
	PEER_WAITS, /* for a whole request */
	PEER_ASKS,  /* and its answer is waited for */
	PEER_SENDS, /* the answer */
	PEER_ENDS,  /* it had to make room */
};

/* A connection, in which one request comes after the other. */
struct peer {
	struct peer *next, **self;
	int fd;
	enum peer_state state;
	uint64_t since_ns;
	uint64_t patience_ns; /* so long; 0: the answer has its own deadline */
};

/* From its headers to the end of its response. */
struct request {
	struct request *next, **self; /* those that wait for an answer */
	struct MHD_Connection *connection;
	struct peer *peer;
	uint64_t number; /* 0: nothing is asked */
	uint64_t deadline_ns;
	size_t body_bytes;
	bool is_profile;
	bool is_answered;
	int fd; /* of the answer; -1: none came */
	struct web_answer answer;
};

static struct web {
	const struct web_options *options;
	struct MHD_Daemon *daemons[WEB_LISTENERS];
	int socket;
	uint64_t last_number;
	uint64_t beat_ns; /* the last interval that has ended, or our begin; CLOCK_MONOTONIC */
	struct peer *peers;
	struct request *asked;
} web;

/*
 * Who asks in time is served, however many others hold connections without asking, or without
 * taking what they have asked for: of as many as may be the one ends that has done so the longest.
 */
static void make_room(enum peer_state state, size_t most)
{
	struct peer *oldest = NULL;
	size_t count = 0;

	for (struct peer *peer = web.peers; peer; peer = peer->next) {
		if (peer->state != state)
			continue;
		count++;
		if (!oldest || peer->since_ns <= oldest->since_ns)
			oldest = peer;
	}
	if (count < most)
		return;
	oldest->state = PEER_ENDS;
	shutdown(oldest->fd, SHUT_RDWR);
}

static void peer_enter(struct peer *peer, enum peer_state state, uint64_t patience_ns)
{
	peer->state = state;
	peer->since_ns = clock_monotonic_ns();
	peer->patience_ns = patience_ns;
}

static void peer_notify(void *data, struct MHD_Connection *connection, void **context,
			enum MHD_ConnectionNotificationCode code)
{
	const union MHD_ConnectionInfo *info;
	struct peer *peer = *context;

	(void)data;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED && peer) {
		*peer->self = peer->next;
		if (peer->next)
			peer->next->self = peer->self;
		free(peer);
		*context = NULL;
	}
	if (code != MHD_CONNECTION_NOTIFY_STARTED)
		return;
	make_room(PEER_WAITS, WAITING_MOST);
	peer = calloc(1, sizeof(*peer));
	info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (!peer || !info) {
		free(peer);
		return;
	}
	peer->fd = info->connect_fd;
	peer_enter(peer, PEER_WAITS, REQUEST_NS);
	peer->next = web.peers;
	peer->self = &web.peers;
	if (peer->next)
		peer->next->self = &peer->next;
	web.peers = peer;
	*context = peer;
}

static struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void unlink_request(struct request *request)
{
	if (!request->self)
		return;
	*request->self = request->next;
	if (request->next)
		request->next->self = request->self;
	request->self = NULL;
}

static struct request *request_new(struct MHD_Connection *connection)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->connection = connection;
	request->fd = -1;
	request->peer = peer_of(connection);
	return request;
}

static void request_end(void *data, struct MHD_Connection *connection, void **state,
			enum MHD_RequestTerminationCode code)
{
	struct request *request = *state;

	(void)data;
	(void)connection;
	(void)code;
	if (!request)
		return;
	unlink_request(request);
	if (request->peer)
		peer_enter(request->peer, PEER_WAITS, IDLE_SECONDS * NS_PER_S);
	if (request->fd >= 0)
		close(request->fd);
	free(request);
	*state = NULL;
}

/* The connection sleeps until take_answer(), or until that is overdue. */
static bool ask(struct request *request, const struct web_route *route)
{
	struct web_question question = {.number = ++web.last_number, .ask = route->ask};

	memcpy(question.arguments, route->arguments, sizeof(question.arguments));
	if (send(web.socket, &question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return false;
	request->number = question.number;
	request->is_profile = route->ask == WEB_PROFILE;
	request->deadline_ns = clock_monotonic_ns() + ANSWER_NS + route->patience_ns;
	request->next = web.asked;
	request->self = &web.asked;
	if (request->next)
		request->next->self = &request->next;
	web.asked = request;
	if (request->peer)
		peer_enter(request->peer, PEER_ASKS, 0);
	MHD_suspend_connection(request->connection);
	return true;
}

static enum MHD_Result reply(struct request *request)
{
	if (request->fd < 0)
		return web_reply_no_answer(request->connection);
	return web_reply_file(request->connection, request->answer.status, request->answer.type,
			      request->fd, request->answer.length);
}

static enum MHD_Result reply_static(struct request *request, enum web_page page)
{
	if (page == WEB_PAGE_HEALTH && clock_monotonic_ns() > web.beat_ns + web.options->silent_ns)
		return web_reply_text(request->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				      "no interval has ended for too long: nothing is measured\n");
	return web_reply_static(request->connection, page);
}

static enum MHD_Result handle(void *data, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *body_length, void **state)
{
	struct request *request = *state;
	struct web_route route;
	unsigned int refused;

	(void)data;
	(void)version;
	(void)body;
	if (!request) {
		*state = request_new(connection);
		return *state ? MHD_YES : MHD_NO;
	}
	if (*body_length) {
		request->body_bytes += *body_length;
		*body_length = 0;
		return request->body_bytes > BODY_BYTES ? MHD_NO : MHD_YES;
	}
	/* it is whole */
	if (request->peer) {
		make_room(PEER_SENDS, SENDING_MOST);
		peer_enter(request->peer, PEER_SENDS, REPLY_NS);
	}
	if (request->is_answered)
		return reply(request);
	url = web_route_path(url);
	refused = web_access_refuses(connection, web.options, web_route_is_open(url));
	if (refused)
		return web_reply_refusal(connection, refused);
	if (!web_route_find(&route, connection, method, url))
		return web_reply_text(connection, route.status, route.mistake);
	if (!route.ask)
		return reply_static(request, route.page);
	if (ask(request, &route))
		return MHD_YES;
	return reply(request);
}

static void resume(struct request *request)
{
	unlink_request(request);
	request->is_answered = true;
	MHD_resume_connection(request->connection);
}

/* False: nothing has come. */
static bool take_answer(void)
{
	struct web_answer answer;
	int fd;
	ssize_t got = passing_receive(web.socket, &answer, sizeof(answer), &fd, MSG_DONTWAIT);

	if (got == -EAGAIN || got == -EINTR)
		return false;
	if (got <= 0)
		_exit(0); /* the parent has ended */
	if (got == sizeof(answer) && !answer.number)
		web.beat_ns = clock_monotonic_ns();
	for (struct request *request = web.asked; request; request = request->next) {
		if (got != sizeof(answer) || request->number != answer.number)
			continue;
		request->answer = answer;
		request->answer.type[sizeof(answer.type) - 1] = '\0';
		request->fd = fd;
		resume(request);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return true;
}

/*
 * Who has asked for a profile has left, and another one may be taken: while a connection sleeps, no
 * one else sees that it is closed.
 */
static bool has_left(const struct request *request)
{
	char byte;

	return request->is_profile && request->peer &&
	       recv(request->peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void cancel(struct request *request)
{
	const struct web_question question = {.ask = WEB_CANCEL, .arguments = {request->number}};

	/* else it ends by itself */
	(void)!send(web.socket, &question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL);
	resume(request);
}

/*
 * Ends what takes too long: an answer, or a client, whose request may come byte by byte, and which
 * may take a response so.
 */
static void sweep(uint64_t now_ns)
{
	struct request *next;

	for (struct request *request = web.asked; request; request = next) {
		next = request->next;
		if (now_ns > request->deadline_ns)
			resume(request);
		else if (has_left(request))
			cancel(request);
	}
	for (struct peer *peer = web.peers; peer; peer = peer->next)
		if (peer->patience_ns && now_ns > peer->since_ns + peer->patience_ns)
			shutdown(peer->fd, SHUT_RDWR);
}

static void work(void)
{
	for (size_t i = 0; i < web.options->listener_count; i++)
		MHD_run(web.daemons[i]);
}

/* How long nothing may have to be done, ms. */
static int patience_ms(void)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int least = SWEEP_MS;

	for (size_t i = 0; i < web.options->listener_count; i++)
		if (MHD_get_timeout(web.daemons[i], &ms) == MHD_YES &&
		    ms < (MHD_UNSIGNED_LONG_LONG)least)
			least = (int)ms;
	return least;
}

static void loop(void)
{
	struct pollfd fds[WEB_LISTENERS + 1] = {{.fd = web.socket, .events = POLLIN}};
	size_t count = web.options->listener_count;
	uint64_t swept_ns = clock_monotonic_ns();

	for (size_t i = 0; i < count; i++)
		fds[1 + i] = (struct pollfd){
			.fd = MHD_get_daemon_info(web.daemons[i], MHD_DAEMON_INFO_EPOLL_FD)
				      ->epoll_fd,
			.events = POLLIN};
	for (;;) {
		uint64_t now_ns;

		(void)!poll(fds, (nfds_t)(count + 1), patience_ms());
		while (take_answer())
			;
		work();
		now_ns = clock_monotonic_ns();
		if (now_ns - swept_ns < SWEEP_MS * NS_PER_MS)
			continue;
		swept_ns = now_ns;
		sweep(now_ns);
	}
}

/* Errors of TLS and sockets are clients', and many. */
static void be_silent(void *data, const char *format, va_list arguments)
{
	(void)data;
	(void)format;
	(void)arguments;
}

static struct MHD_Daemon *start(int listener)
{
	const struct web_options *options = web.options;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, options->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, options->key},
		{MHD_OPTION_END, 0, NULL},
	};
	unsigned int flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	if (options->certificate)
		flags |= MHD_USE_TLS;
	else
		tls[0].option = MHD_OPTION_END;
	return MHD_start_daemon(
		flags, 0, NULL, NULL, handle, NULL, MHD_OPTION_EXTERNAL_LOGGER, be_silent, NULL,
		MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HEADER_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
		request_end, NULL, MHD_OPTION_NOTIFY_CONNECTION, peer_notify, NULL,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

static void keep_only(struct web_options *options, int *socket)
{
	int *fds[WEB_LISTENERS + 1];

	for (size_t i = 0; i < options->listener_count; i++)
		fds[i] = &options->listeners[i];
	fds[options->listener_count] = socket;
	forked_silence();
	if (forked_keep_only(fds, options->listener_count + 1) < 0)
		_exit(1);
}

static void limit(void)
{
	sandbox_limit(RLIMIT_CORE, 0);
	sandbox_limit(RLIMIT_FSIZE, 0);
	sandbox_limit(RLIMIT_DATA, MEMORY_BYTES);
	sandbox_limit(RLIMIT_NOFILE, 2 * CONNECTIONS);
}

static const int calls[] = {
	SYS_accept4,	SYS_epoll_ctl,	SYS_epoll_pwait,     SYS_shutdown,
	SYS_setsockopt, SYS_getsockopt, SYS_getsockname,     SYS_getpeername,
	SYS_writev,	SYS_sendfile,	SYS_clock_nanosleep,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
};

static void start_all(struct web_options *options, bool *ret_started)
{
	*ret_started = true;
	for (size_t i = 0; i < options->listener_count; i++) {
		web.daemons[i] = start(options->listeners[i]);
		*ret_started = *ret_started && web.daemons[i];
	}
}

void web_run(const struct web_options *given, int socket, pid_t parent)
{
	struct web_options options = *given;
	sigset_t none;
	bool started;
	char ready;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_IGN); /* of the terminal: it ends with its parent */
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	keep_only(&options, &socket);
	web.options = &options;
	web.socket = socket;
	/* so that an answer to a process that has ended is no answer to this one */
	web.last_number = web.beat_ns = clock_monotonic_ns();
	limit();
	start_all(&options, &started);
	started = started && sandbox_confine_to(parent, calls, ARRAY_SIZE(calls));
	ready = (char)(started ? 1 : 0);
	if (send(socket, &ready, 1, MSG_NOSIGNAL) != 1 || !started)
		_exit(1);
	loop();
	_exit(0);
}
