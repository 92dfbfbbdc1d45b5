// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/linked_data.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* More is not read: no Rust program has so much, and a Go program takes seconds. */
#define BYTES_MAX (128ULL << 20)

static bool is_ours(Elf *elf)
{
	const char *ident = elf_getident(elf, NULL);
	int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

	return gelf_getclass(elf) == ELFCLASS64 && ident && ident[EI_DATA] == order;
}

static bool next_segment(Elf *elf, size_t *at, GElf_Word type, GElf_Phdr *ret_segment)
{
	size_t count;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	while (*at < count)
		if (gelf_getphdr(elf, (int)(*at)++, ret_segment) && ret_segment->p_type == type)
			return true;
	return false;
}

struct linked_code linked_code_of(Elf *elf)
{
	struct linked_code code = {.count = 0};
	GElf_Phdr segment;

	for (size_t at = 0;
	     code.count < LINKED_CODE_MAX && next_segment(elf, &at, PT_LOAD, &segment);) {
		if (!(segment.p_flags & PF_X))
			continue;
		code.parts[code.count].start = segment.p_vaddr;
		code.parts[code.count++].end = segment.p_vaddr + segment.p_filesz;
	}
	return code;
}

/* Whole ones, of another part libelf would lose the memory; NULL: they are not in the file. */
static Elf_Data *chunk_at(Elf *elf, uint64_t address, uint64_t bytes, Elf_Type type)
{
	GElf_Phdr segment;

	bytes -= bytes % gelf_fsize(elf, type, 1, EV_CURRENT);

	for (size_t at = 0; next_segment(elf, &at, PT_LOAD, &segment);) {
		uint64_t offset = address - segment.p_vaddr;

		if (address < segment.p_vaddr || offset >= segment.p_filesz)
			continue;
		return bytes && bytes <= segment.p_filesz - offset && bytes <= BYTES_MAX
			       ? elf_getdata_rawchunk(elf, (int64_t)(segment.p_offset + offset),
						      bytes, type)
			       : NULL;
	}
	return NULL;
}

/* The relocations by the place where the file is loaded (those of DT_RELR stand in their places);
 * NULL: it has none. */
static Elf_Data *relocations_of(Elf *elf)
{
	uint64_t address = 0, bytes = 0;
	GElf_Phdr segment;
	Elf_Data *dynamic;
	GElf_Dyn entry;
	size_t at = 0;

	if (!next_segment(elf, &at, PT_DYNAMIC, &segment))
		return NULL;
	dynamic = chunk_at(elf, segment.p_vaddr, segment.p_filesz, ELF_T_DYN);
	for (int i = 0; dynamic && gelf_getdyn(dynamic, i, &entry) && entry.d_tag != DT_NULL; i++) {
		if (entry.d_tag == DT_RELA)
			address = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_RELASZ)
			bytes = entry.d_un.d_val;
	}
	return chunk_at(elf, address, bytes, ELF_T_RELA);
}

static bool is_relative(const GElf_Rela *relocation, GElf_Half machine)
{
	return GELF_R_TYPE(relocation->r_info) ==
	       (machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE);
}

static void relocate(Elf *elf, Elf_Data *relocations, uint64_t start, uint64_t *words, size_t count)
{
	size_t entries = relocations->d_size / sizeof(GElf_Rela);
	GElf_Rela relocation;
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return;
	for (size_t i = 0; i < entries && gelf_getrela(relocations, (int)i, &relocation); i++) {
		uint64_t offset = relocation.r_offset - start;

		if (relocation.r_offset >= start && offset % sizeof(*words) == 0 &&
		    offset / sizeof(*words) < count && is_relative(&relocation, header.e_machine))
			words[offset / sizeof(*words)] = (uint64_t)relocation.r_addend;
	}
}

/* Linkers before binutils 2.31 put constants beside the code. */
static bool has_constants_apart(Elf *elf)
{
	GElf_Phdr segment;

	for (size_t at = 0; next_segment(elf, &at, PT_LOAD, &segment);)
		if (!(segment.p_flags & (PF_X | PF_W)))
			return true;
	return false;
}

int linked_data_each(Elf *elf, void (*call)(void *data, const struct linked_data *part), void *data)
{
	Elf_Data *relocations = is_ours(elf) ? relocations_of(elf) : NULL;
	bool are_apart = has_constants_apart(elf);
	GElf_Phdr segment;

	for (size_t at = 0; is_ours(elf) && next_segment(elf, &at, PT_LOAD, &segment);) {
		uint64_t skipped = -segment.p_vaddr % sizeof(uint64_t);
		struct linked_data part = {.start = segment.p_vaddr + skipped,
					   .is_code = segment.p_flags & PF_X};
		Elf_Data *bytes;
		uint64_t *words;

		if ((part.is_code && are_apart) || segment.p_filesz < skipped + sizeof(*words))
			continue;
		bytes = chunk_at(elf, part.start, segment.p_filesz - skipped, ELF_T_BYTE);
		if (!bytes)
			continue;
		part.count = bytes->d_size / sizeof(*words);
		words = reallocarray(NULL, part.count, sizeof(*words));
		if (!words)
			return -ENOMEM;
		memcpy(words, bytes->d_buf, part.count * sizeof(*words));
		if (relocations && !part.is_code)
			relocate(elf, relocations, part.start, words, part.count);
		part.words = words;
		call(data, &part);
		free(words);
	}
	return 0;
}
