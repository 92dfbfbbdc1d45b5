// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/duration.h"

static int notify_fd = -1;

void notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;

	if (!length || length >= sizeof(address.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(address.sun_path, path, length);
	if (*path == '@')
		address.sun_path[0] = '\0';
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (notify_fd < 0)
		return;
	if (connect(notify_fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0) {
		close(notify_fd);
		notify_fd = -1;
	}
}

void notify_send(const char *state)
{
	if (notify_fd >= 0)
		(void)!send(notify_fd, state, strlen(state), MSG_NOSIGNAL);
}

void notify_watchdog(uint64_t interval_ns)
{
	const char *usec = getenv("WATCHDOG_USEC");
	char state[48];

	if (!usec || strtoull(usec, NULL, 10) >= 2 * interval_ns / NS_PER_US)
		return;
	snprintf(state, sizeof(state), "WATCHDOG_USEC=%llu",
		 (unsigned long long)(3 * interval_ns / NS_PER_US));
	notify_send(state);
}
