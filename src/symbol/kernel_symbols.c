// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/kernel_symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbol/kallsyms.h"

/* The names of all modules' functions too; 2 MiB on usual kernels. */
static int add(struct kernel_symbols *symbols, uint64_t start, const char *name)
{
	size_t length = strlen(name) + 1;

	if (array_reserve(&symbols->items, &symbols->room, symbols->count + 1,
			  sizeof(*symbols->items)) < 0 ||
	    array_reserve(&symbols->names, &symbols->names_room, symbols->names_used + length, 1) <
		    0)
		return -ENOMEM;
	memcpy(symbols->names + symbols->names_used, name, length);
	symbols->items[symbols->count++] =
		(struct kernel_symbol){start, (uint32_t)symbols->names_used};
	symbols->names_used += length;
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct kernel_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

int kernel_symbols_load(struct kernel_symbols *symbols, int descriptor)
{
	cleanup_close int fd = descriptor;
	struct kallsyms_reader reader;
	struct kallsyms_symbol symbol;
	uint64_t seen = 0;
	int result = 0;

	if (fd < 0)
		return fd;
	kallsyms_begin(&reader, fd);
	while (result == 0 && kallsyms_next(&reader, &symbol)) {
		seen |= symbol.address;
		/* code, also weak */
		if (tolower((unsigned char)symbol.type) == 't' ||
		    tolower((unsigned char)symbol.type) == 'w')
			result = add(symbols, symbol.address, symbol.name);
	}
	if (result == 0)
		result = reader.error ? -reader.error : seen ? 0 : -EPERM;
	if (result < 0) {
		kernel_symbols_release(symbols);
		return result;
	}
	if (symbols->count)
		qsort(symbols->items, symbols->count, sizeof(*symbols->items), by_start);
	return 0;
}

void kernel_symbols_release(struct kernel_symbols *symbols)
{
	free(symbols->items);
	free(symbols->names);
	*symbols = (struct kernel_symbols){0};
}

/*
 * kallsyms has no sizes. What lies farther behind a function than any is long is in none of them:
 * code that was made since, as that of BPF programs.
 */
#define FUNCTION_BYTES_MAX (256U << 10)

const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - symbols->items[low - 1].start > FUNCTION_BYTES_MAX)
		return NULL;
	return symbols->names + symbols->items[low - 1].name;
}
