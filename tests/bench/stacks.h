/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ways to get a thread's stack when it leaves its CPU, beside each other. */
#ifndef DWELL_BENCH_STACKS_H
#define DWELL_BENCH_STACKS_H

#include <linux/types.h>

enum method {
	METHOD_NONE,   /* finds the registers: what all of them need */
	METHOD_COPY,   /* copies the stack, to be unwound outside the kernel */
	METHOD_LAYOUT, /* checks return addresses where they lay the last time at this place */
	METHOD_TABLES, /* unwinds in the kernel, by a table of all places in code */
	METHODS,
};

#define EVERY	     16 /* switches: as often as dwell takes one */
#define STACK_BYTES  32768
#define FRAMES_MAX   64
#define ROWS_MAX     (1 << 17)
#define SEARCH_STEPS 17 /* log2 of that */

/* Where return addresses lie above the stack pointer: learned from a copy. */
struct layout {
	__u32 bytes, count;
	struct {
		__u64 offset, address;
	} slots[FRAMES_MAX];
};

/* How the caller is found from addresses `start` on, up to the next row's; as struct frame_rule. */
struct row {
	__u64 start;
	__s32 cfa_offset, frame_offset;
	__u8 known, from_frame, outermost, pad[5];
};

struct copied {
	__u64 address, stack, frame;
	__u64 bytes;
	__u8 memory[STACK_BYTES];
};

struct unwound {
	__u64 count;
	__u64 addresses[FRAMES_MAX];
};

#endif
