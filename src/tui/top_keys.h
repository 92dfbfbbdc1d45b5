/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of the top screen: the one table behind what they do, the hints and the help. */
#ifndef DWELL_TUI_TOP_KEYS_H
#define DWELL_TUI_TOP_KEYS_H

#include <stddef.h>

#include "tui/top_state.h"

struct binding {
	const char *keys; /* as shown */
	const char *hint; /* one word for the last line; NULL = only in the help */
	const char *help;
	enum key_kind kind; /* KEY_KIND_CHARACTER: any of `characters` */
	const char *characters;
	enum screen_request (*act)(struct top_screen *screen, uint32_t character);
	bool replay; /* only with a recording */
};

extern const struct binding bindings[];
extern const size_t binding_count;

#endif
