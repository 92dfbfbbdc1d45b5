/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the blocked screen share; for them only. */
#ifndef DWELL_TUI_BLOCKED_STATE_H
#define DWELL_TUI_BLOCKED_STATE_H

#include "model/session_info.h"
#include "tui/blocked_screen.h"
#include "tui/screen_base.h"
#include "view/blocked_words.h"

/* What the cursor is in. */
enum blocked_focus {
	FOCUS_HOTSPOTS, /* or the tasks in their place */
	FOCUS_WORKERS,
};

struct blocked_screen {
	struct screen_base base; /* first */
	struct blocked_screen_options options;
	struct timeline *timeline;
	const struct session_info *session; /* NULL: nothing has been measured yet */
	/* as shown; copies, because a frozen screen stays while the figures go on */
	struct hotspot *hotspots; /* all of them, and those that pass the filter */
	size_t hotspot_count, hotspot_room;
	const struct hotspot **order;
	size_t order_count, order_room;
	struct blocked_worker {
		struct stall_worker worker;
		bool is_open; /* it has not come back from `open` */
		struct stall_open open;
	} * workers; /* without the blocking pool's, and those that ended long ago */
	size_t worker_count, worker_room;
	size_t pool_count, living_count;
	struct task *tasks; /* all of them, and those that pass the filter */
	size_t task_count, task_room;
	const struct task **task_order;
	size_t task_order_count, task_order_room;
	bool has_tasks;
	struct stall_counts counts;
	bool has_starved; /* blame is measured: */
	uint64_t starved_ns;
	char starved[STARVED_BYTES];
	struct wire_runtime runtime;
	uint64_t end_ns; /* now, or then */
	/* what the user has chosen */
	enum hotspot_grouping by;
	bool shows_tasks; /* in place of the hotspots */
	enum blocked_focus focus;
	size_t hotspot, task, worker; /* selected, by number in the orders and workers */
	bool selected;		      /* by the user: then it stays where the hotspot goes */
	struct hotspot chosen;	      /* the selected one, as last seen */
	size_t hotspot_offset, task_offset, worker_offset, detail_offset;
	uint64_t span_ns; /* of the timeline */
	uint64_t back_ns; /* from now to its right end */
	bool frozen, detail;
	/* as last drawn, for the mouse and pages */
	int hotspot_line, hotspot_lines, worker_line, worker_lines;
	int detail_lines, detail_room;
};

/* NULL: none, as while tasks are shown. */
const struct hotspot *blocked_selected(const struct blocked_screen *screen);
const struct blocked_worker *blocked_selected_worker(const struct blocked_screen *screen);

/* Groups, filters and sorts again; the selected hotspot stays selected. 0 or -ENOMEM. */
int blocked_arrange(struct blocked_screen *screen) must_check;

/* What a hotspot is called, by what they are grouped. */
#define BLOCKED_LABEL_BYTES 256
void blocked_label(const struct blocked_screen *screen, const struct hotspot *hotspot,
		   char into[BLOCKED_LABEL_BYTES]);

/* All that the workers did, ns: what a share is of. */
uint64_t blocked_observed_ns(const struct blocked_screen *screen);

/* blocked_lists.c */
void blocked_draw_hotspots(struct blocked_screen *screen, struct canvas *canvas, int first,
			   int count);
void blocked_draw_workers(struct blocked_screen *screen, struct canvas *canvas, int first,
			  int count);

/* Between two marks of the time axis, which is so wide. */
uint64_t blocked_axis_step_ns(uint64_t span_ns, int width);

/* Keeps the selected row in sight. */
void blocked_scroll(size_t *offset, size_t selected, int lines);

/* blocked_tasks.c */
int blocked_copy_tasks(struct blocked_screen *screen) must_check; /* 0 or -ENOMEM */
void blocked_arrange_tasks(struct blocked_screen *screen);	  /* filters */
void blocked_draw_tasks(struct blocked_screen *screen, struct canvas *canvas, int first, int count);
/* Searches for the selected type. NULL, or why that would find nothing. */
const char *blocked_search_task(struct blocked_screen *screen);

/* blocked_detail.c: all about what is selected */
void blocked_draw_detail(struct blocked_screen *screen, struct canvas *canvas, int first,
			 int count);

/* blocked_keys.c */
extern const struct screen_keys blocked_keys;

#endif
