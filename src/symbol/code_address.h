/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bits of a saved return address that are of the address. */
#ifndef DWELL_SYMBOL_CODE_ADDRESS_H
#define DWELL_SYMBOL_CODE_ADDRESS_H

#include <stdint.h>

/*
 * arm64 programs may sign what they save, in the bits above those that addresses of programs have,
 * and how many these are is the kernel's choice: XPACLRI, which takes a signature away, knows. It
 * is a hint, so what cannot sign does nothing. Bit 55 distinguishes the kernel's addresses from
 * programs'.
 */
static inline uint64_t code_address_mask(void)
{
	uint64_t mask = ~0ULL;

#if defined(__aarch64__)
	mask = ~(1ULL << 55);
	__asm__("mov x30, %0\n\thint #7 /* xpaclri */\n\tmov %0, x30" : "+r"(mask) : : "x30");
#endif
	return mask;
}

#endif
