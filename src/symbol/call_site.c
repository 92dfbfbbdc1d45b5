// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/call_site.h"

#include <string.h>

#define STUB_BYTES 16 /* of an entry of a procedure linkage table */

struct memory {
	call_site_read read;
	void *data;
};

static uint64_t word_at(const struct memory *memory, uint64_t address)
{
	uint64_t word;

	return memory->read(memory->data, address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

/* Little-endian, as both machines are. */
static uint32_t u32_of(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static uint64_t x86_relative(const uint8_t *bytes, uint64_t next)
{
	return next + (uint64_t)(int64_t)(int32_t)u32_of(bytes);
}

/* CALL rel32, or CALL *slot(%rip): Intel SDM, volume 2. */
static uint64_t x86_target(uint64_t after, const struct memory *memory)
{
	uint8_t code[6];

	if (memory->read(memory->data, after - sizeof(code), code, sizeof(code)) != sizeof(code))
		return 0;
	if (code[1] == 0xe8)
		return x86_relative(code + 2, after);
	if (code[0] == 0xff && code[1] == 0x15)
		return word_at(memory, x86_relative(code + 2, after));
	return 0;
}

/* Of an entry: its bytes, and where in them its jump is, behind ENDBR64 and BND; -1: not there. */
static int x86_entry(uint64_t address, const struct memory *memory, uint8_t code[STUB_BYTES])
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	int at = 0;

	if (memory->read(memory->data, address, code, STUB_BYTES) != STUB_BYTES)
		return -1;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	return at + (code[at] == 0xf2);
}

/* JMP *slot(%rip) */
static uint64_t x86_slot(uint64_t address, const struct memory *memory)
{
	uint8_t code[STUB_BYTES];
	int at = x86_entry(address, memory, code);

	return at >= 0 && code[at] == 0xff && code[at + 1] == 0x25
		       ? x86_relative(code + at + 2, address + (uint64_t)at + 6)
		       : 0;
}

/* The same, or JMP rel32. */
static uint64_t x86_jump(uint64_t address, const struct memory *memory)
{
	uint8_t code[STUB_BYTES];
	int at = x86_entry(address, memory, code);
	uint64_t slot = x86_slot(address, memory);

	if (at >= 0 && code[at] == 0xe9)
		return x86_relative(code + at + 1, address + (uint64_t)at + 5);
	return slot ? word_at(memory, slot) : 0;
}

/* Of B and BL: 26 bits, in instructions. */
static uint64_t arm_relative(uint32_t instruction, uint64_t address)
{
	return address + (uint64_t)((int64_t)((uint64_t)instruction << 38) >> 36);
}

/* BL: Arm ARM, C6.2. */
static uint64_t arm_target(uint64_t after, const struct memory *memory)
{
	uint8_t code[4];

	if (memory->read(memory->data, after - sizeof(code), code, sizeof(code)) != sizeof(code) ||
	    u32_of(code) >> 26 != 0x25)
		return 0;
	return arm_relative(u32_of(code), after - sizeof(code));
}

/* Two instructions behind BTI, if it is there: where they are; 0: they cannot be read. */
static uint64_t arm_entry(uint64_t address, const struct memory *memory, uint32_t ret_code[2])
{
	uint8_t code[STUB_BYTES];
	size_t at;

	if (memory->read(memory->data, address, code, sizeof(code)) != sizeof(code))
		return 0;
	at = u32_of(code) == 0xd503245f ? 4 : 0; /* BTI c */
	ret_code[0] = u32_of(code + at);
	ret_code[1] = u32_of(code + at + 4);
	return address + at;
}

/* ADRP x16, page; LDR x17, [x16, offset]; … */
static uint64_t arm_slot(uint64_t address, const struct memory *memory)
{
	uint32_t code[2];
	uint64_t at = arm_entry(address, memory, code), page;

	if (!at || (code[0] & 0x9f00001f) != 0x90000010 || (code[1] & 0xffc003ff) != 0xf9400211)
		return 0;
	page = (uint64_t)((int64_t)((uint64_t)(code[0] >> 5 & 0x7ffff) << 45) >> 43) |
	       (code[0] >> 29 & 3);
	return (at & ~0xfffULL) + (page << 12) + (uint64_t)(code[1] >> 10 & 0xfff) * 8;
}

/* The same, or B. */
static uint64_t arm_jump(uint64_t address, const struct memory *memory)
{
	uint32_t code[2];
	uint64_t at = arm_entry(address, memory, code), slot = arm_slot(address, memory);

	if (at && code[0] >> 26 == 0x05)
		return arm_relative(code[0], at);
	return slot ? word_at(memory, slot) : 0;
}

uint64_t call_site_target(enum call_site_machine machine, uint64_t return_address,
			  call_site_read read, void *data)
{
	struct memory memory = {read, data};

	return machine == CALL_SITE_AARCH64 ? arm_target(return_address, &memory)
					    : x86_target(return_address, &memory);
}

uint64_t call_site_jump(enum call_site_machine machine, uint64_t address, call_site_read read,
			void *data)
{
	struct memory memory = {read, data};

	return machine == CALL_SITE_AARCH64 ? arm_jump(address, &memory)
					    : x86_jump(address, &memory);
}

uint64_t call_site_slot(enum call_site_machine machine, uint64_t address, call_site_read read,
			void *data)
{
	struct memory memory = {read, data};

	return machine == CALL_SITE_AARCH64 ? arm_slot(address, &memory)
					    : x86_slot(address, &memory);
}

bool call_site_tails(enum call_site_machine machine, uint64_t address, call_site_read read,
		     void *data, bool (*call)(void *call_data, uint64_t target), void *call_data)
{
	const size_t step = machine == CALL_SITE_AARCH64 ? 4 : 1, length = step == 4 ? 4 : 5;
	uint8_t code[CALL_SITE_TAIL_BYTES];
	size_t bytes = read(data, address, code, sizeof(code));

	for (size_t i = 0; i + length <= bytes; i += step) {
		uint64_t at = address + i;

		if (step == 4 ? u32_of(code + i) >> 26 != 0x05 : code[i] != 0xe9)
			continue;
		if (call(call_data, step == 4 ? arm_relative(u32_of(code + i), at)
					      : x86_relative(code + i + 1, at + length)))
			return true;
	}
	return false;
}

/* Bytes of CALL r/m64 (FF /2), which begins with 0xff, by its second byte and the third; 0: none.
 */
static size_t x86_call_bytes(const uint8_t *code)
{
	unsigned int mode = code[1] >> 6, memory = code[1] & 7;
	size_t length = 2;

	if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
		return 0;
	if (mode == 3)
		return length;
	/* a byte for scale, index and base */
	length += memory == 4;
	if (mode == 1)
		return length + 1;
	if (mode == 2 || memory == 5 || (memory == 4 && (code[2] & 7) == 5))
		return length + 4;
	return length;
}

bool call_site_is_indirect(enum call_site_machine machine, uint64_t return_address,
			   call_site_read read, void *data)
{
	uint8_t code[8] = {0};
	size_t bytes = machine == CALL_SITE_AARCH64 ? 4 : 7;

	if (read(data, return_address - bytes, code, bytes) != bytes)
		return false;
	/* BLR, or with a signed pointer BLRAA and so on: Arm ARM, C6.2 */
	if (machine == CALL_SITE_AARCH64)
		return (u32_of(code) & 0xfefff000) == 0xd63f0000;
	for (size_t length = 2; length <= bytes; length++)
		if (x86_call_bytes(code + bytes - length) == length)
			return true;
	return false;
}
