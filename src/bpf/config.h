/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What user space tells the BPF programs before they are loaded: how system calls and kernel
 * functions map to states, and which threads to watch. Not stored anywhere, so free to change.
 */
#ifndef DWELL_BPF_CONFIG_H
#define DWELL_BPF_CONFIG_H

#include <linux/types.h>

/*
 * What blocking in a system call means. Filled from the table in capture/syscalls.c, the one list
 * of system calls, by number of the architecture.
 */
enum syscall_class {
	SYSCALL_OTHER = 0,  /* sleep; disk if uninterruptible in a file system function */
	SYSCALL_WAIT,	    /* waits for work: epoll_wait, poll, wait4, accept, … */
	SYSCALL_SLEEP,	    /* timed sleep */
	SYSCALL_DESCRIPTOR, /* first argument is a descriptor; its kind decides */
	SYSCALL_FILE,	    /* works on files: disk when uninterruptible */
	SYSCALL_OPEN,	    /* as FILE; interruptible only for the other end of a FIFO */
	SYSCALL_IPC,	    /* message queues */
	SYSCALL_LOCK,	    /* flock, System V semaphores */
	SYSCALL_FCNTL,	    /* lock for the F_*SETLKW commands */
	SYSCALL_FUTEX,	    /* the operation decides */
	SYSCALL_VFORK,	    /* fork family: uninterruptible while a vfork child has its memory */
	SYSCALL_RESTART,    /* goes on with what was interrupted */
	SYSCALL_YIELD,
};

#define SYSCALL_TABLE_SIZE 512

/*
 * A kernel function that tells why an uninterruptible thread waits: return addresses in
 * [start, end). Sorted by start; unused entries at the end have start = ~0.
 */
struct wait_function {
	__u64 start;
	__u64 end;
	__u8 state;   /* enum wire_state */
	__u8 detail;  /* enum wire_detail */
	__u8 decides; /* 1: wins over functions called by it, else the innermost match wins */
	__u8 pad[5];
};

#define WAIT_FUNCTIONS_LOG2 7
#define WAIT_FUNCTIONS	    (1 << WAIT_FUNCTIONS_LOG2)

/* Key of the `targets` map. */
struct target_key {
	__u32 id;
	__u32 kind; /* enum target_kind */
};

enum target_kind {
	TARGET_PROCESS = 1,
	TARGET_THREAD = 2,
};

#define MAX_TARGETS   1024
#define MAX_ANCESTORS 32 /* generations looked back for a watched parent */

#endif
