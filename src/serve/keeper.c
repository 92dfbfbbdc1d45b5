// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve/keeper.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/forked.h"
#include "base/sandbox.h"

#define LIVED_NS (10 * NS_PER_S)

static const struct keeper_pause usual_pause = {.ms = 10, .max_ms = 5000};

void keeper_begin(pid_t parent)
{
	forked_end_with(parent);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* a service manager stops all processes of a service at once: this one ends with its parent
	 */
	signal(SIGTERM, SIG_IGN);
}

void keeper_repeat(keeper_run *run, void *data, int socket, const struct keeper_pause *pause,
		   void (*ended)(void *data, int socket))
{
	unsigned int pause_ms = pause->ms;
	pid_t own = getpid();

	for (;;) {
		uint64_t start_ns = clock_monotonic_ns();
		pid_t pid = fork();

		if (!pid) {
			run(data, socket, own);
			_exit(1);
		}
		forked_await(pid);
		if (ended)
			ended(data, socket);
		pause_ms = clock_monotonic_ns() - start_ns > LIVED_NS ? pause->ms : 2 * pause_ms;
		if (pause_ms > pause->max_ms)
			pause_ms = pause->max_ms;
		clock_sleep_ms(pause_ms);
	}
}

static void begin(const struct keeper *keeper, int socket, pid_t parent)
{
	if (keeper->once) {
		keeper->run(keeper->data, socket, parent);
		_exit(1);
	}
	sandbox_keep(keeper->rights, keeper->right_count);
	keeper_begin(parent);
	keeper_repeat(keeper->run, keeper->data, socket, &usual_pause, NULL);
}

int keeper_start(struct kept *kept, const struct keeper *keeper, struct error *error)
{
	pid_t parent = getpid();
	int sockets[2], code;

	*kept = KEPT_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_set(error, errno, "cannot make a socket: %s", strerror(errno));
	kept->pid = fork();
	code = errno;
	if (!kept->pid) {
		close(sockets[0]);
		begin(keeper, sockets[1], parent);
	}
	close(sockets[1]);
	kept->socket = sockets[0];
	if (kept->pid > 0)
		return 0;
	keeper_end(kept);
	return error_set(error, code, "cannot start a process: %s", strerror(code));
}

void keeper_end(struct kept *kept)
{
	forked_end(kept->pid);
	if (kept->socket >= 0)
		close(kept->socket);
	*kept = KEPT_NONE;
}
