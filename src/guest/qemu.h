/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A QEMU process, and the lines to it. */
#ifndef DWELL_GUEST_QEMU_H
#define DWELL_GUEST_QEMU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/board.h"
#include "guest/shape.h"

/* Our ends of its lines. */
enum qemu_line {
	QEMU_SAID,    /* what QEMU itself writes */
	QEMU_CONSOLE, /* of the guest's kernel */
	QEMU_SERIAL,  /* frames, over a serial port that every kernel knows */
	QEMU_PORT,    /* frames, over a virtio-serial port: faster, where the kernel has it */
	QEMU_MONITOR, /* QMP */
	QEMU_LINES,
};

struct qemu {
	pid_t pid; /* 0: none */
	int pidfd;
	int lines[QEMU_LINES]; /* -1: ended */
};

#define QEMU_INIT                                                                                  \
	{                                                                                          \
		.pidfd = -1, .lines = { -1, -1, -1, -1, -1 }                                       \
	}

struct qemu_options {
	const struct board *board;
	const char *kernel; /* its file, for messages */
	const char *append; /* to the kernel's command line; NULL: nothing */
	struct shape shape;
	uint64_t memory_bytes;
	bool kvm;
	bool sandbox;  /* -sandbox on, which not every QEMU is built with */
	int kernel_fd; /* of kernel_image_open() */
	int image_fd;  /* the initramfs */
};

/* Not root's: guest/jail.h. It dies with the calling thread. What cannot run at all says so on
 * QEMU_SAID, and ends. */
int qemu_start(struct qemu *qemu, const struct qemu_options *options,
	       struct error *error) must_check;

/* Kills and reaps it, no matter what it does. */
void qemu_end(struct qemu *qemu);

/* Whether KVM is there at all; some hosts have it and cannot run a stock kernel by it. */
bool qemu_may_use_kvm(void);

#endif
