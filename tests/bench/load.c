// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks one of the services at a given rate: `bench-load PORT RATE SECONDS [EVERY_MS REQUEST…]`.
 * RATE requests a second that do nothing, each millisecond's spread over the connections, and on
 * another connection every EVERY_MS one of the REQUESTs, in turn. Does not wait for the answers,
 * but for the oldest of a connection when it has many. Prints `answered NUMBER NS`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define CONNECTIONS 20
#define TICK_NS	    1000000ULL
#define NS	    1000000000ULL
/* More that are not answered yet and the buffers between might be full. */
#define AHEAD_MAX 64

static const char request[] = "nothing 0\n";

struct load {
	struct pollfd sockets[CONNECTIONS + 1]; /* the last one is for requests that block */
	unsigned int ahead[CONNECTIONS + 1];	/* asked and not answered */
	uint64_t asked, answered;
};

__attribute__((noreturn)) static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		fail("load: cannot connect");
	return fd;
}

static void ask(struct load *load, size_t connection, const char *text, size_t length,
		unsigned int count)
{
	if (write(load->sockets[connection].fd, text, length) != (ssize_t)length)
		fail("load: cannot ask");
	load->ahead[connection] += count;
}

/* As many as are due, evenly; what a slow service has no room for is asked later. */
static void ask_due(struct load *load, uint64_t due)
{
	static char text[AHEAD_MAX * sizeof(request)];
	const unsigned int length = sizeof(request) - 1;

	for (size_t i = 0; i < CONNECTIONS && load->asked < due; i++) {
		uint64_t share = (due - load->asked + CONNECTIONS - i - 1) / (CONNECTIONS - i);
		unsigned int room = AHEAD_MAX - load->ahead[i];
		unsigned int count = share < room ? (unsigned int)share : room;

		for (unsigned int j = 0; j < count; j++)
			memcpy(text + j * length, request, length);
		if (count)
			ask(load, i, text, count * length, count);
		load->asked += count;
	}
}

static void take_answers(struct load *load)
{
	static char text[16384];

	if (poll(load->sockets, CONNECTIONS + 1, 0) < 0 && errno != EINTR)
		fail("load: poll");
	for (size_t i = 0; i <= CONNECTIONS; i++) {
		ssize_t length = load->sockets[i].revents
					 ? read(load->sockets[i].fd, text, sizeof(text))
					 : -1;

		if (!length) {
			fputs("load: the service is gone\n", stderr);
			exit(1);
		}
		for (ssize_t j = 0; j < length; j++) {
			if (text[j] != '\n')
				continue;
			load->ahead[i]--;
			load->answered++;
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t rate, end, every, start, now, next, tick, number = 0;
	struct load load = {.asked = 0};

	if (argc < 4 || argc == 5) {
		fputs("usage: bench-load PORT RATE SECONDS [EVERY_MS REQUEST...]\n", stderr);
		return 2;
	}
	for (size_t i = 0; i <= CONNECTIONS; i++)
		load.sockets[i] = (struct pollfd){connect_to((uint16_t)atoi(argv[1])), POLLIN, 0};
	rate = strtoull(argv[2], NULL, 10);
	every = argc > 5 ? strtoull(argv[4], NULL, 10) * TICK_NS : 0;
	start = next = tick = clock_monotonic_ns();
	end = start + strtoull(argv[3], NULL, 10) * NS;
	for (now = start; now < end; now = clock_monotonic_ns()) {
		struct timespec until;

		ask_due(&load, (now - start) * rate / NS);
		if (every && now >= next && load.ahead[CONNECTIONS] < AHEAD_MAX) {
			char text[256];
			int length = snprintf(text, sizeof(text), "%s\n",
					      argv[5 + number++ % (uint64_t)(argc - 5)]);

			ask(&load, CONNECTIONS, text, (size_t)length, 1);
			next += every;
		}
		take_answers(&load);
		tick = tick + TICK_NS > now ? tick + TICK_NS : now;
		until = (struct timespec){(time_t)(tick / NS), (long)(tick % NS)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	printf("answered %" PRIu64 " %" PRIu64 "\n", load.answered, now - start);
	return 0;
}
