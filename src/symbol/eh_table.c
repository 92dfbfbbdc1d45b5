// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/eh_table.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

/* Version; encodings of the address of .eh_frame, of the count, and of the table; and the first
 * two. */
#define HEADER_BYTES 12
#define ENTRY_BYTES  8

static bool find_segment(Elf *elf, GElf_Phdr *ret_header)
{
	size_t count;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, ret_header) && ret_header->p_type == PT_GNU_EH_FRAME)
			return true;
	return false;
}

struct eh_table eh_table_open(Elf *elf)
{
	static const uint8_t usual[] = {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4,
					DW_EH_PE_datarel | DW_EH_PE_sdata4};
	struct eh_table table = {0};
	GElf_Phdr header;
	Elf_Data *data;
	uint32_t count;

	if (gelf_getclass(elf) != ELFCLASS64 || !find_segment(elf, &header))
		return table;
	data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE);
	if (!data || data->d_size < HEADER_BYTES || memcmp(data->d_buf, usual, sizeof(usual)) != 0)
		return table;
	memcpy(&count, (const uint8_t *)data->d_buf + 8, sizeof(count));
	if (count > (data->d_size - HEADER_BYTES) / ENTRY_BYTES)
		return table;
	table.address = header.p_vaddr;
	table.bytes = (const uint8_t *)data->d_buf + HEADER_BYTES;
	table.count = count;
	return table;
}

static uint64_t start_of(const struct eh_table *table, size_t index)
{
	int32_t offset;

	memcpy(&offset, table->bytes + index * ENTRY_BYTES, sizeof(offset));
	return table->address + (uint64_t)(int64_t)offset;
}

bool eh_table_find(const struct eh_table *table, uint64_t address, uint64_t *ret_start)
{
	size_t low = 0, high = table->count;

	while (low < high) { /* the first that begins behind the address */
		size_t middle = low + (high - low) / 2;

		if (start_of(table, middle) > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (!low)
		return false;
	*ret_start = start_of(table, low - 1);
	return *ret_start <= address;
}
