/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's functions, as /proc/kallsyms shows them with CAP_SYSLOG. */
#ifndef DWELL_SYMBOL_KERNEL_SYMBOLS_H
#define DWELL_SYMBOL_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* All zeros is empty. */
struct kernel_symbols {
	struct kernel_symbol {
		uint64_t start;
		uint32_t name; /* in `names` */
	} * items;	       /* by start */
	size_t count, room;
	char *names;
	size_t names_used, names_room;
};

/*
 * From a file like /proc/kallsyms, whose descriptor it takes over; a negative errno in its place is
 * handed back. 0, -EPERM where addresses are hidden, or another errno.
 */
int kernel_symbols_load(struct kernel_symbols *symbols, int fd) must_check;
void kernel_symbols_release(struct kernel_symbols *symbols);

/* NULL: not in the kernel. Valid as long as the symbols. */
const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address);

#endif
