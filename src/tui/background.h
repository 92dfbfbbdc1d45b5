/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a terminal's background is light. */
#ifndef DWELL_TUI_BACKGROUND_H
#define DWELL_TUI_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>

/* Keys that came while the terminal was asked, as bytes: they are the screen's. */
struct typed_ahead {
	char bytes[64];
	size_t count;
};

/*
 * Asks the terminal on standard input and output (OSC 11), which has not been opened for a screen
 * yet; else believes COLORFGBG. A terminal that does not answer costs 100 ms at most, and is dark.
 */
bool background_is_light(struct typed_ahead *ret_ahead);

/* What is in an answer besides sequences, as much as there is room for. */
void background_typed(struct typed_ahead *ret_ahead, const char *answer, size_t length);

/* Of the answer, or what there is of it: 1 light, 0 dark, -1 it does not say. */
int background_parse(const char *answer, size_t length);

#endif
