// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for time to pass, and for something to happen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verify/ends.h"
#include "verify/pattern.h"

#define NEVER_S 3600

static void sleep_long(int argument)
{
	(void)argument;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = NEVER_S}, NULL);
}

static void sleep_by_old_call(int argument)
{
	(void)argument;
	syscall(SYS_nanosleep, &(struct timespec){.tv_sec = NEVER_S}, NULL);
}

static void poll_it(int argument)
{
	poll(&(struct pollfd){.fd = argument, .events = POLLIN}, 1, -1);
}

static void ppoll_it(int argument)
{
	struct timespec never = {.tv_sec = NEVER_S};

	ppoll(&(struct pollfd){.fd = argument, .events = POLLIN}, 1, &never, NULL);
}

static void select_it(int argument)
{
	fd_set set;

	FD_ZERO(&set);
	if (argument < FD_SETSIZE)
		FD_SET(argument, &set);
	select(argument < FD_SETSIZE ? argument + 1 : 0, &set, NULL, NULL, NULL);
}

static void poll_nothing(int argument)
{
	(void)argument;
	poll(NULL, 0, NEVER_S * 1000);
}

static void select_nothing(int argument)
{
	struct timeval never = {.tv_sec = NEVER_S};

	(void)argument;
	select(0, NULL, NULL, NULL, &never);
}

static int quiet_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	epoll_ctl(fd, EPOLL_CTL_ADD, quiet_pipe(), &event);
	return fd;
}

static void wait_for_epoll(int argument)
{
	struct epoll_event event;

	epoll_wait(argument, &event, 1, -1);
}

static void wait_for_signal(int argument)
{
	(void)argument;
	pause();
}

static void suspend(int argument)
{
	sigset_t none;

	(void)argument;
	sigemptyset(&none);
	sigsuspend(&none);
}

/* Not for the one that ends it. */
static void take_signal(int argument)
{
	sigset_t set;

	(void)argument;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	/* some libraries' sigwaitinfo() goes on after another signal */
	syscall(SYS_rt_sigtimedwait, &set, NULL, NULL, _NSIG / 8);
}

static int signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int timer(void)
{
	struct itimerspec never = {.it_value.tv_sec = NEVER_S};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	timerfd_settime(fd, 0, &never, NULL);
	return fd;
}

static int event(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

/* As much as it can count: the next one waits for a reader. */
static int full_event(void)
{
	int fd = event();
	uint64_t most = UINT64_MAX - 1;

	if (write(fd, &most, sizeof(most)) < 0)
		return pattern_skip("eventfd");
	return fd;
}

static void add_to_event(int fd)
{
	uint64_t one = 1;

	(void)!write(fd, &one, sizeof(one));
}

static int file_news(void)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? pattern_skip("inotify") : fd;
}

static int file_questions(void)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY);

	return fd < 0 ? pattern_skip("fanotify") : fd;
}

static int terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), fd;
	char name[64];

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)))
		return pattern_skip("pseudoterminal");
	fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? pattern_skip(name) : fd;
}

static int full_terminal(void)
{
	int fd = terminal();

	if (fd >= 0)
		fill(fd);
	return fd;
}

/* More than the kernel makes room for by and by. */
static void write_much(int fd)
{
	static const char bytes[1 << 18];

	(void)!write(fd, bytes, sizeof(bytes));
}

static int kernel_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return pattern_skip("/dev/kmsg");
	lseek(fd, 0, SEEK_END);
	return fd;
}

static int old_kernel_log(void)
{
	int fd = open("/proc/kmsg", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? pattern_skip("/proc/kmsg") : fd;
}

static int a_child(void)
{
	pid_t child = pattern_fork();

	if (child < 0)
		return pattern_skip("fork");
	if (child)
		return child;
	syscall(SYS_close_range, 0, ~0U, 0);
	while (true)
		pause();
}

static void wait_for_child(int argument)
{
	waitpid(argument, NULL, 0);
}

static void wait_for_child_by_id(int argument)
{
	siginfo_t info;

	waitid(P_PID, (id_t)argument, &info, WEXITED);
}

static void kill_child(int argument)
{
	kill(argument, SIGKILL);
}

static int a_process(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return fd < 0 ? pattern_skip("pidfd_open") : fd;
}

const struct call event_calls[] = {
	{"nanosleep", STATE_SLEEP, "clock_nanosleep", call_prepare_nothing, sleep_long, NULL},
	{"nanosleep-old", STATE_SLEEP, "nanosleep", call_prepare_nothing, sleep_by_old_call, NULL},
	{"poll-nothing", STATE_SLEEP, "@(poll|ppoll)", call_prepare_nothing, poll_nothing, NULL},
	{"select-nothing", STATE_SLEEP, "*select*", call_prepare_nothing, select_nothing, NULL},
	{"poll", STATE_IDLE, "@(poll|ppoll)", quiet_pipe, poll_it, NULL},
	{"ppoll", STATE_IDLE, "ppoll", quiet_pipe, ppoll_it, NULL},
	{"select", STATE_IDLE, "*select*", quiet_pipe, select_it, NULL},
	{"epoll-wait", STATE_IDLE, "epoll_*wait", quiet_epoll, wait_for_epoll, NULL},
	{"pidfd", STATE_IDLE, "@(poll|ppoll)", a_process, poll_it, NULL},
	{"pause", STATE_IDLE, "@(pause|ppoll)", call_prepare_nothing, wait_for_signal, NULL},
	{"sigsuspend", STATE_IDLE, "rt_sigsuspend", call_prepare_nothing, suspend, NULL},
	{"sigwait", STATE_IDLE, "rt_sigtimedwait", call_prepare_nothing, take_signal, NULL},
	{"wait4", STATE_IDLE, "wait4*", a_child, wait_for_child, kill_child},
	{"waitid", STATE_IDLE, "waitid*", a_child, wait_for_child_by_id, kill_child},
	{"signalfd", STATE_IDLE, "read:event", signals, read_news, NULL},
	{"timerfd", STATE_IDLE, "read:event", timer, read_news, NULL},
	{"eventfd-read", STATE_IDLE, "read:event", event, read_news, NULL},
	{"eventfd-write", STATE_IPC, "write:event", full_event, add_to_event, NULL},
	{"inotify", STATE_IDLE, "read:event", file_news, read_news, NULL},
	{"fanotify", STATE_IDLE, "read:event", file_questions, read_news, NULL},
	{"terminal", STATE_IDLE, "read:chardev", terminal, read_news, NULL},
	{"terminal-write", STATE_IPC, "write:chardev", full_terminal, write_much, NULL},
	{"dev-kmsg", STATE_IDLE, "read:chardev", kernel_log, read_news, NULL},
	{"proc-kmsg", STATE_IDLE, "read:*", old_kernel_log, read_news, NULL},
	{NULL, STATES, NULL, NULL, NULL, NULL},
};
