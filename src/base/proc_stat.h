/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of /proc/PID/task/TID/stat: proc_pid_stat(5). */
#ifndef DWELL_BASE_PROC_STAT_H
#define DWELL_BASE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>

#define PF_KTHREAD 0x00200000U /* in proc_stat.flags; include/linux/sched.h */

struct proc_stat {
	char comm[16]; /* not terminated when 16 long */
	char state;    /* R S D T t Z X I */
	uint32_t parent_pid;
	uint32_t flags;		     /* PF_* */
	uint64_t utime_ns, stime_ns; /* to a clock tick */
	int32_t nice;
	uint64_t start_ns;    /* CLOCK_BOOTTIME, to a clock tick */
	uint64_t start_ticks; /* the same, as it is in the file */
	uint64_t stack_start; /* chosen by exec() at random, and kept by fork(); 0: not for us */
	uint32_t cpu, policy;
};

/* Takes a line apart; the name in it may be anything. */
bool proc_stat_parse(const char *line, struct proc_stat *ret_stat);

/* False: the thread is gone. A process has the pid of its first thread, which may be a zombie. */
bool proc_stat_read(uint32_t pid, uint32_t tid, struct proc_stat *ret_stat);

/*
 * A thread by which /proc has what threads share (maps, mem, exe, root, fd): the first one, or,
 * where that has exited and is a zombie without all these, one that goes on. /proc/TID is there for
 * each, though no list has it. Where none goes on: `pid`. Of a thread's id: one of its process.
 */
uint32_t proc_living_thread(uint32_t pid);

/* "SCHED_FIFO", as sched(7) names them; "unknown policy" of others. */
const char *proc_stat_policy(uint32_t policy);

#endif
