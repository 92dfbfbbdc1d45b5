/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads there are, as /proc shows them: for the sources that get no events of them. */
#ifndef DWELL_CAPTURE_PROC_THREADS_H
#define DWELL_CAPTURE_PROC_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/proc_stat.h"
#include "bpf/wire.h"
#include "capture/target.h"

struct proc_id {
	uint32_t pid, tid;
};

/* All zeros is empty. */
struct proc_threads {
	struct proc_id *items;
	size_t count, room;
};

/*
 * The threads of the targets, by pid and tid. With `own_only`: of processes of this user. 0 or
 * -ENOMEM.
 */
int proc_threads_list(struct proc_threads *threads, const struct targets *targets,
		      bool own_only) must_check;
/* Those of one process, of any user. 0 or -ENOMEM. */
int proc_threads_of(struct proc_threads *threads, uint32_t pid) must_check;

/* The process a thread belongs to; 0: no such thread. */
uint32_t proc_process_of(uint32_t tid);

/* The cgroup v2 id of a process's directory; 0: not known. */
uint64_t proc_cgroup_id(uint32_t pid);

void proc_threads_release(struct proc_threads *threads);
#define cleanup_proc_threads cleanup(proc_threads_release)

/* A small file of a thread, terminated; false: gone, or not ours to read. */
bool proc_read(struct proc_id id, const char *name, char *into, size_t room);

/* What a blocked thread is in: /proc/PID/task/TID/syscall. */
struct proc_call {
	long number; /* -1: none; PROC_RUNNING: it runs */
	unsigned long arguments[5];
};

#define PROC_RUNNING (-2)

/* False: gone, or not ours to read. */
bool proc_call_read(struct proc_id id, struct proc_call *ret_call);

/*
 * All of a record that /proc/PID/task/TID/stat has; state and totals stay unknown. Its accounting
 * began with the thread, or what clock ticks leave of that.
 */
void proc_record_fill(struct wire_thread *record, struct proc_id id, const struct proc_stat *stat,
		      uint64_t end_ns);

/* What the threads of a process share, read once for those that follow each other. */
struct proc_process {
	uint32_t pid;
	uint64_t time_ns;
	uint64_t cgroup_id;
	char name[16];
};

/* Process name and cgroup of a record. */
void proc_process_fill(struct wire_thread *record, struct proc_process *process);

#endif
