/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/kallsyms, line by line: 200,000 of them, so that how they are read is felt. */
#ifndef DWELL_SYMBOL_KALLSYMS_H
#define DWELL_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms_symbol {
	uint64_t address; /* 0: hidden */
	char type;	  /* as nm(1) */
	const char *name; /* without its module; valid until the next one is read */
};

/*
 * The kernel writes the file as it is read, a page at a time. It is not kept: 6 MB of memory that
 * is touched once take as long as the kernel takes to write them.
 */
struct kallsyms_reader {
	int fd;
	int error;   /* errno of a read that failed, after the last symbol; 0: the end */
	size_t next; /* of the buffer: where the next line begins; before it, what was read */
	size_t length;
	bool at_end;
	char buffer[16384]; /* a line is at most 600 bytes: KSYM_NAME_LEN, MODULE_NAME_LEN */
};

/* The descriptor stays open, and is the caller's. */
void kallsyms_begin(struct kallsyms_reader *reader, int fd);

/*
 * Lines are `address type name[<tab>[module]]`; others are passed over. false: no more, or the
 * error.
 */
bool kallsyms_next(struct kallsyms_reader *reader, struct kallsyms_symbol *ret_symbol);

#endif
