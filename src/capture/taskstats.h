/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's taskstats interface (Documentation/accounting/taskstats.rst): generic netlink, a
 * structure a thread. Asking needs CAP_NET_ADMIN. What it counts is up to when the thread was last
 * switched or ticked; delays other than `cpu` only with kernel.task_delayacct=1 since before the
 * thread was started.
 */
#ifndef DWELL_CAPTURE_TASKSTATS_H
#define DWELL_CAPTURE_TASKSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bpf/wire.h"

/* The version with another layout (6.14; repaired in 16). */
#define TASKSTATS_INCOMPATIBLE 15

/* What is used of a struct taskstats. */
struct taskstats_reading {
	uint32_t tid;
	uint32_t pid; /* 0: unknown (before version 12) */
	uint32_t parent_pid;
	char comm[16];		   /* any bytes but NUL, then NULs */
	struct wire_delays delays; /* all but the header and start_ns */
	uint64_t elapsed_ns;	   /* since the thread's start */
	uint64_t utime_ns, stime_ns;
	uint64_t voluntary, involuntary;
	int32_t exit_code;
};

struct taskstats_link;

/* -EPERM, -ENOTSUP (CONFIG_TASKSTATS is not set, or a layout that is not known), … with a reason.
 */
int taskstats_open(struct taskstats_link **ret_taskstats, struct error *error) must_check;
void taskstats_close(struct taskstats_link *taskstats);

/* Version of the kernel's structure. */
unsigned int taskstats_version(const struct taskstats_link *taskstats);

/* kernel.task_delayacct; false too where it cannot be read. */
bool taskstats_delays_counted(void);

typedef int (*taskstats_callback)(void *data, const struct taskstats_reading *reading);

/*
 * Asks about many threads; those that are gone give no answer. The callback's negative result ends
 * it.
 */
int taskstats_read(struct taskstats_link *taskstats, const uint32_t *tids, size_t count,
		   taskstats_callback callback, void *data, struct error *error) must_check;

/*
 * From here on the kernel reports every thread that exits, on the whole machine. Refused outside
 * of the initial pid and user namespaces.
 */
int taskstats_listen(struct taskstats_link *taskstats, struct error *error) must_check;

/*
 * Takes what has arrived so far out of the socket's buffer, which is small; kept for
 * taskstats_exits().
 */
int taskstats_collect(struct taskstats_link *taskstats) must_check;

/* Those that have exited since the last call; does not wait. */
int taskstats_exits(struct taskstats_link *taskstats, taskstats_callback callback,
		    void *data) must_check;

/* Readable when taskstats_collect() has something to do; -1: not listening. */
int taskstats_exit_fd(const struct taskstats_link *taskstats);

/* Exits that the kernel could not report, as we did not read in time (ENOBUFS): at least. */
uint64_t taskstats_lost(const struct taskstats_link *taskstats);

/*
 * Takes `length` bytes of a struct taskstats of any version apart. False: too short, or of
 * TASKSTATS_INCOMPATIBLE. Needs no link: it is there also without -Dtaskstats.
 */
bool taskstats_decode(const void *bytes, size_t length, struct taskstats_reading *ret_reading);

#endif
