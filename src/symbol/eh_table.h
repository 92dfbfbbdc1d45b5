/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions begin, by the table that unwinders search (.eh_frame_hdr; Linux Standard Base
 * Core 5.0, 10.6.2): stripped files have it, too.
 */
#ifndef DWELL_SYMBOL_EH_TABLE_H
#define DWELL_SYMBOL_EH_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eh_table {
	uint64_t address;     /* of the section, which entries are counted from */
	const uint8_t *bytes; /* of entries, in libelf's memory; NULL: there are none */
	size_t count;
};

/* Of a file with 64-bit addresses. No table, or one in another encoding: all zeros. */
struct eh_table eh_table_open(Elf *elf);

/*
 * The last function that begins at the address or before. Whether it covers the address the table
 * does not say. False: there is none.
 */
bool eh_table_find(const struct eh_table *table, uint64_t address, uint64_t *ret_start);

#endif
