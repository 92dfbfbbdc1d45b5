// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/go_table.h"

#include <gelf.h>
#include <limits.h>
#include <string.h>

/* src/internal/abi/symtab.go, and runtime.pcHeader of each version */
#define MAGIC_1_16   0xfffffffaU
#define MAGIC_1_18   0xfffffff0U
#define MAGIC_1_20   0xfffffff1U

#define HEADER_WORDS 8 /* behind its first eight bytes; the first is the count of functions */

/* runtime._func, in words of 32 bits behind the entry */
enum {
	FUNCTION_NAME = 0,
	FUNCTION_STACK = 3, /* offset of the values by address: how much stack it uses, */
	FUNCTION_FILES = 4, /* the file, */
	FUNCTION_LINES = 5, /* the line */
	FUNCTION_UNIT = 7,
};

/* Its flags, in bytes behind the entry; before 1.17 the byte is 0. */
#define FLAGS_AT      33
#define FLAGS_AT_1_20 37
#define FLAG_TOPFRAME 1 /* no function has called it */
#define FLAG_SPWRITE  2 /* it may go on with another stack */

/* What a goroutine's stack can grow to (runtime.maxstacksize): no frame is larger. */
#define STACK_MAX 1000000000

/* A function's values: more than compilers write of one. */
#define STEPS_MAX 1000000

static bool read_at(const struct go_table *table, uint64_t at, void *into, size_t bytes)
{
	if (at > table->size || table->size - at < bytes)
		return false;
	memcpy(into, table->bytes + at, bytes);
	return true;
}

static bool read_u32(const struct go_table *table, uint64_t at, uint32_t *ret)
{
	return read_at(table, at, ret, sizeof(*ret));
}

static bool read_word(const struct go_table *table, uint64_t at, uint64_t *ret)
{
	*ret = 0;
	return read_at(table, at, ret, table->pointer);
}

/* NULL: it does not end in the table. */
static const char *string_at(const struct go_table *table, uint64_t at)
{
	if (at >= table->size || !memchr(table->bytes + at, '\0', table->size - at))
		return NULL;
	return (const char *)table->bytes + at;
}

/* The bytes of a section; false: there is none of that name. */
static bool find_section(Elf *elf, const char *name, GElf_Shdr *ret_header, Elf_Scn **ret_section)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *its;

		if (!gelf_getshdr(section, ret_header))
			continue;
		its = elf_strptr(elf, names, ret_header->sh_name);
		if (its && !strcmp(its, name)) {
			*ret_section = section;
			return true;
		}
	}
	return false;
}

/* The value that the loader puts there; 0: it puts none. */
static uint64_t relocated(Elf *elf, uint64_t address)
{
	GElf_Shdr header;
	Elf_Scn *section;
	Elf_Data *data;
	GElf_Rela entry;

	if (!find_section(elf, ".rela.dyn", &header, &section) || !header.sh_entsize)
		return 0;
	data = elf_getdata(section, NULL);
	for (size_t i = 0; data && i < data->d_size / header.sh_entsize; i++)
		if (gelf_getrela(data, (int)i, &entry) && entry.r_offset == address)
			return (uint64_t)entry.r_addend;
	return 0;
}

static uint64_t text_symbol(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section;
	Elf_Data *data;
	GElf_Sym symbol;

	if (!find_section(elf, ".symtab", &header, &section) || !header.sh_entsize)
		return 0;
	data = elf_getdata(section, NULL);
	for (size_t i = 0; data && i < data->d_size / header.sh_entsize; i++) {
		const char *name = gelf_getsym(data, (int)i, &symbol)
					   ? elf_strptr(elf, header.sh_link, symbol.st_name)
					   : NULL;

		if (name && !strcmp(name, "runtime.text"))
			return symbol.st_value;
	}
	return 0;
}

/* runtime.moduledata.text, by its place among the words (Go 1.26, which has the section). */
#define MODULE_TEXT_WORD 22

static uint64_t module_text(Elf *elf, size_t pointer)
{
	GElf_Shdr header;
	Elf_Scn *section;
	Elf_Data *data;
	uint64_t text = 0;

	if (!find_section(elf, ".go.module", &header, &section) || header.sh_type == SHT_NOBITS)
		return 0;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size < (MODULE_TEXT_WORD + 1) * pointer)
		return 0;
	memcpy(&text, (const char *)data->d_buf + MODULE_TEXT_WORD * pointer, pointer);
	return text ? text : relocated(elf, header.sh_addr + MODULE_TEXT_WORD * pointer);
}

static bool find_function(const struct go_table *table, uint64_t address, uint64_t *ret_entry,
			  uint64_t *ret_at);

