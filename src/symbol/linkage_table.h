/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The procedure linkage table of an ELF file: for each function of another file a few instructions
 * that jump to where a relocation puts its address.
 */
#ifndef DWELL_SYMBOL_LINKAGE_TABLE_H
#define DWELL_SYMBOL_LINKAGE_TABLE_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/call_site.h"

/* The sections of code it consists of, at most: .plt, .plt.sec and .plt.got, and some to spare. */
#define LINKAGE_SECTIONS 8

struct linkage_slot {
	uint64_t address;
	const char *name;  /* as long as the ELF file; NULL: of the file itself */
	uint64_t function; /* then that finds out at run time which one */
};

struct linkage_table {
	enum call_site_machine machine;
	struct linkage_section {
		uint64_t start, end;
	} sections[LINKAGE_SECTIONS];
	size_t section_count;
	struct linkage_slot *slots; /* by address */
	size_t slot_count, slot_room;
};

struct linkage_table linkage_table_read(Elf *elf);
void linkage_table_release(struct linkage_table *table);

/* What the code at an address jumps to; NULL: it is not of the table. */
const struct linkage_slot *linkage_table_find(const struct linkage_table *table, uint64_t address,
					      call_site_read read, void *data);

#endif
