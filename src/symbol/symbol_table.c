// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symbol_table.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Larger before smaller, global names before local aliases, so that the first is the best. */
static int by_start(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->is_local - b->is_local;
}

static void sort(struct function *items, size_t count)
{
	if (count)
		qsort(items, count, sizeof(*items), by_start);
}

/* How many start below the address, or also at it. */
static size_t count_below(const struct function *items, size_t count, uint64_t address,
			  bool also_at)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].start < address || (also_at && items[middle].start == address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The best of those that start last at or below the address; NULL: all start behind it. */
static const struct function *last_at(const struct function *items, size_t count, uint64_t address)
{
	size_t begun = count_below(items, count, address, true);

	/* a hostile file may have any number with the same start */
	return begun ? &items[count_below(items, begun, items[begun - 1].start, false)] : NULL;
}

const struct function *symbol_table_function(const struct symbol_table *table, uint64_t address)
{
	const struct function *last = last_at(table->functions, table->count, address);

	return last && address < last->end ? last : NULL;
}

const char *symbol_table_name(const struct symbol_table *table, uint64_t address)
{
	const struct function *last = last_at(table->functions, table->count, address),
			      *label = last_at(table->labels, table->label_count, address);

	if (label && (!last || label->start > last->start))
		last = label;
	return last && address < last->end ? last->name : NULL;
}

static uint64_t section_end(Elf *elf, const GElf_Sym *symbol, bool code_only)
{
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) &&
			       (!code_only || header.sh_flags & SHF_EXECINSTR)
		       ? header.sh_addr + header.sh_size
		       : 0;
}

/* Assemblers' own: .L1, ..@2.loop; $x, $d and $t of ARM say what lies there. */
static bool is_assemblers(const char *name)
{
	return *name == '.' || *name == '$';
}

static void take_label(struct symbol_table *table, Elf *elf, const GElf_Sym *symbol,
		       const char *name)
{
	bool is_data = GELF_ST_TYPE(symbol->st_info) == STT_OBJECT;
	uint64_t limit = section_end(elf, symbol, true);

	if (symbol->st_value >= limit || is_assemblers(name) ||
	    array_reserve(&table->labels, &table->label_room, table->label_count + 1,
			  sizeof(*table->labels)) < 0)
		return;
	table->labels[table->label_count++] = (struct function){
		.start = symbol->st_value,
		.end = symbol->st_size ? symbol->st_value + symbol->st_size : limit,
		.name = is_data ? NULL : name,
	};
}

static void take(struct symbol_table *table, Elf *elf, const GElf_Sym *symbol, const char *name)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		table->functions[table->count++] = (struct function){
			.start = symbol->st_value,
			.end = symbol->st_value + symbol->st_size,
			.limit = symbol->st_size ? 0 : section_end(elf, symbol, false),
			.is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL,
			.name = name,
		};
		break;
	case STT_NOTYPE:
	case STT_OBJECT:
		take_label(table, elf, symbol, name);
		break;
	default:
		break;
	}
}

/*
 * Written in assembly, some have no size: they reach to the next in their section, under another
 * name or not. What is exported alone has others between it and the next.
 */
static void end_functions(struct symbol_table *table, bool is_whole)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = table->count; i-- > 0;) {
		struct function *function = &table->functions[i];
		uint64_t end;

		if (i + 1 < table->count && function[1].start != function->start)
			next = function[1].start;
		else if (!is_whole)
			continue;
		end = next < function->limit ? next : function->limit;
		if (end > function->start)
			function->end = end;
	}
}

/* Longer names are not looked at to their end: a hostile file may have many. */
#define OWNER_BYTES 1024

/* As assemblers name what is local to a function: `function.loop`. */
static bool is_part_of(const struct function *label, const struct function *owner)
{
	size_t length = owner->name ? strnlen(owner->name, OWNER_BYTES) : 0;

	return length && label->name && !strncmp(label->name, owner->name, length) &&
	       label->name[length] == '.';
}