/* Go's own linker puts nothing before its functions, of which the program's entry is one. */
static bool begins_program(const struct go_table *table, Elf *elf)
{
	uint64_t entry, at;
	GElf_Ehdr header;
	const char *name;
	uint32_t name_at;

	if (!gelf_getehdr(elf, &header) || !find_function(table, header.e_entry, &entry, &at) ||
	    entry != header.e_entry ||
	    !read_u32(table, at + (table->has_wide_values ? table->pointer : 4), &name_at))
		return false;
	name = string_at(table, table->names + name_at);
	return name && !strncmp(name, "_rt0_", 5);
}

/*
 * Where the header's word is filled in when the program is loaded, or never (Go 1.26). Behind what
 * another linker puts first, .text begins elsewhere: each name would be that of a function further
 * on. 0: it is not known.
 */
static uint64_t find_text(struct go_table *table, Elf *elf, uint64_t word_address)
{
	GElf_Shdr header;
	Elf_Scn *section;
	uint64_t text = text_symbol(elf);

	if (!text)
		text = relocated(elf, word_address);
	if (!text)
		text = module_text(elf, table->pointer);
	if (text || !find_section(elf, ".text", &header, &section))
		return text;
	table->text = header.sh_addr;
	return begins_program(table, elf) ? header.sh_addr : 0;
}

static bool read_header(struct go_table *table, Elf *elf, uint64_t address)
{
	uint64_t words[HEADER_WORDS];
	uint32_t magic;
	bool has_text;

	if (!read_u32(table, 0, &magic) ||
	    (magic != MAGIC_1_16 && magic != MAGIC_1_18 && magic != MAGIC_1_20))
		return false;
	has_text = magic != MAGIC_1_16;
	table->has_wide_values = !has_text;
	table->flags_at = magic == MAGIC_1_20 ? FLAGS_AT_1_20 : FLAGS_AT;
	table->quantum = table->size > 7 ? table->bytes[6] : 0;
	table->pointer = table->size > 7 ? table->bytes[7] : 0;
	if (!table->quantum || (table->pointer != 4 && table->pointer != 8))
		return false;
	for (size_t i = 0; i < HEADER_WORDS; i++)
		if (!read_word(table, 8 + i * table->pointer, &words[i]))
			return false;
	table->function_count = words[0];
	table->text = has_text ? words[2] : 0;
	table->names = words[2 + has_text];
	table->units = words[3 + has_text];
	table->files = words[4 + has_text];
	table->values = words[5 + has_text];
	table->functions = has_text ? words[7] : words[6];
	if (table->function_count >= table->size / 8)
		return false;
	if (has_text && !table->text)
		table->text = find_text(table, elf, address + 8 + 2 * (uint64_t)table->pointer);
	return !has_text || table->text;
}

struct go_table go_table_open(Elf *elf)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	struct go_table table = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		GElf_Shdr header;
		Elf_Scn *section;
		Elf_Data *data;

		if (!find_section(elf, names[i], &header, &section) || header.sh_type == SHT_NOBITS)
			continue;
		data = elf_rawdata(section, NULL);
		if (!data || !data->d_buf)
			continue;
		table = (struct go_table){.bytes = data->d_buf, .size = data->d_size};
		if (read_header(&table, elf, header.sh_addr))
			return table;
	}
	return (struct go_table){0};
}

/* Behind a head of 32 bytes, from Go 1.18 on: its length, one byte for what is this short; text. */
#define BUILD_INFO_HEAD	  32
#define BUILD_INFO_FLAGS  15
#define BUILD_INFO_INLINE 2

bool go_version_read(Elf *elf, char into[GO_VERSION_BYTES])
{
	GElf_Shdr header;
	Elf_Scn *section;
	Elf_Data *data;
	const uint8_t *bytes;
	size_t length = 0;

	into[0] = '\0';
	if (!find_section(elf, ".go.buildinfo", &header, &section) || header.sh_type == SHT_NOBITS)
		return false;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size < BUILD_INFO_HEAD + 1)
		return true;
	bytes = data->d_buf;
	if (bytes[BUILD_INFO_FLAGS] & BUILD_INFO_INLINE)
		length = bytes[BUILD_INFO_HEAD];
	if (length < GO_VERSION_BYTES && length < data->d_size - BUILD_INFO_HEAD) {
		memcpy(into, bytes + BUILD_INFO_HEAD + 1, length);
		into[length] = '\0';
	}
	return true;
}

/* The entry of a function, as an address; and where what is known of it lies. */
static bool read_function(const struct go_table *table, uint64_t index, uint64_t *ret_entry,
			  uint64_t *ret_at)
{
	size_t width = table->has_wide_values ? table->pointer : 4;
	uint64_t at = table->functions + index * 2 * width, entry = 0, offset = 0;

	if (!read_at(table, at, &entry, width) || !read_at(table, at + width, &offset, width))
		return false;
	*ret_entry = table->text + entry;
	*ret_at = table->functions + offset;
	return *ret_at < table->size;
}

