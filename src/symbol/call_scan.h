/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The caller of a function without unwind tables, as all of musl's C library is: a word of the
 * stack is taken for the return address if the instruction before it calls that very function.
 */
#ifndef DWELL_SYMBOL_CALL_SCAN_H
#define DWELL_SYMBOL_CALL_SCAN_H

#include "symbol/code.h"

struct call_scan {
	uint64_t address;	     /* in the function; behind a call, or where it was */
	uint64_t stack, frame, link; /* its registers */
	const uint8_t *memory;	     /* copied */
	uint64_t memory_start;
	size_t memory_bytes;
	unsigned int *left; /* words that may still be looked up, of a stack that may be hostile */
};

#define CALL_SCAN_WORDS 512

/* False: no word is sure. */
bool call_scan(const struct code_view *code, const struct call_scan *scan,
	       struct frame_rule *ret_rule) must_check;

#endif
