/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of CPython, as the kernel side reads them for symbol/python.h. */
#ifndef DWELL_BPF_PYTHON_H
#define DWELL_BPF_PYTHON_H

#include <linux/types.h>

/*
 * Where CPython keeps the frames of its threads (symbol/python.c has the table): addresses, and
 * offsets in its structures.
 */
struct python_layout {
	__u64 threads;	 /* address of the address of the first thread; 0: there are none */
	__u32 next;	 /* thread */
	__u32 thread_id; /* what pthread_self() is to it: its thread pointer */
	__u32 frame;	 /* the innermost, or what `frame_at` is of */
	__u32 frame_at;
	__u32 is_indirect; /* whether it is */
	__u32 previous;	   /* frame */
	__u32 code, instruction, owner;
	__u32 exec_id; /* of the program it is of, as in struct span_stack; 0: not known */
};

#define PYTHON_FRAMES  96  /* of a stack */
#define PYTHON_THREADS 128 /* the newest, among which the one that runs is looked for */
/* The kernel's lists for each CPU keep so many free ones back from others. */
#define PYTHON_PROGRAMS	       1024
#define PYTHON_PROGRAMS_OF_CPU 128

/* A frame: the address of its code object, with the byte `owner` above it; and where in that. */
#define PYTHON_OWNER_SHIFT 56
struct python_place {
	__u64 code, instruction;
};

#endif
