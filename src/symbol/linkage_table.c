// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/linkage_table.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Of each machine, the relocations that say where a function is. */
static const struct {
	int machine;
	enum call_site_machine code;
	GElf_Word by_name[2], by_function;
} machines[] = {
	{EM_X86_64, CALL_SITE_X86_64, {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT}, R_X86_64_IRELATIVE},
	{EM_AARCH64,
	 CALL_SITE_AARCH64,
	 {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT},
	 R_AARCH64_IRELATIVE},
};

static int by_address(const void *left, const void *right)
{
	const struct linkage_slot *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static void find_sections(struct linkage_table *table, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while (table->section_count < LINKAGE_SECTIONS && (section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (name && header.sh_flags & SHF_EXECINSTR &&
		    (!strncmp(name, ".plt", 4) || !strncmp(name, ".iplt", 5)))
			table->sections[table->section_count++] = (struct linkage_section){
				header.sh_addr, header.sh_addr + header.sh_size};
	}
}

/* The name of the symbol of a relocation, by the table that its section refers to. */
static const char *name_of(Elf *elf, GElf_Word table, size_t index)
{
	Elf_Scn *section = elf_getscn(elf, table);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr header;
	GElf_Sym symbol;
	const char *name;

	if (!data || !gelf_getshdr(section, &header) || !gelf_getsym(data, (int)index, &symbol))
		return NULL;
	name = elf_strptr(elf, header.sh_link, symbol.st_name);
	return name && *name ? name : NULL;
}

static void read_relocations(struct linkage_table *table, Elf *elf, Elf_Scn *section,
			     const GElf_Shdr *header, size_t machine)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	GElf_Rela entry;

	for (size_t i = 0; i < count && gelf_getrela(data, (int)i, &entry); i++) {
		GElf_Word type = GELF_R_TYPE(entry.r_info);
		struct linkage_slot slot = {.address = entry.r_offset};

		if (type == machines[machine].by_function)
			slot.function = (uint64_t)entry.r_addend;
		else if (type == machines[machine].by_name[0] ||
			 type == machines[machine].by_name[1])
			slot.name = name_of(elf, header->sh_link, GELF_R_SYM(entry.r_info));
		if ((slot.name || slot.function) &&
		    !array_reserve(&table->slots, &table->slot_room, table->slot_count + 1,
				   sizeof(*table->slots)))
			table->slots[table->slot_count++] = slot;
	}
}

struct linkage_table linkage_table_read(Elf *elf)
{
	struct linkage_table table = {.slot_count = 0};
	Elf_Scn *section = NULL;
	GElf_Ehdr elf_header;
	GElf_Shdr header;
	size_t machine = 0;

	if (!gelf_getehdr(elf, &elf_header))
		return table;
	while (machine < ARRAY_SIZE(machines) && machines[machine].machine != elf_header.e_machine)
		machine++;
	if (machine == ARRAY_SIZE(machines))
		return table;
	table.machine = machines[machine].code;
	find_sections(&table, elf);
	while (table.section_count && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    header.sh_flags & SHF_ALLOC)
			read_relocations(&table, elf, section, &header, machine);
	if (table.slot_count)
		qsort(table.slots, table.slot_count, sizeof(*table.slots), by_address);
	return table;
}

void linkage_table_release(struct linkage_table *table)
{
	free(table->slots);
	*table = (struct linkage_table){.slot_count = 0};
}

/* The slot that the entry around an address jumps by; 0: there is none. */
static uint64_t slot_around(const struct linkage_table *table,
			    const struct linkage_section *section, uint64_t address,
			    call_site_read read, void *data)
{
	/* entries of x86-64 have 8 or 16 bytes, those of aarch64 four instructions behind BTI */
	uint64_t step = table->machine == CALL_SITE_AARCH64 ? 4 : 8, tries = 16 / step;

	address -= address % step;
	for (uint64_t i = 0; i < tries && address >= section->start; i++, address -= step) {
		uint64_t slot = call_site_slot(table->machine, address, read, data);

		if (slot)
			return slot;
	}
	return 0;
}

const struct linkage_slot *linkage_table_find(const struct linkage_table *table, uint64_t address,
					      call_site_read read, void *data)
{
	struct linkage_slot wanted = {.address = 0};

	for (size_t i = 0; i < table->section_count; i++)
		if (address >= table->sections[i].start && address < table->sections[i].end)
			wanted.address =
				slot_around(table, &table->sections[i], address, read, data);
	return wanted.address && table->slot_count
		       ? bsearch(&wanted, table->slots, table->slot_count, sizeof(*table->slots),
				 by_address)
		       : NULL;
}