/* Those that are in functions, or in code that another label names. */
static void drop_inner_labels(struct symbol_table *table)
{
	const struct function *last = NULL; /* the best of those that have begun last */
	size_t kept = 0, begun = 0;

	for (size_t i = 0; i < table->label_count; i++) {
		const struct function *label = &table->labels[i];

		for (; begun < table->count && table->functions[begun].start <= label->start;
		     begun++)
			if (!last || last->start != table->functions[begun].start)
				last = &table->functions[begun];
		if (last && label->start < last->end &&
		    (!last->limit || last->start == label->start || is_part_of(label, last)))
			continue;
		if (kept && is_part_of(label, &table->labels[kept - 1]))
			continue;
		table->labels[kept++] = *label;
	}
	table->label_count = kept;
}

static Elf_Scn *find_section(Elf *elf, GElf_Word type, GElf_Shdr *ret_header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, ret_header) && ret_header->sh_type == type)
			return section;
	return NULL;
}

struct symbol_table symbol_table_read(Elf *elf)
{
	struct symbol_table table = {.count = 0};
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, SHT_SYMTAB, &header);
	bool is_whole = section;
	Elf_Data *data;
	size_t count;

	if (!section)
		section = find_section(elf, SHT_DYNSYM, &header);
	data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !header.sh_entsize)
		return table;
	count = data->d_size / header.sh_entsize;
	table.functions = calloc(count ? count : 1, sizeof(*table.functions));
	for (size_t i = 0; table.functions && i < count; i++) {
		GElf_Sym symbol;
		const char *name;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_value + symbol.st_size < symbol.st_value)
			continue;
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (name && *name)
			take(&table, elf, &symbol, name);
	}
	sort(table.functions, table.count);
	sort(table.labels, table.label_count);
	end_functions(&table, is_whole);
	drop_inner_labels(&table);
	return table;
}

void symbol_table_release(struct symbol_table *table)
{
	free(table->functions);
	free(table->labels);
	free(table->by_name);
	*table = (struct symbol_table){.count = 0};
}

static int by_name(const void *left, const void *right)
{
	const struct function *const *a = left, *const *b = right;
	int order = strcmp((*a)->name, (*b)->name);

	/* in the order of their addresses, as they are in the table */
	return order ? order : (*a > *b) - (*a < *b);
}

static void index_names(struct symbol_table *table)
{
	table->by_name = calloc(table->count + 1, sizeof(*table->by_name));
	for (size_t i = 0; table->by_name && i < table->count; i++)
		if (table->functions[i].name)
			table->by_name[table->named_count++] = &table->functions[i];
	if (table->by_name)
		qsort(table->by_name, table->named_count, sizeof(*table->by_name), by_name);
}

const struct function *symbol_table_named(struct symbol_table *table, const char *name)
{
	size_t first = 0, end;

	if (!table->by_name)
		index_names(table);
	end = table->named_count;
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (strcmp(table->by_name[middle]->name, name) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first < table->named_count && !strcmp(table->by_name[first]->name, name)
		       ? table->by_name[first]
		       : NULL;
}

/* Of one table. */
static bool find_variable(Elf *elf, GElf_Word type, const char *name, uint64_t *ret_address)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(elf, type, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	for (size_t i = 0; data && header.sh_entsize && i < data->d_size / header.sh_entsize; i++) {
		GElf_Sym symbol;
		const char *found;

		if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT)
			continue;
		found = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (!found || strcmp(found, name) != 0)
			continue;
		*ret_address = symbol.st_value;
		return true;
	}
	return false;
}

bool symbol_table_variable(Elf *elf, const char *name, uint64_t *ret_address)
{
	return find_variable(elf, SHT_DYNSYM, name, ret_address) ||
	       find_variable(elf, SHT_SYMTAB, name, ret_address);
}
