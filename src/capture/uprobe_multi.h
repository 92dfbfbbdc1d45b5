/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many uprobes as one link (Linux 6.6 on, include/uapi/linux/bpf.h). One after the other, each
 * takes the kernel a grace period to remove: seconds for a program with many types of tasks. Not by
 * libbpf, which knows it from 1.3 on only.
 */
#ifndef DWELL_CAPTURE_UPROBE_MULTI_H
#define DWELL_CAPTURE_UPROBE_MULTI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* For bpf_program__set_expected_attach_type(): then no other way of attaching works. */
#define UPROBE_MULTI_ATTACH_TYPE   48 /* BPF_TRACE_UPROBE_MULTI */
#define UPROBE_SESSION_ATTACH_TYPE 57 /* BPF_TRACE_UPROBE_SESSION */

/*
 * A session is one program at both ends, which refuses the return of a call by what it returns at
 * the entry.
 */
enum uprobe_multi_at {
	UPROBE_MULTI_ENTRY,
	UPROBE_MULTI_RETURN,
	UPROBE_MULTI_SESSION,
};

/*
 * Whether the kernel has it, and filters by process: before 6.10 it took a process for its first
 * thread.
 */
bool uprobe_multi_works(void);

/* Whether it also has sessions: Linux 6.13 on. */
bool uprobe_session_works(void);

/* At offsets of a file, in one process. A descriptor, or a negative errno. */
int uprobe_multi_attach(int program_fd, const char *path, uint32_t pid, const uint64_t *offsets,
			const uint64_t *cookies, uint32_t count,
			enum uprobe_multi_at at) must_check;

#endif
