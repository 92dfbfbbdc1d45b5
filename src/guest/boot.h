/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest from its boot to its end, and what comes out of it. */
#ifndef DWELL_GUEST_BOOT_H
#define DWELL_GUEST_BOOT_H

#include "base/pressure.h"
#include "guest/frame.h"
#include "guest/qemu.h"
#include "guest/pulled_files.h"

enum boot_accel {
	ACCEL_AUTO, /* KVM where a guest runs under it, else TCG */
	ACCEL_KVM,
	ACCEL_TCG,
};

#define BOOT_RELEASE_BYTES 65
#define BOOT_LOG_BYTES	   256

struct boot_options {
	struct qemu_options qemu;
	enum boot_accel accel;
	uint64_t timeout_ns; /* until init runs; and longest silence after that */
	bool patient;	     /* longer where the host has no CPU for it: base/patience.h */
	bool scheduler;	     /* the image has one */
	bool judged;	     /* the command itself reports the scheduler's death */
	bool progress;	     /* status_line.h, while it boots */
	const char *log;     /* the console is kept in this file; NULL: its end only, in memory */
	const char *dump;    /* where the words of a scheduler that died go */
	bool dump_chosen;    /* that name was not asked for: no other file has it */
	struct pulled_files *pulled; /* files that may come back */
	uint64_t return_bytes;	     /* of them all, at most; 0: RECEIVING_BYTES_MAX */
};

enum boot_scheduler {
	BOOT_SCHEDULER_NONE, /* none was asked for, or it never came to it */
	BOOT_SCHEDULER_NOT_STARTED,
	BOOT_SCHEDULER_ALIVE,
	BOOT_SCHEDULER_STOPPED, /* by the command */
	BOOT_SCHEDULER_DIED,
};

/* What a guest came to, also if it failed. */
struct boot_result {
	bool ended; /* the command has, with `code` */
	int code;
	bool unconfined; /* this QEMU has no -sandbox */
	bool kvm;
	struct error kvm_error;		  /* why it was not KVM after all; "": it was not tried */
	char release[BOOT_RELEASE_BYTES]; /* of the kernel; "": it did not come so far */
	uint64_t ready_ns;		  /* from the start of QEMU until init ran; 0: it did not */
	uint64_t wall_ns;		  /* from the start of QEMU until nothing of it was left */
	uint64_t teardown_ns;		  /* of these, since the command had ended */
	bool unread;			  /* who reads what the command prints has had enough */
	uint64_t damaged;		  /* frames */
	uint64_t files;			  /* that came back */
	enum boot_scheduler scheduler;
	uint64_t scheduler_after_ns; /* its end, since it was taken into use */
	char scheduler_reason[sizeof(((struct frame_scheduler *)0)->reason)];
	bool dumped;
	char oom[BOOT_LOG_BYTES]; /* what the kernel killed for want of memory; "": nothing */
	int log_error;		  /* errno of writing the log */
	struct pressure host;	  /* what others did on it, from the start of QEMU to its end */
	const char *kernel_end;	  /* "hang" or "panic", after it had booted; NULL: neither */
};

/*
 * Boots, passes what the command prints on to standard output and error, and returns when it has
 * ended: 0, or -errno with what went wrong and the end of the console. The first SIGINT is the
 * command's; another one, SIGTERM or SIGHUP end the guest. No process is left.
 */
int boot_run(const struct boot_options *options, struct boot_result *ret_result,
	     struct error *error) must_check;

#endif
