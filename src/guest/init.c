// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "guest/init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/priority.h"
#include "guest/board.h"
#include "guest/frame.h"
#include "guest/image.h"
#include "guest/agent.h"
#include "guest/modules.h"

#define PORTS	     "/sys/class/virtio-ports"
#define PORT_WAIT_MS 1000

/*
 * What a kernel lacks is not mounted: the command says what it misses. Nothing over /tmp: files of
 * the image may be there, and the root is in memory anyway.
 */
static void mount_all(void)
{
	static const struct {
		const char *type, *point;
	} mounts[] = {
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"devtmpfs", "/dev"},
		{"debugfs", "/sys/kernel/debug"},
		{"securityfs", "/sys/kernel/security"},
		{"tracefs", "/sys/kernel/tracing"},
		{"bpf", "/sys/fs/bpf"},
		{"cgroup2", "/sys/fs/cgroup"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		mkdir(mounts[i].point, 0755);
		mount("dwell", mounts[i].point, mounts[i].type, 0, NULL);
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

/* By its name; -1: it is not there. */
static int find_port(DIR *ports)
{
	struct dirent *entry;

	rewinddir(ports);
	while ((entry = readdir(ports))) {
		char path[PATH_MAX], name[32] = "";
		cleanup_file FILE *file = NULL;

		snprintf(path, sizeof(path), PORTS "/%s/name", entry->d_name);
		file = *entry->d_name == '.' ? NULL : fopen(path, "re");
		if (!file || fscanf(file, "%31s", name) != 1 || strcmp(name, BOARD_PORT) != 0)
			continue;
		snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
		return open(path, O_RDWR | O_CLOEXEC);
	}
	return -1;
}

/*
 * The virtio-serial port; -1: this kernel has no driver for it. One that has asks the device for
 * its ports while init goes on.
 */
static int open_port(void)
{
	cleanup_dir DIR *ports = opendir(PORTS);
	int fd = -1;

	for (int waited_ms = 0; ports && fd < 0 && waited_ms < PORT_WAIT_MS; waited_ms += 5) {
		fd = find_port(ports);
		if (fd < 0)
			clock_sleep_ms(5);
	}
	return fd;
}

/* A second serial line: the first is the console. */
static int open_serial(void)
{
	struct termios raw;
	int fd = open(board_here()->line_path, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || tcgetattr(fd, &raw) < 0)
		return fd;
	cfmakeraw(&raw);
	tcsetattr(fd, TCSANOW, &raw);
	return fd;
}

static int open_host(void)
{
	int fd = open_port();

	return fd < 0 ? open_serial() : fd;
}

_Noreturn static void turn_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

/* A text of the image, or of nothing. Its length. */
static size_t read_order(const char *name, char into[IMAGE_ORDER_BYTES])
{
	char path[64];
	cleanup_close int fd = -1;
	ssize_t got;

	snprintf(path, sizeof(path), "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, into, IMAGE_ORDER_BYTES - 1);
	into[got > 0 ? got : 0] = '\0';
	return got > 0 ? (size_t)got : 0;
}

/* Texts that each end by a NUL. */
static size_t split(char *texts, size_t length, char **into, size_t room)
{
	size_t count = 0;

	for (size_t at = 0; at < length && count < room; at += strlen(texts + at) + 1)
		into[count++] = texts + at;
	return count;
}

static void read_orders(struct agent_orders *orders)
{
	static char arguments[IMAGE_ORDER_BYTES], directory[IMAGE_ORDER_BYTES],
		scheduler[IMAGE_ORDER_BYTES], pulled[IMAGE_ORDER_BYTES],
		recording[IMAGE_ORDER_BYTES];
	static char *items[IMAGE_ORDER_TEXTS + 1], *paths[IMAGE_ORDER_TEXTS];
	static struct pulled_files_root roots[IMAGE_ORDER_TEXTS];
	size_t length = read_order(IMAGE_ARGUMENTS, arguments);

	split(arguments, length, items, IMAGE_ORDER_TEXTS);
	orders->arguments = items;
	read_order(IMAGE_DIRECTORY, directory);
	orders->directory = directory;
	orders->scheduler = read_order(IMAGE_SCHEDULER, scheduler) ? scheduler : NULL;
	orders->repro = read_order(IMAGE_REPRO, (char[IMAGE_ORDER_BYTES]){""}) > 0;
	orders->recording = read_order(IMAGE_RECORDING, recording) ? recording : NULL;
	length = read_order(IMAGE_RETURNS, pulled);
	orders->pulled.roots = roots;
	orders->pulled.count = split(pulled, length, paths, IMAGE_ORDER_TEXTS);
	for (size_t i = 0; i < orders->pulled.count; i++)
		roots[i].path = paths[i];
}

/* Kernels differ in what can be set: without it the command reports what is missing. */
static void write_setting(const char *path, const char *value)
{
	cleanup_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		fprintf(stderr, "init: %s: %s\n", path, strerror(errno));
}

/* Even if others want a CPU, and even if the scheduler under test does not run us. */
static void be_unstoppable(void)
{
	cleanup_close int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (!priority_raise() || fd < 0 || write(fd, "-1000", 5) < 0)
		fprintf(stderr, "init: cannot protect itself: %s\n", strerror(errno));
}

_Noreturn void guest_init(void)
{
	struct agent_orders orders = {.arguments = NULL};
	struct utsname kernel = {.release = ""};
	int host;

	mount_all();
	modules_load("/" IMAGE_MODULES);
	raise_loopback();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/", 1);
	setenv("TMPDIR", "/tmp", 1);
	setenv("HOME", "/", 1);
	host = open_host();
	if (host < 0) {
		fprintf(stderr, "init: %s: %s\n", board_here()->line_path, strerror(errno));
		turn_off();
	}
	if (sethostname("guest", 5) < 0)
		fprintf(stderr, "init: the name of the host: %s\n", strerror(errno));
	/* off by default since 5.14; what is started before it counts only its time on a CPU */
	write_setting("/proc/sys/kernel/task_delayacct", "1");
	read_orders(&orders);
	be_unstoppable();
	uname(&kernel);
	if (frame_write(host, FRAME_READY, kernel.release, strlen(kernel.release)) < 0)
		turn_off();
	agent_run(&orders, host);
	/*
	 * What was written may not have left: with the power off QEMU would drop it. The host ends
	 * this guest when it has heard all, however long it takes to read.
	 */
	for (;;)
		pause();
}
