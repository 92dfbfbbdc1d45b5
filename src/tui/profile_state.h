/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the profile screen share; for them only. */
#ifndef DWELL_TUI_PROFILE_STATE_H
#define DWELL_TUI_PROFILE_STATE_H

#include "tui/profile_screen.h"
#include "tui/screen_base.h"

#define FLAME_NAME_BYTES 256

enum profile_page {
	PROFILE_FLAMES,
	PROFILE_CODE,
	PROFILE_THREADS,
	PROFILE_PAGES,
};

/* A flame as it is drawn. */
struct flame_box {
	size_t flame;
	int from, to; /* columns */
};

struct profile_screen {
	struct screen_base base; /* first */
	struct profile_screen_options options;
	struct profile_result *result; /* of the options */
	struct flames flames;
	/* copies: what a frozen screen shows stays while the figures go on */
	struct profile_thread *threads;
	size_t thread_count, thread_room;
	struct profile_spot *spots;
	size_t spot_count, spot_room;
	/* rows of the page that pass the search: places in `spots` or `threads` */
	size_t *order;
	size_t order_count, order_room;
	uint64_t duration_ns;
	uint64_t stack_count, lost;
	double complete_share;
	uint64_t chosen_ns; /* of what is chosen, by the accounts */
	/* what the user has chosen */
	enum profile_page page;
	struct flame_choice choice;
	uint32_t states; /* 1 << enum state: all that may be chosen */
	enum profile_grouping by;
	uint64_t zoom, selected;      /* keys of flames; 0: the root */
	char focus[FLAME_NAME_BYTES]; /* what choice.focus is called */
	size_t row, row_offset;	      /* of a list */
	bool frozen, ended;
	/* as last drawn, for keys and the mouse; boxes of one depth are from the left */
	struct flame_box *boxes;
	size_t box_count, box_room;
	uint32_t depth_offset; /* of the first line */
	int first_line, line_count;
	/* of what is shown what the search finds: the share, < 0: none is on, and how many */
	double found;
	size_t found_count;
};

/* Of a thread, in the states that are chosen, ns. */
uint64_t profile_thread_ns(const struct profile_screen *screen,
			   const struct profile_thread *thread);

/* What a flame is called. */
void profile_flame_name(const struct profile_screen *screen, const struct flame *flame,
			char into[FLAME_NAME_BYTES]);

/* NULL: there is none. */
const struct flame *profile_selected(const struct profile_screen *screen);

/* As the choice says; the figures are those of the last update. 0 or -ENOMEM. */
int profile_arrange(struct profile_screen *screen) must_check;

/* Whether the search finds it. */
bool profile_finds(const struct profile_screen *screen, const char *name);

/* Whether it finds the function that this is a call of. */
bool profile_finds_flame(const struct profile_screen *screen, const struct flame *flame);

/* profile_flames.c */
void profile_draw_flames(struct profile_screen *screen, struct canvas *canvas, int first,
			 int count);
size_t profile_zoomed(const struct profile_screen *screen); /* place among the flames */

/* profile_lists.c */
void profile_spot_name(const struct profile_screen *screen, const struct profile_spot *spot,
		       char into[FLAME_NAME_BYTES]);
void profile_draw_list(struct profile_screen *screen, struct canvas *canvas, int first, int count);
int profile_arrange_list(struct profile_screen *screen) must_check; /* 0 or -ENOMEM */

/* profile_keys.c */
extern const struct screen_keys profile_keys;

#endif
