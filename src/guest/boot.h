/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU with a kernel and an initramfs, and what comes out of it. */
#ifndef DWELL_GUEST_BOOT_H
#define DWELL_GUEST_BOOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/board.h"
#include "guest/frame.h"
#include "guest/shape.h"

enum boot_accel {
	ACCEL_AUTO, /* KVM where a guest runs under it, else TCG */
	ACCEL_KVM,
	ACCEL_TCG,
};

struct boot_options {
	const struct board *board; /* that the kernel is for */
	const char *kernel;
	const char *append; /* to the kernel's command line; NULL: nothing */
	struct shape shape;
	uint64_t memory_bytes;
	enum boot_accel accel;
	uint64_t timeout_ns; /* until init runs */
	int image_fd;
	const char *log; /* the console is kept in this file; NULL: its end only, in memory */
};

/* What a guest came to. */
struct boot_result {
	int code; /* exit status of the command */
	bool kvm;
	uint64_t ready_ns; /* from the start of QEMU until init ran */
	uint64_t damaged;  /* frames */
};

/*
 * Boots, passes what the command prints on to standard output and error, and returns when it has
 * ended: 0, or -errno with what went wrong and the end of the console. SIGINT and SIGTERM end it.
 * No process is left.
 */
int boot_run(const struct boot_options *options, struct boot_result *ret_result,
	     struct error *error) must_check;

#endif
