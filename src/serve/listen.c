// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BACKLOG		1024
#define HOST_BYTES	256
#define INHERITED_FIRST 3 /* sd_listen_fds(3), SD_LISTEN_FDS_START */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un path;
};

/* Into host, "" for all addresses, and port. */
static int split(const char *address, char *host, size_t room, const char **ret_port,
		 struct error *error)
{
	const char *colon = strrchr(address, ':');
	const char *begin = address;
	size_t length;

	if (!colon || !colon[1] || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    atol(colon + 1) > UINT16_MAX)
		return error_set(error, EINVAL,
				 "'%s' is no address to listen on; write HOST:PORT, [::1]:PORT or "
				 ":PORT",
				 address);
	length = (size_t)(colon - address);
	if (length >= 2 && *address == '[' && colon[-1] == ']') {
		begin++;
		length -= 2;
	}
	if (length >= room)
		return error_set(error, EINVAL, "'%.40s...' is no address to listen on", address);
	memcpy(host, begin, length);
	host[length] = '\0';
	*ret_port = colon + 1;
	return 0;
}

int listen_check(const char *address, struct error *error)
{
	char host[HOST_BYTES];
	const char *port;

	return split(address, host, sizeof(host), &port, error);
}

static int open_one(const struct addrinfo *info, bool all)
{
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int yes = 1, only = !all;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (info->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
		int code = -errno;

		close(fd);
		return code;
	}
	return fd;
}

/* For all addresses, IPv6 comes first: its socket takes IPv4, too. */
static int open_first(const struct addrinfo *infos, bool all)
{
	int fd = -EADDRNOTAVAIL;

	for (int pass = 0; pass < 2; pass++)
		for (const struct addrinfo *info = infos; info && fd < 0; info = info->ai_next)
			if ((info->ai_family == AF_INET6) == (pass == 0) || !all)
				fd = open_one(info, all);
	return fd;
}

int listen_open(const char *address, int *ret_fd, struct error *error)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
	struct addrinfo *infos = NULL;
	const char *port = NULL;
	char host[HOST_BYTES];
	int fd, result = split(address, host, sizeof(host), &port, error);

	if (result < 0)
		return result;
	result = getaddrinfo(*host ? host : NULL, port, &hints, &infos);
	if (result)
		return error_set(error, EINVAL, "cannot listen on %s: %s", address,
				 gai_strerror(result));
	fd = open_first(infos, !*host);
	freeaddrinfo(infos);
	if (fd < 0)
		return error_set(error, -fd, "cannot listen on %s: %s%s", address, strerror(-fd),
				 fd == -EADDRINUSE ? "; --listen takes another port" : "");
	*ret_fd = fd;
	return 0;
}

size_t listen_inherited(int *ret_first)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	long number = count ? atol(count) : 0;

	*ret_first = INHERITED_FIRST;
	return pid && atol(pid) == getpid() && number > 0 ? (size_t)number : 0;
}

static bool address_of(int fd, union address *ret_address)
{
	socklen_t length = sizeof(*ret_address);

	*ret_address = (union address){0};
	return getsockname(fd, &ret_address->any, &length) == 0;
}

bool listen_is_local(int fd)
{
	union address address;

	if (!address_of(fd, &address))
		return false;
	switch (address.any.sa_family) {
	case AF_UNIX:
		return true;
	case AF_INET:
		return ntohl(address.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
	}
	return false;
}

void listen_format(int fd, char *into, size_t room)
{
	union address address;
	char host[INET6_ADDRSTRLEN] = "";

	if (!address_of(fd, &address)) {
		snprintf(into, room, "?");
	} else if (address.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
		snprintf(into, room, "[%s]:%u", host, ntohs(address.v6.sin6_port));
	} else if (address.any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
		snprintf(into, room, "%s:%u", host, ntohs(address.v4.sin_port));
	} else {
		snprintf(into, room, "%s", address.path.sun_path);
	}
}
