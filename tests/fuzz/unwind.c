// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as registers and stack of a thread of this program, which has functions and unwind
 * tables: 64 bytes of registers and choices, then the stack. Addresses among them are made ones of
 * its code, or the way there would not be found.
 */
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/unwind.h"

#define REGISTERS   8
#define STACK_START 0x7fff00000000ULL

static struct symbolizer *symbolizer;

static uint64_t code_at(uint64_t word)
{
	return (uint64_t)(uintptr_t)LLVMFuzzerTestOneInput + word % 65536 - 32768;
}

/* Those whose lowest byte says so. */
static void aim(uint64_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if ((words[i] & 3) == 1)
			words[i] = code_at(words[i] >> 2);
		else if ((words[i] & 3) == 2)
			words[i] = STACK_START + (words[i] >> 2) % (count * 8 + 64);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t registers[REGISTERS] = {0}, *stack, addresses[UNWIND_MAX];
	size_t words = size > sizeof(registers) ? (size - sizeof(registers)) / 8 : 0;
	struct unwind_start start;
	enum unwind_end end;
	unsigned int count;

	if (!symbolizer) {
		symbolizer = symbolizer_new(NULL);
		if (!symbolizer || symbolizer_attach(symbolizer, (uint32_t)getpid(), 0) < 0)
			abort();
	}
	memcpy(registers, data, size < sizeof(registers) ? size : sizeof(registers));
	stack = malloc(words * 8 + 1);
	if (words)
		memcpy(stack, data + sizeof(registers), words * 8);
	aim(stack, words);
	start = (struct unwind_start){
		.address = code_at(registers[0]),
		.exact = registers[1] & 1,
		.stack = STACK_START + registers[2] % (words * 8 + 8),
		.frame = registers[1] & 2 ? registers[3]
					  : STACK_START + registers[3] % (words * 8 + 8),
		.link = registers[1] & 4 ? code_at(registers[4]) : 0,
		.memory = (const uint8_t *)stack,
		.memory_start = STACK_START,
		.memory_bytes = words * 8,
		.returns = &registers[5],
		.return_count = registers[1] & 8 ? 2 : 0,
		.frame_pointers = registers[1] & 16,
	};
	count = unwind(symbolizer, &start, addresses, &end, NULL);
	if (!count || count > UNWIND_MAX || end > UNWIND_UNMAPPED)
		abort();
	free(stack);
	return 0;
}
