// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/init.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guest/board.h"
#include "guest/frame.h"
#include "guest/image.h"

#define ORDERS_MAX    (64 * 1024)
#define ARGUMENTS_MAX 1024

/*
 * What a kernel lacks is not mounted: the command says what it misses. Nothing over /tmp: files of
 * the image may be there, and the root is in memory anyway.
 */
static void mount_all(void)
{
	static const struct {
		const char *type, *where;
	} mounts[] = {
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"devtmpfs", "/dev"},
		{"debugfs", "/sys/kernel/debug"},
		{"tracefs", "/sys/kernel/tracing"},
		{"bpf", "/sys/fs/bpf"},
		{"cgroup2", "/sys/fs/cgroup"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].where, 0755);
		mount("dwell", mounts[i].where, mounts[i].type, 0, NULL);
	}
}

/* The loopback device, so that programs reach themselves. */
static void raise_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	cleanup_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		ioctl(fd, SIOCSIFFLAGS, &request);
}

/* A second serial line: the first is the console. */
static int open_host(void)
{
	struct termios raw;
	int fd = open(board_here()->line_path, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || tcgetattr(fd, &raw) < 0)
		return fd;
	cfmakeraw(&raw);
	tcsetattr(fd, TCSANOW, &raw);
	return fd;
}

_Noreturn static void turn_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

/* A text of the image, or of nothing. Its length. */
static size_t read_order(const char *name, char into[ORDERS_MAX])
{
	char path[64];
	cleanup_close int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, into, ORDERS_MAX - 1);
	into[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

_Noreturn static void become_command(int out, int error)
{
	static char orders[ORDERS_MAX], directory[ORDERS_MAX];
	char *arguments[ARGUMENTS_MAX + 2] = {(char *)"dwell"};
	size_t length = read_order(IMAGE_ARGUMENTS, orders), count = 1;

	for (size_t at = 0; at < length && count <= ARGUMENTS_MAX; at += strlen(orders + at) + 1)
		arguments[count++] = orders + at;
	read_order(IMAGE_DIRECTORY, directory);
	if (chdir(directory) < 0)
		fprintf(stderr, "init: %s: %s\n", directory, strerror(errno));
	setsid();
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
	execv("/init", arguments);
	dprintf(STDERR_FILENO, "init: cannot run dwell: %s\n", strerror(errno));
	_exit(127);
}

/* False: nothing more will come. */
static bool pass_on(int from, int host, enum frame_kind kind)
{
	static char bytes[4096];
	ssize_t got = read(from, bytes, sizeof(bytes));

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	return got > 0 && frame_write(host, kind, bytes, (size_t)got) >= 0;
}

/* Its wait status. Orphans are reaped on the way: they are init's. */
static int run_command(int host)
{
	int out[2], error[2], status = 127 << 8, left = 2;
	struct pollfd fds[2];
	pid_t pid, got;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(error, O_CLOEXEC) < 0)
		return status;
	pid = fork();
	if (!pid)
		become_command(out[1], error[1]);
	close(out[1]);
	close(error[1]);
	fds[0] = (struct pollfd){.fd = out[0], .events = POLLIN};
	fds[1] = (struct pollfd){.fd = error[0], .events = POLLIN};
	while (left) {
		if (poll(fds, 2, -1) <= 0)
			continue;
		for (int i = 0; i < 2; i++) {
			if (!fds[i].revents ||
			    pass_on(fds[i].fd, host, i ? FRAME_ERROR : FRAME_OUT))
				continue;
			fds[i].fd = -1;
			left--;
		}
	}
	do
		got = wait(&status);
	while (got != pid && (got > 0 || errno == EINTR));
	return status;
}

_Noreturn void guest_init(void)
{
	int host, status;
	int32_t code;

	mount_all();
	raise_loopback();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/", 1);
	setenv("TMPDIR", "/tmp", 1);
	setenv("HOME", "/", 1);
	host = open_host();
	if (host < 0) {
		fprintf(stderr, "init: %s: %s\n", board_here()->line_path, strerror(errno));
		turn_off();
	}
	if (frame_write(host, FRAME_READY, "", 0) < 0)
		turn_off();
	status = run_command(host);
	code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (frame_write(host, FRAME_EXIT, &code, sizeof(code)) < 0)
		fprintf(stderr, "init: the host does not listen: %s\n", strerror(errno));
	tcdrain(host);
	turn_off();
}