/* The last one that begins at or below the address. */
static bool find_function(const struct go_table *table, uint64_t address, uint64_t *ret_entry,
			  uint64_t *ret_at)
{
	uint64_t low = 0, high = table->function_count, entry, at;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_function(table, middle, &entry, &at))
			return false;
		if (entry <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* behind the last one there is an entry for its end */
	return low && read_function(table, low - 1, ret_entry, ret_at) &&
	       (low < table->function_count ||
		(read_function(table, low, &entry, &at) && address < entry));
}

/* LEB128, as encoding/binary has it. False: there is no end. */
static bool read_varint(const struct go_table *table, uint64_t *at, uint32_t *ret)
{
	*ret = 0;
	for (unsigned int shift = 0; shift < 35; shift += 7) {
		uint8_t byte;

		if (!read_at(table, (*at)++, &byte, 1))
			return false;
		*ret |= (uint32_t)(byte & 0x7f) << (shift & 31);
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* What a table of values by address says of one; -1: nothing. runtime.pcvalue() */
static int64_t value_at(const struct go_table *table, uint32_t offset, uint64_t entry,
			uint64_t address)
{
	uint64_t at = table->values + offset, until = entry;
	uint32_t change, length;
	int32_t value = -1;

	if (!offset)
		return -1;
	for (int i = 0; i < STEPS_MAX; i++) {
		if (!read_varint(table, &at, &change) || (i && !change) ||
		    !read_varint(table, &at, &length))
			return -1;
		value = (int32_t)((uint32_t)value + (change & 1 ? ~(change >> 1) : change >> 1));
		until += (uint64_t)length * table->quantum;
		if (address < until)
			return value;
	}
	return -1;
}

enum go_frame go_table_frame(const struct go_table *table, uint64_t address)
{
	uint64_t entry, at;
	const char *name;
	uint32_t name_at;
	uint8_t flags;

	if (!table->bytes || !find_function(table, address, &entry, &at))
		return GO_FRAME_USUAL;
	at += table->has_wide_values ? table->pointer : 4;
	if (!read_u32(table, at, &name_at) || !read_at(table, at + table->flags_at, &flags, 1))
		return GO_FRAME_USUAL;
	if (flags & FLAG_TOPFRAME)
		return GO_FRAME_OUTERMOST;
	if (!(flags & FLAG_SPWRITE))
		return GO_FRAME_USUAL;
	/* the goroutine whose stack it has left does not run any more */
	name = string_at(table, table->names + name_at);
	return name && !strcmp(name, "runtime.mcall") ? GO_FRAME_OUTERMOST : GO_FRAME_OTHER_STACK;
}

bool go_table_stack(const struct go_table *table, uint64_t address, int32_t *ret_bytes)
{
	uint64_t entry, at;
	uint32_t offset;
	int64_t bytes;

	if (!table->bytes || table->pointer != 8 || !find_function(table, address, &entry, &at))
		return false;
	at += table->has_wide_values ? table->pointer : 4;
	if (!read_u32(table, at + FUNCTION_STACK * sizeof(offset), &offset))
		return false;
	bytes = value_at(table, offset, entry, address);
	if (bytes < 0 || bytes > STACK_MAX)
		return false;
	*ret_bytes = (int32_t)bytes;
	return true;
}

static const char *file_of(const struct go_table *table, uint32_t unit, int64_t number)
{
	uint32_t file;

	return number >= 0 &&
			       read_u32(table,
					table->units + ((uint64_t)unit + (uint64_t)number) * 4,
					&file) &&
			       file != ~0U
		       ? string_at(table, table->files + file)
		       : NULL;
}

bool go_table_find(const struct go_table *table, uint64_t address, struct go_place *ret_place)
{
	uint64_t entry, at;
	uint32_t words[FUNCTION_UNIT + 1];
	int64_t line, number, own;

	if (!table->bytes || !find_function(table, address, &entry, &at))
		return false;
	/* behind the entry itself */
	at += table->has_wide_values ? table->pointer : 4;
	if (!read_at(table, at, words, sizeof(words)))
		return false;
	*ret_place = (struct go_place){
		.function = string_at(table, table->names + words[FUNCTION_NAME])};
	if (!ret_place->function || !*ret_place->function)
		return false;
	line = value_at(table, words[FUNCTION_LINES], entry, address);
	ret_place->line = line > 0 && line < INT_MAX ? (int)line : 0;
	/* code of another file was inlined there: the function is in the one where it begins */
	number = value_at(table, words[FUNCTION_FILES], entry, address);
	own = value_at(table, words[FUNCTION_FILES], entry, entry);
	if (own >= 0 && number != own)
		ret_place->line = 0;
	ret_place->file = file_of(table, words[FUNCTION_UNIT], own >= 0 ? own : number);
	return true;
}
