// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for the other end of a connection, or for one. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "verify/ends.h"
#include "verify/pattern.h"

static const char bytes[65536];

static void receive(int argument)
{
	char byte;

	recv(argument, &byte, 1, 0);
}

static void receive_message(int argument)
{
	char byte;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	recvmsg(argument, &message, 0);
}

static void send_bytes(int argument)
{
	send(argument, bytes, sizeof(bytes), MSG_NOSIGNAL);
}

static void write_bytes(int argument)
{
	(void)!write(argument, bytes, sizeof(bytes));
}

static void send_file(int argument)
{
	sendfile(argument, some_file(), NULL, sizeof(bytes));
}

static void splice_to_socket(int argument)
{
	int other;

	full_pipe(&other);
	splice(other, NULL, argument, NULL, sizeof(bytes), 0);
}

static void splice_from_socket(int argument)
{
	int other;

	empty_pipe(&other);
	splice(argument, NULL, other, NULL, sizeof(bytes), 0);
}

static void accept_one(int argument)
{
	accept(argument, NULL, NULL);
}

/* What was sent is not taken: close() waits until a signal comes. */
static int lingering(void)
{
	int fd = full_socket();
	struct linger linger = {1, 3600};

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return fd;
}

static void close_it(int argument)
{
	close(argument);
}

static int datagrams(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return pattern_skip("UDP");
	return fd;
}

static int inet_listener(struct sockaddr_in *ret_address, int backlog)
{
	socklen_t length = sizeof(*ret_address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_in){.sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (bind(fd, (struct sockaddr *)ret_address, length) < 0 || listen(fd, backlog) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret_address, &length) < 0)
		return pattern_skip("listen");
	return fd;
}

static int listening(void)
{
	struct sockaddr_in address;

	return inet_listener(&address, 1);
}

/* Nothing is accepted, and there is no room in the backlog for one more: tcp(7). */
static struct sockaddr_in crowded;

static int crowded_listener(void)
{
	int fd = inet_listener(&crowded, 0);

	for (int i = 0; fd >= 0 && i < 4; i++)
		connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
			(struct sockaddr *)&crowded, sizeof(crowded));
	return fd;
}

static void connect_to_crowded(int argument)
{
	(void)argument;
	connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&crowded,
		sizeof(crowded));
}

static int unix_pair(int type)
{
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return pattern_skip("socketpair");
	return ends[0];
}

static int unix_stream(void)
{
	return unix_pair(SOCK_STREAM);
}

static int unix_datagram(void)
{
	return unix_pair(SOCK_DGRAM);
}

static int full_unix(void)
{
	int fd = unix_stream();

	if (fd >= 0)
		fill(fd);
	return fd;
}

static int full_unix_datagram(void)
{
	int fd = unix_datagram();

	if (fd >= 0)
		fill(fd);
	return fd;
}

/* In the abstract namespace, so that no file is left: unix(7). */
static int unix_listener(const char *purpose, struct sockaddr_un *ret_address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1, "dwell-verify-%s-%d",
		 purpose, getpid());
	if (bind(fd, (struct sockaddr *)ret_address, sizeof(*ret_address)) < 0 || listen(fd, 0) < 0)
		return pattern_skip("Unix socket");
	return fd;
}

static int unix_listening(void)
{
	struct sockaddr_un address;

	return unix_listener("accept", &address);
}

static struct sockaddr_un unix_crowded;

static int unix_crowd(void)
{
	int fd = unix_listener("connect", &unix_crowded);

	for (int i = 0; fd >= 0 && i < 4; i++)
		connect(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
			(struct sockaddr *)&unix_crowded, sizeof(unix_crowded));
	return fd;
}

static void connect_to_unix_crowd(int argument)
{
	(void)argument;
	connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&unix_crowded,
		sizeof(unix_crowded));
}

static int route_news(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? pattern_skip("netlink") : fd;
}

const struct call socket_calls[] = {
	{"tcp-recv", STATE_NET, "recvfrom:inet", quiet_socket, receive, NULL},
	{"tcp-recvmsg", STATE_NET, "recvmsg:inet", quiet_socket, receive_message, NULL},
	{"tcp-read", STATE_NET, "read:inet", quiet_socket, read_byte, NULL},
	{"tcp-send", STATE_NET, "sendto:inet", full_socket, send_bytes, NULL},
	{"tcp-write", STATE_NET, "write:inet", full_socket, write_bytes, NULL},
	{"tcp-connect", STATE_NET, "connect:inet", crowded_listener, connect_to_crowded, NULL},
	{"tcp-accept", STATE_IDLE, "accept*", listening, accept_one, NULL},
	{"tcp-linger", STATE_NET, "close:inet", lingering, close_it, NULL},
	{"sendfile-net", STATE_NET, "sendfile:inet", full_socket, send_file, NULL},
	{"splice-to-net", STATE_NET, "splice:inet", full_socket, splice_to_socket, NULL},
	{"splice-from-net", STATE_NET, "splice:inet", quiet_socket, splice_from_socket, NULL},
	{"udp-recv", STATE_NET, "recvfrom:inet", datagrams, receive, NULL},
	{"unix-recv", STATE_IPC, "recvfrom:unix", unix_stream, receive, NULL},
	{"unix-recv-dgram", STATE_IPC, "recvfrom:unix", unix_datagram, receive, NULL},
	{"unix-send", STATE_IPC, "sendto:unix", full_unix, send_bytes, NULL},
	{"unix-send-dgram", STATE_IPC, "sendto:unix", full_unix_datagram, send_bytes, NULL},
	{"unix-accept", STATE_IDLE, "accept*", unix_listening, accept_one, NULL},
	{"unix-connect", STATE_IPC, "connect:unix", unix_crowd, connect_to_unix_crowd, NULL},
	{"netlink-recv", STATE_IDLE, "recvfrom:netlink", route_news, receive, NULL},
	{NULL, STATES, NULL, NULL, NULL, NULL},
};
