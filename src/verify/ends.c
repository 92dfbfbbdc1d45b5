// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "verify/ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verify/pattern.h"

int inet_pair(int ends[2])
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
	    connect(ends[0], (struct sockaddr *)&address, length) < 0)
		return pattern_skip("loopback connection");
	ends[1] = accept(listener, NULL, NULL);
	close(listener);
	return 0;
}

int quiet_socket(void)
{
	int ends[2];

	return inet_pair(ends) < 0 ? NOT_HERE : ends[0];
}

void fill(int fd)
{
	static const char bytes[65536];
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	/* the last byte, too: it may have room for a small packet, but not for a large one */
	for (size_t size = sizeof(bytes); size; size /= 2)
		while (write(fd, bytes, size) > 0)
			;
	fcntl(fd, F_SETFL, flags);
}

int full_socket(void)
{
	/* given, it does not grow: else the kernel finds room later */
	int ends[2], size = 8192;

	if (inet_pair(ends) < 0)
		return NOT_HERE;
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(ends[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	fill(ends[0]);
	return ends[0];
}

int full_pipe(int *ret_other)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return pattern_skip("pipe");
	fill(ends[1]);
	if (ret_other)
		*ret_other = ends[0];
	return ends[1];
}

int empty_pipe(int *ret_other)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return pattern_skip("pipe");
	if (ret_other)
		*ret_other = ends[1];
	return ends[0];
}

int quiet_pipe(void)
{
	return empty_pipe(NULL);
}

void read_byte(int fd)
{
	char byte;

	(void)!read(fd, &byte, 1);
}

void read_news(int fd)
{
	char bytes[4096];
	ssize_t count;

	/* the kernel's log says EPIPE where it has overwritten what was to be read */
	while ((count = read(fd, bytes, sizeof(bytes))) > 0 || (count < 0 && errno == EPIPE))
		;
}

int some_file(void)
{
	int fd = memfd_create("dwell", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 1 << 20) < 0)
		return pattern_skip("memfd_create");
	return fd;
}
