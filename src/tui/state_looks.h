/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each state looks, the most interesting first: a narrow screen has columns for those. */
#ifndef DWELL_TUI_STATE_LOOKS_H
#define DWELL_TUI_STATE_LOOKS_H

#include "model/state.h"

/*
 * State, sign and what stands for it in ASCII, and its colours: of 256 on dark and on light, of 16
 * on dark and on light, of 8 on dark and on light. In 256, each has 4.5:1 or more against its
 * background, and those of solid states differ by a CIE76 distance of 20 or more; the eight that
 * matter most differ with deuteranopia too. With fewer colours some states share one: the
 * first of them is solid in bars, the others show their sign (tests/unit/tui/test-palette.c).
 */
#define STATE_LOOKS(X)                                                                             \
	X(USER, 0x2588 /* full block */, 'U', 34, 29, 2, 4, 2, 4)                                  \
	X(KERNEL, 0x2593 /* dark shade */, 'K', 208, 130, 7, 0, 7, 0)                              \
	X(RUNNABLE, 0x2592 /* medium shade */, 'R', 227, 58, 11, 5, 3, 5)                          \
	X(DISK, 0x25a4 /* a pile of platters */, 'D', 141, 55, 13, 5, 5, 5)                        \
	X(LOCK, 0x259a /* chequered */, 'L', 203, 161, 9, 1, 1, 1)                                 \
	X(STOLEN, 0x25bc /* down, to the host */, '!', 217, 52, 9, 1, 1, 1)                        \
	X(NET, 0x2248 /* waves */, 'N', 33, 26, 12, 12, 6, 4)                                      \
	X(IPC, 0x21c4 /* arrows both ways */, 'I', 44, 23, 14, 4, 6, 4)                            \
	X(IDLE, 0xb7 /* middle dot */, '.', 245, 243, -1, -1, -1, -1)                              \
	X(SLEEP, 0x2591 /* light shade */, 's', 250, 239, -1, -1, -1, -1)                          \
	X(SWAP, 0x2573 /* crossed */, 'W', 206, 163, 13, 5, 5, 5)                                  \
	X(STOPPED, 0x25a1 /* empty square */, 'T', 255, 234, -1, -1, -1, -1)                       \
	X(IRQ, 0x2551 /* two bars */, '|', 153, 60, 14, 4, 6, 4)                                   \
	X(UNKNOWN, '?', '?', 187, 95, -1, -1, -1, -1)

#define X(state, ...) +1
_Static_assert(0 STATE_LOOKS(X) == STATES, "a look for each state");
#undef X

#endif
