/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call called, by the instruction before its return address: the name by which a function
 * was meant, where those it jumped on to have none, or where no unwind table leads out of them.
 */
#ifndef DWELL_SYMBOL_CALL_SITE_H
#define DWELL_SYMBOL_CALL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A program's memory: how many of the bytes at `address` could be read. */
typedef size_t (*call_site_read)(void *data, uint64_t address, void *into, size_t bytes);

/* Instructions of x86-64 and of aarch64; others have none of their own. */
enum call_site_machine {
	CALL_SITE_X86_64,
	CALL_SITE_AARCH64,
#if defined(__aarch64__)
	CALL_SITE_HERE = CALL_SITE_AARCH64,
#else
	CALL_SITE_HERE = CALL_SITE_X86_64,
#endif
};

/* Where the call before `return_address` goes; 0: there is none, or to where a register says. */
uint64_t call_site_target(enum call_site_machine machine, uint64_t return_address,
			  call_site_read read, void *data);

/* Whether there is a call before it to where a register or a place in memory says. */
bool call_site_is_indirect(enum call_site_machine machine, uint64_t return_address,
			   call_site_read read, void *data);

/*
 * Where code that only jumps on goes: an entry of a procedure linkage table, which is bound once
 * it has been called, or a jump. 0: it does something else.
 */
uint64_t call_site_jump(enum call_site_machine machine, uint64_t address, call_site_read read,
			void *data);

/* The address of the word that such an entry jumps by; 0: it does something else. */
uint64_t call_site_slot(enum call_site_machine machine, uint64_t address, call_site_read read,
			void *data);

/*
 * Calls for each place that code may jump on to as its last act (a tail call): of all jumps in its
 * first CALL_SITE_TAIL_BYTES, and what looks like one. Ends with true when a call returns that.
 */
#define CALL_SITE_TAIL_BYTES 512
bool call_site_tails(enum call_site_machine machine, uint64_t address, call_site_read read,
		     void *data, bool (*call)(void *call_data, uint64_t target), void *call_data);

#endif
