// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/stack_watch.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* It is off. */
static int open_event(uint32_t tid, uint64_t address)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attributes),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = address,
		.bp_len = sizeof(uint64_t),
		.sample_period = 1,
		.exclude_kernel = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attributes, (pid_t)tid, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int watch_word(int program_fd, uint32_t tid, uint64_t address)
{
	int fd = open_event(tid, address), result = fd;

	/* once, then it is off again */
	if (fd >= 0 && (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ||
			ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) < 0)) {
		result = -errno;
		close(fd);
	}
	return result;
}

int stack_watch_ready(void)
{
	static uint64_t word;

	return open_event(0, (uintptr_t)&word);
}

int stack_watch_open(struct stack_watch *watch, int program_fd, uint32_t tid,
		     const uint64_t words[STACK_WATCH_WORDS])
{
	watch->count = 0;
	for (size_t i = 0; i < STACK_WATCH_WORDS; i++) {
		int fd = words[i] ? watch_word(program_fd, tid, words[i]) : -ENOENT;

		if (fd == -ENOENT)
			continue;
		if (fd < 0) {
			stack_watch_close(watch);
			return fd;
		}
		watch->fds[watch->count++] = fd;
	}
	return watch->count ? 0 : -ENOENT;
}

void stack_watch_close(struct stack_watch *watch)
{
	while (watch->count)
		close(watch->fds[--watch->count]);
}
