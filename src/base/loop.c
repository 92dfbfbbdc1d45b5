// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/limits.h"

int loop_init(struct loop *loop, struct error *error)
{
	*loop = (struct loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	if (loop->epoll_fd < 0)
		return error_set(error, errno, "cannot make an epoll: %s", limits_strerror(errno));
	return 0;
}

void loop_release(struct loop *loop)
{
	for (unsigned int i = 0; i < loop->count; i++)
		if (loop->sources[i].owned && loop->sources[i].fd >= 0)
			close(loop->sources[i].fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	*loop = (struct loop){.epoll_fd = -1};
}

static int add(struct loop *loop, int fd, bool owned, loop_callback callback, void *data,
	       struct error *error)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = loop->count};
	int code = EMFILE;

	if (fd >= 0 && loop->count < LOOP_MAX_SOURCES) {
		if (!epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
			loop->sources[loop->count++] =
				(struct loop_source){fd, owned, callback, data};
			return 0;
		}
		code = errno;
	} else if (fd < 0) {
		code = errno;
	}
	if (owned && fd >= 0)
		close(fd);
	return error_set(error, code, "cannot wait for an event: %s", limits_strerror(code));
}

int loop_add(struct loop *loop, int fd, loop_callback callback, void *data, struct error *error)
{
	return add(loop, fd, false, callback, data, error);
}

static void set_timer(int fd, uint64_t since_ns, uint64_t period_ns)
{
	struct itimerspec spec = {.it_value = clock_timespec(since_ns + period_ns),
				  .it_interval = clock_timespec(period_ns)};

	timerfd_settime(fd, since_ns ? TFD_TIMER_ABSTIME : 0, &spec, NULL);
}

void loop_change_timer(struct loop *loop, uint64_t period_ns)
{
	if (!loop->timer)
		return;
	loop->timer_ns = period_ns;
	set_timer(loop->timer, 0, period_ns);
}

int loop_add_timer(struct loop *loop, uint64_t since_ns, uint64_t period_ns, loop_callback callback,
		   void *data, struct error *error)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0)
		set_timer(fd, since_ns, period_ns);
	if (fd >= 0 && !loop->timer) {
		loop->timer = fd;
		loop->timer_ns = period_ns;
	}
	return add(loop, fd, true, callback, data, error);
}

void signals_heard(sigset_t *ret_set, const int *signals, unsigned int count)
{
	sigemptyset(ret_set);
	for (unsigned int i = 0; i < count; i++) {
		struct sigaction action;

		/* a signal that is blocked comes even if it is ignored */
		if (signals[i] == SIGHUP && !sigaction(SIGHUP, NULL, &action) &&
		    action.sa_handler == SIG_IGN)
			continue;
		sigaddset(ret_set, signals[i]);
	}
}

int loop_add_signals(struct loop *loop, const int *signals, unsigned int count,
		     loop_callback callback, void *data, struct error *error)
{
	sigset_t set;

	signals_heard(&set, signals, count);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return add(loop, signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), true, callback, data,
		   error);
}

/* Timers and signals have something to read away; other descriptors are the callback's business. */
static void acknowledge(struct loop *loop, const struct loop_source *source)
{
	struct signalfd_siginfo info; /* a timer's 8 bytes fit too */

	if (source->owned && read(source->fd, &info, sizeof(info)) == sizeof(info)) {
		loop->signal = (int)info.ssi_signo;
		loop->signal_from_terminal = info.ssi_code == SI_KERNEL;
	}
}

int loop_run(struct loop *loop, struct error *error)
{
	struct epoll_event events[LOOP_MAX_SOURCES];

	while (!loop->stop) {
		int count = epoll_wait(loop->epoll_fd, events, LOOP_MAX_SOURCES, -1);

		if (count < 0 && errno != EINTR)
			return error_set(error, errno, "cannot wait for events: %s",
					 strerror(errno));
		for (int i = 0; i < count && !loop->stop; i++) {
			struct loop_source *source = &loop->sources[events[i].data.u32];
			int result;

			acknowledge(loop, source);
			result = source->callback(source->data, error);
			if (result < 0)
				return result;
		}
	}
	return 0;
}
