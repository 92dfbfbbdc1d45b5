/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The callers of a function, from a copy of the registers and of the stack: by the unwind tables of
 * the mapped files (.eh_frame), which every compiler writes also where it keeps no frame pointers.
 */
#ifndef DWELL_SYMBOL_UNWIND_H
#define DWELL_SYMBOL_UNWIND_H

#include "symbol/symbolizer.h"

#define UNWIND_MAX 256

enum unwind_end {
	UNWIND_COMPLETE,  /* down to the thread's start */
	UNWIND_TRUNCATED, /* the next caller was not found */
	UNWIND_FAILED,	  /* not a single caller was */
	UNWIND_UNMAPPED,  /* the next one is where no code was mapped when the map was read */
};

struct unwind_start {
	uint64_t address;
	bool exact;		     /* the instruction it was at; else where a call returns to */
	uint64_t stack, frame, link; /* registers; link: lr, or rdi for vfork() */
	const uint8_t *memory;	     /* around `stack` */
	uint64_t memory_start;	     /* its address there */
	size_t memory_bytes;
	const void *returns; /* 64-bit addresses, in place of the trampolines of return probes,
				innermost first */
	unsigned int return_count;
	bool frame_pointers; /* do not use the tables */
};

/*
 * Fills in addresses, innermost first; all but the first are return addresses. Returns how many, at
 * least 1. *ret_needed (or NULL): the address behind the last word of the stack that was read. The
 * symbolizer is attached to the process.
 */
unsigned int unwind(struct symbolizer *symbolizer, const struct unwind_start *start,
		    uint64_t addresses[UNWIND_MAX], enum unwind_end *ret_end, uint64_t *ret_needed);

#endif
