/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for culprits that are several threads of a process: the kernel side has a thread's only. */
#ifndef DWELL_CAPTURE_BLAME_NAMES_H
#define DWELL_CAPTURE_BLAME_NAMES_H

#include "bpf/wire.h"
#include "capture/sink.h"

#define BLAME_NAMES 64

/* Of processes, by pid, as they were in this snapshot. All zero: none yet. */
struct blame_names {
	struct {
		__u32 pid; /* 0: none */
		__u8 comm[16];
	} items[BLAME_NAMES];
};

/* Before another snapshot: pids may have become other processes'. */
void blame_names_clear(struct blame_names *names);

/*
 * Passes the record on, in which each share of several threads of a process has the process's name;
 * where that has ended, a thread's. Returns what the sink returns.
 */
int blame_names_pass(struct blame_names *names, const struct wire_blame *record,
		     struct record_sink sink) must_check;

#endif
