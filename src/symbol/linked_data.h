/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file as it is once it is loaded: pointers are in their places, as the file counts
 * addresses. For tables that have no name, in programs without symbols.
 */
#ifndef DWELL_SYMBOL_LINKED_DATA_H
#define DWELL_SYMBOL_LINKED_DATA_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* A segment. */
struct linked_data {
	uint64_t start; /* its address, a multiple of 8 */
	const uint64_t *words;
	size_t count;
	bool is_code;
};

#define LINKED_CODE_MAX 4

/* Where the file has code. */
struct linked_code {
	struct {
		uint64_t start, end;
	} parts[LINKED_CODE_MAX];
	size_t count;
};

struct linked_code linked_code_of(Elf *elf);

static inline bool linked_code_has(const struct linked_code *code, uint64_t address)
{
	for (size_t i = 0; i < code->count; i++)
		if (address >= code->parts[i].start && address < code->parts[i].end)
			return true;
	return false;
}

/*
 * Calls for each segment, whose words are valid in the call; for code only where constants may be
 * in it. Of 64-bit files of our byte order; of others for none. 0 or -ENOMEM.
 */
int linked_data_each(Elf *elf, void (*call)(void *data, const struct linked_data *part),
		     void *data) must_check;

#endif
