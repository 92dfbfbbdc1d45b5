// SPDX-License-Identifier: GPL-2.0-or-later
#include "tui/palette.h"

#include "tui/state_looks.h"

const char *const theme_keys[THEMES_COUNT] = {
	[THEME_AUTO] = "auto",
	[THEME_DARK] = "dark",
	[THEME_LIGHT] = "light",
	[THEME_MONO] = "mono",
};

/* In the order of the columns of STATE_LOOKS. */
enum set {
	SET_256_DARK,
	SET_256_LIGHT,
	SET_16_DARK,
	SET_16_LIGHT,
	SET_8_DARK,
	SET_8_LIGHT,
	SETS,
};

static const short state_colours[STATES][SETS] = {
#define X(state, sign, ascii, ...) [STATE_##state] = {__VA_ARGS__},
	STATE_LOOKS(X)
#undef X
};

static const enum state by_interest[STATES] = {
#define X(state, ...) STATE_##state,
	STATE_LOOKS(X)
#undef X
};

/* 16 or 8 have none to spare for roles: all that can be read belong to states. */
static const short role_colours[ROLE_STATE][SETS] = {
	[ROLE_NORMAL] = {-1, -1, -1, -1, -1, -1},   [ROLE_TITLE] = {-1, -1, -1, -1, -1, -1},
	[ROLE_HEADER] = {250, 240, -1, -1, -1, -1}, [ROLE_SORTED] = {255, 16, -1, -1, -1, -1},
	[ROLE_DIM] = {245, 242, -1, -1, -1, -1},    [ROLE_WARNING] = {214, 160, -1, -1, -1, -1},
	[ROLE_KEY] = {75, 25, -1, -1, -1, -1},	    [ROLE_FINDING] = {-1, -1, -1, -1, -1, -1},
};

/*
 * These are too dark for text on a dark background: red and magenta of 8, and, where the background
 * is not quite black, red and blue of 16 (contrast below 4.5:1 on #1e1e1e).
 */
static bool is_text(enum set set, short colour)
{
	if (set == SET_8_DARK)
		return colour != 1 && colour != 5;
	return set != SET_16_DARK || (colour != 9 && colour != 12);
}

/* What is quiet, or not known, does not get a block. */
static bool may_be_solid(enum state state)
{
	return state != STATE_IDLE && state != STATE_SLEEP && state != STATE_STOPPED &&
	       state != STATE_UNKNOWN;
}

static void init_states(struct palette *palette, enum set set)
{
	for (int i = 0; i < STATES; i++) {
		enum state state = by_interest[i];
		short colour = state_colours[state][set];

		palette->bar[state] = colour;
		palette->text[ROLE_STATE + (int)state] = is_text(set, colour) ? colour : -1;
		palette->solid[state] = may_be_solid(state);
		for (int j = 0; j < i; j++)
			if (state_colours[by_interest[j]][set] == colour)
				palette->solid[state] = false;
	}
}

void palette_init(struct palette *palette, int colours, enum theme theme)
{
	int light = theme == THEME_LIGHT;
	int set = (colours >= 256  ? SET_256_DARK
		   : colours >= 16 ? SET_16_DARK
				   : SET_8_DARK) +
		  light;

	for (int i = 0; i < ROLE_STATE; i++)
		palette->text[i] = role_colours[i][set];
	init_states(palette, (enum set)set);
	palette->selected = colours >= 256 ? (light ? 252 : 238) : -1;
	palette->few = colours < 256;
	if (colours >= 8)
		return;
	*palette = (struct palette){.selected = -1, .few = true};
	for (int i = 0; i < ROLE_COUNT; i++)
		palette->text[i] = -1;
	for (int i = 0; i < STATES; i++)
		palette->bar[i] = -1;
}
