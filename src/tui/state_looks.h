/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each state looks, the most interesting first: a narrow screen has columns for those. */
#ifndef DWELL_TUI_STATE_LOOKS_H
#define DWELL_TUI_STATE_LOOKS_H

#include "model/state.h"

/*
 * State, sign and what stands for it in ASCII, colour of 256 and of 8 (a number of curses), with
 * attributes for each.
 */
#define STATE_LOOKS(X)                                                                             \
	X(USER, 0x2588 /* full block */, 'U', 71, COLOR_GREEN, A_NORMAL, A_NORMAL)                 \
	X(KERNEL, 0x2593 /* dark shade */, 'K', 166, COLOR_RED, A_NORMAL, A_NORMAL)                \
	X(RUNNABLE, 0x2592 /* medium shade */, 'R', 220, COLOR_YELLOW, A_NORMAL, A_NORMAL)         \
	X(STOLEN, 0x25bc /* down, to the host */, '!', 209, COLOR_RED, A_NORMAL, A_BOLD)           \
	X(DISK, 0x25a4 /* a pile of platters */, 'D', 133, COLOR_MAGENTA, A_NORMAL, A_NORMAL)      \
	X(LOCK, 0x259a /* chequered */, 'L', 196, COLOR_RED, A_NORMAL, A_BOLD)                     \
	X(NET, 0x2248 /* waves */, 'N', 68, COLOR_BLUE, A_NORMAL, A_NORMAL)                        \
	X(IPC, 0x21c4 /* arrows both ways */, 'I', 37, COLOR_CYAN, A_NORMAL, A_NORMAL)             \
	X(IDLE, 0xb7 /* middle dot */, '.', 240, COLOR_WHITE, A_NORMAL, A_DIM)                     \
	X(SLEEP, 0x2591 /* light shade */, 's', 246, COLOR_WHITE, A_NORMAL, A_NORMAL)              \
	X(SWAP, 0x2573 /* crossed */, 'W', 201, COLOR_MAGENTA, A_NORMAL, A_BOLD)                   \
	X(STOPPED, 0x25a1 /* empty square */, 'T', 255, COLOR_WHITE, A_NORMAL, A_NORMAL)           \
	X(IRQ, 0x2551 /* two bars */, '|', 30, COLOR_CYAN, A_NORMAL, A_NORMAL)                     \
	X(UNKNOWN, '?', '?', 250, COLOR_WHITE, A_NORMAL, A_NORMAL)

#define X(state, sign, ascii, colour, basic, attributes, basic_attributes) +1
_Static_assert(0 STATE_LOOKS(X) == STATES, "a look for each state");
#undef X

#endif
