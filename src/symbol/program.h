/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process runs, as the beginning of its file says. */
#ifndef DWELL_SYMBOL_PROGRAM_H
#define DWELL_SYMBOL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether it is a 32-bit program, which the kernel runs on a 64-bit processor, too: its system
 * calls have other numbers and its stacks other frames than are looked into. False where it cannot
 * be read.
 */
bool program_is_32_bit(uint32_t pid);

#endif
