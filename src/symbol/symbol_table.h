/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an ELF file's symbol tables say: its functions, by .symtab or else .dynsym; variables. */
#ifndef DWELL_SYMBOL_SYMBOL_TABLE_H
#define DWELL_SYMBOL_SYMBOL_TABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function {
	uint64_t start, end;
	uint64_t limit;	  /* without a size: the end of its section; else 0 */
	bool is_local;	  /* to the file, as names are that a library has for itself */
	const char *name; /* as long as the ELF file; NULL: of data between code */
};

/* Both by address. */
struct symbol_table {
	struct function *functions; /* as their symbols say */
	size_t count;
	/* what else has an address in code, outside of functions that have a size */
	struct function *labels;
	size_t label_count, label_room;
	const struct function **by_name; /* those that have one; NULL: none was looked for yet */
	size_t named_count;
};

struct symbol_table symbol_table_read(Elf *elf);
void symbol_table_release(struct symbol_table *table);

/* That covers the address; NULL: none does. */
const struct function *symbol_table_function(const struct symbol_table *table, uint64_t address);

/* Of the function there, or of the last label before the address, if that is nearer; NULL: neither.
 */
const char *symbol_table_name(const struct symbol_table *table, uint64_t address);

/* The first of that name; NULL: there is none. The table is put in order when it is first asked. */
const struct function *symbol_table_named(struct symbol_table *table, const char *name);

/* Address of a variable by its name, in either table; false: there is none. */
bool symbol_table_variable(Elf *elf, const char *name, uint64_t *ret_address);

#endif
