/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/kallsyms, line by line: 200,000 of them, so that how they are read is felt. */
#ifndef DWELL_SYMBOL_KALLSYMS_H
#define DWELL_SYMBOL_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct kallsyms_symbol {
	uint64_t address; /* 0: hidden */
	char type;	  /* as nm(1) */
	const char *name; /* in the text, without its module */
};

/*
 * The whole file, whose descriptor stays open: the kernel makes it in one pass, which takes most of
 * the time. A string to free, or -errno.
 */
int kallsyms_read(int fd, char **ret_text) must_check;

/*
 * The next symbol of the text, which is changed: lines `address type name[<tab>[module]]`; others
 * are passed over. `at` begins at the text. false: no more.
 */
bool kallsyms_next(char **at, struct kallsyms_symbol *ret_symbol);

#endif
